# SPDX-License-Identifier: Apache-2.0
"""One file about a router: what is in it, and that no secret is, wherever one might have been written."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pytest

from tests.agent.pki import Pki
from tests.http.test_backup import send
from tests.http.world import Client, World
from tests.readable import readable_folder, shell_script
from weir.kinds import DECLARED
from weir.kinds.secrets import secrets_of
from weir.service.support_file import Part, SupportFile
from weir.store.accounts import accounts_path

PATH = "/diagnosis/support-file"
KEYS = [b64encode(bytes(range(number, number + 32))).decode() for number in (7, 70, 150)]
"""Private, preshared and public."""
with TemporaryDirectory() as made:
    PAIR = Pki(Path(made)).leaf()
WITH_SECRETS = {
    "interface": [
        ("PUT", "/interfaces/wan0", {}),
        ("PUT", "/interfaces/wg0", {"type": "wireguard", "wireguard": {"private_key": KEYS[0]}}),
        (
            "PUT",
            "/interfaces/dsl0",
            {"type": "pppoe", "pppoe": {"parent": "wan0", "username": "u@isp", "password": "pppoe-s3cret"}},
        ),
    ],
    "wireguard-peer": [
        (
            "PUT",
            "/wireguard-peers/phone",
            {"interface": "wg0", "public_key": KEYS[2], "preshared_key": KEYS[1]},
        )
    ],
    "bgp-neighbor": [
        ("PUT", "/bgp-instances/main", {"asn": 65000, "router_id": "192.0.2.1"}),
        (
            "PUT",
            "/bgp-neighbors/isp",
            {"bgp": "main", "address": "192.0.2.9", "remote_as": 65000, "password": "bgp-s3cret"},
        ),
    ],
    "ospf-interface": [
        ("PUT", "/ospf-instances/main", {"router_id": "192.0.2.1"}),
        ("PUT", "/ospf-interfaces/wan", {"ospf": "main", "interface": "wan0", "password": "ospf-s3cret"}),
    ],
    "alert-target": [
        (
            "PUT",
            "/alert-targets/mail",
            {
                "type": "mail",
                "server": "mail.example.net",
                "sender": "router@example.net",
                "recipients": ["noc@example.net"],
                "username": "weir",
                "password": 'mail-s3cret"&',
            },
        ),
        (
            "PUT",
            "/alert-targets/chat",
            {"type": "webhook", "url": "https://c.example.net/", "token": "Bearer hook-s3cret"},
        ),
    ],
    "certificate": [
        ("PUT", "/certificates/web", {"type": "upload", "chain": PAIR.certificate, "key": PAIR.key}),
    ],
}
PLAIN = [
    *KEYS[:2],
    *("pppoe-s3cret", "bgp-s3cret", "ospf-s3cret", 'mail-s3cret"&', "Bearer hook-s3cret", "hook-s3cret"),
    *PAIR.key.splitlines()[1:-1],
]
PASSPHRASE, PASSWORD = "a passphrase of backups", "nobody guesses me"


@pytest.fixture
def logged() -> Iterator[Path]:
    with readable_folder("support") as folder:
        yield folder


def keep_log(world: World, folder: Path, text: str) -> None:
    """The journal's reader gives this text."""
    (folder / "log").write_text(text)
    world.agent.journal_reader = shell_script(folder, f"exec cat {folder}/log")


