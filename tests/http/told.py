# SPDX-License-Identifier: Apache-2.0
"""A router that holds every secret there can be, and everything that it tells: what a kind or an operation
that is added later holds and tells is among both by itself, or the test fails until it is."""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

from tests.agent.pki import Pki
from tests.http.test_kinds import NEEDS, NETWORK, NEW, TUNNEL
from tests.http.world import Client
from weir.fields.secret import Secret
from weir.http.schemas.paging import TOPICS
from weir.kinds import DECLARED

with TemporaryDirectory() as made:
    PAIR = Pki(Path(made)).leaf()
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("interface", "wireguard.private_key"): {"type": "wireguard", "wireguard": {"listen_port": 51821}},
    ("interface", "pppoe.password"): {"type": "pppoe", "pppoe": {"parent": "eth9", "username": "u@isp"}},
    ("bgp-neighbor", "password"): {"address": "192.0.2.79"},
    ("ospf-interface", "password"): {"interface": "lan9"},
    ("wireguard-peer", "preshared_key"): {"public_key": b64encode(b"\7" * 32).decode()},
    ("alert-target", "password"): {
        "type": "mail", "server": "mail.example.net", "sender": "router@example.net",
        "recipients": ["noc@example.net"], "username": "weir", "url": None,
    },
    ("certificate", "key"): {"type": "upload", "names": None, "chain": PAIR.certificate},
}  # fmt: skip
"""What an object needs beside a secret, over the one of its kind in `tests.http.test_kinds`; None: not."""
QUERIES = {"q": "9", "kind": "queue", "id": "q9", "source": "10.9.0.7", "destination": "192.0.2.1"}
"""Parameters without which an operation does not answer."""
WITH_STATE = [kind for kind, declaration in DECLARED.items() if declaration.state]
FURTHER = {
    "/firewall/decision": "&in_interface=lan9&out_interface=eth9",
    "/diagnosis/why": "?queue=q9",
    "/backup": "?secrets=1",
    "/stats/stream": f"?topics={','.join(TOPICS)}&states={','.join(WITH_STATE)}",
}
"""What is asked for in a second request, or needed as well."""
ENDLESS, EVENTS = "/stats/stream", 8
"""And how many of its events are read."""
KEYS = ("id", "number", "revision", "username", "name")
"""By which an item of a list is asked for."""
REVISIONS = ("from_number", "to_number")
UNASKED = {
    "/tools/speed/{run_id}/download": "bytes of chance",
    "/tools/speed/{run_id}/echo": "what the browser sent",
    "/import/reports/{report_id}": "of files, see tests/formats",
    "/import/reports/{report_id}/lines": "of files, see tests/formats",
}


@dataclass(frozen=True, slots=True)
class Held:
    """A secret that the router has, and where."""

    kind: str
    path: str
    """Of the field."""
    place: str
    """Of the object."""
    text: str

    @property
    def secret(self) -> Secret:
        return DECLARED[self.kind].secrets[self.path]

    def body(self, text: Any) -> dict[str, Any]:
        """The object with another one."""
        return body_of(self.kind, self.path, text)


def text_for(kind: str, secret: Secret, number: int) -> str:
    """A text that is found wherever it stands: the first that the field takes."""
    if kind == "certificate":
        return PAIR.key
    tail = f"{number:04d}"
    key = b64encode(f"wEir 32 bytes of a key, no. {tail}".encode()).decode()
    for text in (f'wEir"s&<pQ{tail}', f"wEirsQ{tail}", key):
        if secret.why_unfit(text) is None:
            return text
    raise AssertionError(f"no text is known that this secret of {kind} takes: add one here")


def body_of(kind: str, path: str, text: Any) -> dict[str, Any]:
    """An object with the secret at the path."""
    given = {**NEW[kind][1], **BODIES.get((kind, path), {})}
    *groups, name = path.split(".")
    inner = given
    for group in groups:
        inner[group] = dict(inner.get(group, {}))
        inner = inner[group]
    inner[name] = text
    return {key: value for key, value in given.items() if value is not None}