def files_of(answer: Any) -> dict[str, bytes]:
    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def told(files: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """What the contents say of each file."""
    return {item["name"]: item for item in json.loads(files["contents.json"])["files"]}


def forms(secret: str) -> set[bytes]:
    """As it may be written: plain, in JSON, in a URL, in base64 at any offset."""
    data = secret.encode()
    found = {data, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode()}
    for before in range(3):
        coded = b64encode(b"\0" * before + data)
        found.add(coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return found


def make_all(api: Client) -> None:
    for kind in WITH_SECRETS:
        for method, path, body in WITH_SECRETS[kind]:
            made = api(method, path, body)
            assert made.status_code == 201, (kind, made.json)


def of_accounts(world: World, api: Client) -> list[str]:
    """All that signs somebody in, and what is stored of it."""
    made = api("POST", "/users", {"username": "anna", "password": PASSWORD, "scope": "admin"})
    assert made.status_code == 201, made.json
    token = api("POST", "/tokens", {"name": "script", "scope": "read"}).json["secret"]
    assert api("PUT", "/backup/passphrase", {"passphrase": PASSPHRASE, "old": None}).status_code == 204
    session = world.client(None)
    signed = session("POST", "/auth/sign-in", {"username": "anna", "password": PASSWORD})
    assert signed.status_code == 200, signed.json
    (cookie,) = signed.headers.getlist("Set-Cookie")[:1]
    stored = []
    with closing(sqlite3.connect(accounts_path(world.database))) as accounts:
        for table in ("user", "session", "token"):
            for row in accounts.execute(f"SELECT * FROM {table}"):
                stored += [value.hex() if isinstance(value, bytes) else value for value in row]
    hashes = [value for value in stored if isinstance(value, str) and len(value) >= 24]
    assert sum("$argon2" in value for value in hashes) == 2 and len(hashes) >= 5, hashes
    own = [token, PASSWORD, PASSPHRASE, str(world.password), world.token(), signed.json["csrf_token"]]
    return [*own, cookie.split("=", 1)[1].split(";")[0], *hashes]


def test_every_secret_that_a_kind_declares_is_among_those_below() -> None:
    declared = {(kind, path) for kind, declaration in DECLARED.items() for path in declaration.secrets}
    assert declared == {
        *(("interface", "wireguard.private_key"), ("interface", "pppoe.password")),
        *(("wireguard-peer", "preshared_key"), ("bgp-neighbor", "password"), ("ospf-interface", "password")),
        *(("alert-target", "password"), ("alert-target", "token"), ("certificate", "key")),
    }
    assert {kind for kind, _ in declared} == WITH_SECRETS.keys()


def test_no_secret_is_in_it_in_any_form(world: World, api: Client, logged: Path) -> None:
    """Of kinds, accounts and backups; also where the log, which others write, has one."""
    make_all(api)
    held = dict(world.agent.kernel)
    found = {(kind, path) for (kind, _), item in held.items() for path, _ in secrets_of(DECLARED[kind], item)}
    assert found == {(kind, path) for kind, declaration in DECLARED.items() for path in declaration.secrets}
    sealed = [value for (kind, _), item in held.items() for _, value in secrets_of(DECLARED[kind], item)]
    once = api("GET", "/bgp-neighbors").json["items"][0]
    changed = api("PATCH", f"/bgp-neighbors/{once['id']}", {"password": "bgp-n3w"}, etag=once["etag"])
    assert changed.status_code == 200, changed.json
    secrets = [*PLAIN[:3], "bgp-n3w", *PLAIN[4:]]
    lines = [form.decode() for secret in secrets for form in sorted(forms(secret))]
    keep_log(world, logged, "".join(f"2026-11-27T11:00 router bgpd[7]: sent <{line}> x\n" for line in lines))
    accounts = of_accounts(world, api)
    files = files_of(api("GET", PATH))
    for name in ("log-product.txt", "log-kernel.txt"):
        assert files[name].count(b"<***> x") >= len(lines) / 2 and files[name].count(b"bgpd[7]") == len(lines)
    whole = b"\n".join(files.values())
    for secret in (*secrets, "bgp-s3cret", *sealed, *accounts):
        assert not any(form in whole for form in forms(secret)), secret
    for needle in (b"argon2", b'"sealed": "' + sealed[0][:16].encode()):
        assert needle not in whole
    left_out = json.loads(files["configuration.backup"].partition(b"\n")[0])["secrets_left_out"]
    assert len(left_out) == len(sealed)


def test_the_configuration_in_it_is_a_backup(api: Client) -> None:
    api("POST", "/queues", {"name": "acme", "target": ["10.0.0.1"]})
    files = files_of(api("GET", PATH))
    report = send(api, "/backup/check", files["configuration.backup"]).json
    assert report["can_restore"] and report["objects"] == 1, report
    assert report["counts"] == {"added": 0, "changed": 0, "removed": 0}


def test_it_tells_what_somebody_did_and_what_the_router_is(world: World, api: Client, logged: Path) -> None:
    keep_log(world, logged, "bgpd[7]: a session ended\n")
    api("POST", "/queues", {"name": "acme", "target": ["10.0.0.1"]})
    api("PUT", "/interfaces/wan0", {"role": "wan", "addresses": ["192.0.2.1/24"]})
    for _ in range(3):
        world.parts.stats.tick()
    api("GET", "/diagnosis/drops")  # which is between two readings
    files = files_of(api("GET", PATH))
    assert not [item for item in told(files).values() if item["problem"] or item["cut"]]
    assert set(files) == {*told(files), "contents.json"}
    parts = {name: json.loads(data) for name, data in files.items() if name.endswith(".json")}
    assert parts["system.json"]["kernel"] == "6.12-test" and parts["system.json"]["uptime_s"] == 100.0
    assert [item["revision"] for item in parts["revisions.json"]] == [2, 1, 0]
    change = parts["revisions.json"][0]["changes"][0]
    assert (change["id"], change["action"]) == ("wan0", "add") and "new" not in change
    assert parts["audit.json"][0]["action"] == "system.support-file"
    assert parts["explained.json"]["interface"] | {"others": []} == {
        "total": 1, "looked_at": 1, "agree": 1, "others": []
    }  # fmt: skip
    assert {item["id"] for item in parts["interfaces-past.json"]} == {"lan0", "wan0"}
    assert files["log-product.txt"] == b"bgpd[7]: a session ended\n"


def test_what_cannot_be_had_is_named_and_the_rest_is_there(world: World, api: Client) -> None:
    api("POST", "/queues", {"name": "acme", "target": ["10.0.0.1"]})
    world.agent.__exit__()
    files = files_of(api("GET", PATH))
    contents = told(files)
    for name in ("findings.json", "log-product.txt", "tuning.json"):
        assert "agent" in contents[name]["problem"] and name not in files
    assert b"acme" in files["configuration.backup"] and contents["revisions.json"]["problem"] is None
    assert "connect" in files["system.json"].decode()


def test_a_part_that_fails_or_is_too_long_does_not_take_the_others_with_it() -> None:
    def fails() -> Iterator[bytes]:
        yield b"begun"
        raise ZeroDivisionError

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    parts = [
        Part("failing", "", fails), Part("endless", "", endless, 10_500), Part("good", "", lambda: [b"good"])
    ]  # fmt: skip
    data = b"".join(SupportFile("router", parts))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert (files["failing"], files["endless"], files["good"]) == (b"begun", b"x" * 10_500, b"good")
    contents = told(files)
    assert contents["failing"]["problem"] == "it failed: ZeroDivisionError"
    assert contents["endless"]["cut"] and contents["endless"]["bytes"] == 10_500


def test_one_at_a_time_until_it_is_over_or_nobody_reads_it(world: World, api: Client) -> None:
    by = world.parts.service.auth.authenticate_token(world.token(), "")
    parts = [Part("large", "", lambda: (os.urandom(1000) for _ in range(1000)))]
    first = world.parts.service.support.begin(by, "router", parts)
    next(first)
    refused = api("GET", PATH)
    assert (refused.status_code, refused.json["code"]) == (409, "support-file-busy")
    first.close()
    left = world.parts.service.support.begin(by, "router", parts)
    next(left)
    del left
    assert api("GET", PATH).status_code == 200
    assert api("HEAD", PATH).status_code == 200
    assert api("GET", PATH).status_code == 200


@pytest.mark.parametrize("scope", ["read", "support", "write"])
def test_only_an_administrator_gets_it(world: World, scope: str) -> None:
    assert world.client(scope)("GET", PATH).status_code == 403