def fill(api: Client) -> list[Held]:
    """One object for each secret that a kind declares, beside one of every kind."""
    for present in ("lan0", "wan0"):
        assert api("PUT", f"/interfaces/{present}", {}).status_code == 201
    for needed in ("interface", *NEW):
        for other in NEEDS.get(needed, ()):
            api("PUT", *(NEW | {"tunnel": TUNNEL, "network": NETWORK})[other])
        api("PUT", *NEW[needed], etag="built-in" if DECLARED[needed].is_single else None)
    found: list[Held] = []
    for kind, declaration in DECLARED.items():
        for number, (path, secret) in enumerate(declaration.secrets.items()):
            place = f"{NEW[kind][0].rpartition('/')[0]}/s{number}"
            held = Held(kind, path, place, text_for(kind, secret, len(found)))
            made = api("PUT", place, held.body(held.text))
            assert made.status_code == 201, (kind, path, made.json)
            found.append(held)
    return found


def forms(secret: str) -> set[bytes]:
    """As it may be written: plain, in JSON, HTML and URLs, in hexadecimal, in base64 at any offset; of a
    key its bytes, too."""
    if secret.startswith("-----BEGIN"):
        lines = secret.splitlines()[1:-1]
        return set().union(*map(forms, lines)) | _coded(b64decode("".join(lines)))
    data = secret.encode()
    found = {
        data,
        json.dumps(secret)[1:-1].encode(),
        quote(secret, safe="").encode(),
        escape(secret).encode(),
    }
    found |= _coded(data)
    if len(secret) == 44 and secret.endswith("="):
        found |= _coded(b64decode(secret))
    return found


def _coded(data: bytes) -> set[bytes]:
    found = {data.hex().encode(), data.hex().upper().encode()}
    for before in range(3):
        for code in (b64encode, urlsafe_b64encode):
            found.add(code(b"\0" * before + data)[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return found


def everything_told(api: Client) -> Iterator[tuple[str, int, bytes]]:
    """What each operation that reads answers, of everything that there is: path, status and data; also the
    files in an archive."""
    document = api("GET", "/openapi.json").json
    for path, operations in document["paths"].items():
        path = path.removeprefix("/api/v1")
        if "get" in operations and path not in UNASKED:
            for place in _places(api, path):
                for query in _queries(path, operations["get"]):
                    yield from _told(api, place + query)


def _told(api: Client, place: str) -> Iterator[tuple[str, int, bytes]]:
    answer = api("GET", place)
    if place.startswith(ENDLESS):
        data = b"".join(islice(answer.response, EVENTS))
        answer.close()
    else:
        data = answer.data
    yield place, answer.status_code, data
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield f"{place} {name}", answer.status_code, archive.read(name)


def _queries(path: str, operation: dict[str, Any]) -> Iterator[str]:
    parameters = (item for item in operation.get("parameters", ()) if item.get("in") == "query")
    needed = urlencode({item["name"]: QUERIES[item["name"]] for item in parameters if item["required"]})
    further = FURTHER.get(path, "")
    if needed or not further.startswith("?"):
        yield f"?{needed}{further}" if needed or further else ""
    else:
        yield ""
        yield further


def _places(api: Client, path: str) -> Iterator[str]:
    """The path for each thing that there is of what it names."""
    before, brace, rest = path.partition("{")
    if not brace:
        yield path
        return
    name, _, after = rest.partition("}")
    for value in _names(api, before.rstrip("/"), name):
        yield from _places(api, f"{before}{value}{after}")


def _names(api: Client, collection: str, name: str) -> list[str]:
    items = api("GET", "/revisions" if name in REVISIONS else collection).json["items"]
    keys = [key for key in KEYS if all(key in item for item in items)]
    assert keys, f"it is not known how what {collection} lists is called"
    found = [str(item[keys[0]]) for item in items]
    return found[-1:] if name == "from_number" else found[:1] if name == "to_number" else found
