# SPDX-License-Identifier: Apache-2.0
"""A real agent and the real nginx with the image's configuration: who is told which certificate."""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.pki import Pair, Pki
from tests.agent.rig import Rig, lan, running, wan
from tests.image.front import SCRIPT, Front
from tests.polling import until
from tests.readable import readable_folder, shell_script
from weir.kinds.certificate import Certificate
from weir.kinds.management import Management
from weir.kinds.secrets import place_of
from weir.model.problem import ApplyFailed, Invalid
from weir.model.x509 import fingerprint, read_chain
from weir.sealing import seal

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is missing")


@dataclass
class Served:
    """A router whose web interface is served by nginx. `broken`: nothing reaches nginx any more."""

    rig: Rig
    front: Front
    pki: Pki
    folder: Path

    @property
    def broken(self) -> Path:
        return self.folder / "broken"

    def shown(self) -> str:
        with self.connection() as secure:
            found = secure.getpeercert(binary_form=True)
        assert found is not None
        return fingerprint(found)

    @contextlib.contextmanager
    def connection(self, version: ssl.TLSVersion | None = None) -> Iterator[ssl.SSLSocket]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = version or context.maximum_version
        with netns.inside(self.rig.router):
            plain = socket.create_connection(("127.0.0.1", self.front.secure), 10)
        with plain, context.wrap_socket(plain) as secure:
            yield secure

    def upload(self, name: str, pair: Pair, *issuers: Pair) -> Certificate:
        """As the API stores it."""
        public = base64.b64decode(self.rig.agent.call("secrets_key")["key"])
        key = seal(public, place_of("certificate", name, "key"), pair.key)
        chain = "".join(item.certificate for item in (pair, *issuers))
        return Certificate(id=name, type="upload", chain=chain, key=key)

    def state(self, kind: str, name: str) -> dict[str, Any]:
        found = self.rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"]
        return dict(found[name])


def options(front: Front, folder: Path) -> tuple[str, ...]:
    return (
        *("--scan-interval-s", "0.5", "--look-interval-s", "0.2"),
        *("--tls-used", str(folder / "used/weir.pem"), "--tls-port", str(front.secure)),
        *("--tls-refresh", str(folder / "reader")),
    )


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with readable_folder("certificates") as folder, contextlib.ExitStack() as stack:
        front = Front(folder, 9)
        (folder / "pki").mkdir()
        rig = stack.enter_context(running(*options(front, folder)))
        refresh = f"{SCRIPT} {folder}/kept {folder}/used {rig.folder}/tls && kill -HUP $(cat {folder}/pid)"
        shell_script(folder, f"[ -e {folder}/broken ] || {{ {refresh}; }}")
        with netns.inside(rig.router):
            stack.enter_context(front)
        rig.commit(lan(), wan())
        yield Served(rig, front, Pki(folder / "pki"), folder)


@pytest.fixture(autouse=True)
def _own_again(served: Served) -> Iterator[None]:
    yield
    served.broken.unlink(missing_ok=True)
    served.rig.commit(Management())


def own(served: Served) -> str:
    (first,) = read_chain(
        (served.folder / "kept/weir.pem").read_text().partition("-----END PRIVATE KEY-----")[2]
    )
    return first.sha256


def test_without_a_choice_it_is_the_one_of_the_first_start(served: Served) -> None:
    assert served.shown() == own(served) == served.state("management", "management")["shown_sha256"]


def test_an_uploaded_one_is_shown_with_its_issuers(served: Served) -> None:
    pair = served.pki.leaf()
    answer = served.rig.commit(served.upload("web", pair, served.pki.issuing), Management(certificate="web"))
    assert not answer.get("effects"), "no connection ends"
    trusted = ssl.create_default_context(cadata=served.pki.root.certificate)
    with netns.inside(served.rig.router):
        plain = socket.create_connection(("127.0.0.1", served.front.secure), 10)
    with plain, trusted.wrap_socket(plain, server_hostname="router.example.net") as secure:
        shown = secure.getpeercert(binary_form=True)
    assert shown is not None and fingerprint(shown) == read_chain(pair.certificate)[0].sha256
    state = served.state("certificate", "web")
    assert (state["status"], state["used_by"], state["algorithm"]) == ("valid", "web interface", "EC P-256")
    assert (state["subject"], state["issuer"]) == ("CN=router", "CN=issuing")
    assert state["certified"] == ["router.example.net"] and state["days_left"] in (89, 90)
    assert served.rig.explain("management", "management")["agrees"] is True
    served.rig.commit(Management())
    assert served.shown() == own(served)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_rsa_is_served_too(served: Served, version: ssl.TLSVersion) -> None:
    pair = served.pki.leaf("rsa", key=("rsa:2048",))
    served.rig.commit(served.upload("rsa", pair, served.pki.issuing), Management(certificate="rsa"))
    with served.connection(version) as secure:
        assert secure.getpeercert(binary_form=True) == read_chain(pair.certificate)[0].der


def test_one_that_the_router_signs_has_its_names_and_stays_the_same(served: Served) -> None:
    names = ("tower.example.net", "10.64.0.1", "2001:db8::1")
    served.rig.commit(Certificate(id="own", names=names), Management(certificate="own"))
    shown, state = served.shown(), served.state("certificate", "own")
    assert shown == state["sha256"] and state["certified"] == list(names)
    file = served.rig.folder / "certificates/own.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    key = file.read_text().partition("-----BEGIN CERTIFICATE")[0]
    served.rig.commit(Certificate(id="own", names=(*names, "also.example.net")))
    assert served.shown() != shown
    assert file.read_text().startswith(key), "names change, the key stays"
    served.rig.commit(Certificate(id="own", names=names, key_type="p384"))
    assert served.state("certificate", "own")["algorithm"] == "EC P-384"
    served.rig.commit(Management(), delete=[("certificate", "own")])
    assert not file.exists()


def test_a_key_of_another_certificate_is_refused_by_its_field(served: Served) -> None:
    one, other = served.pki.leaf("one"), served.pki.leaf("other")
    mixed = Pair(other.key, one.certificate, other.key_file, one.file)
    before = served.shown()
    with pytest.raises(Invalid) as refused:
        served.rig.commit(served.upload("mixed", mixed), Management(certificate="mixed"))
    assert (refused.value.path, refused.value.code) == ("certificate/mixed/key", "key-mismatch")
    assert "is not the key of this certificate" in refused.value.message
    assert other.key.splitlines()[1] not in refused.value.message
    assert served.shown() == before


def test_what_nginx_would_not_read_is_not_given_to_it(served: Served, tmp_path: Path) -> None:
    weak, good = served.pki.leaf("weak", key=("rsa:1024",)), served.pki.leaf("good")
    mixed = Pair(served.pki.issuing.key, good.certificate, good.key_file, good.file)
    broken = Pair(good.key.replace(good.key[60:90], "A" * 30), good.certificate, good.key_file, good.file)
    for number, pair in enumerate((weak, mixed, broken)):
        assert not nginx_takes(tmp_path, pair), number
        with pytest.raises(Invalid) as refused:
            served.rig.commit(served.upload("refused", pair))
        assert str(refused.value.path).startswith("certificate/refused/")
    assert nginx_takes(tmp_path, good)


def nginx_takes(folder: Path, pair: Pair) -> bool:
    file, configuration = folder / "pair.pem", folder / "nginx.conf"
    file.write_text(pair.key + pair.certificate)
    server = f"listen unix:{folder}/socket ssl; ssl_certificate {file}; ssl_certificate_key {file};"
    configuration.write_text(f"pid {folder}/pid; events {{}} http {{ server {{ {server} }} }}")
    done = subprocess.run(["nginx", "-t", "-c", configuration], capture_output=True, check=False)
    return done.returncode == 0


def test_open_connections_keep_theirs_while_it_changes(served: Served) -> None:
    before = served.shown()
    with served.connection() as secure:
        served.rig.commit(served.upload("next", served.pki.leaf("next")), Management(certificate="next"))
        assert served.shown() != before
        secure.sendall(b"GET /starting HTTP/1.1\r\nHost: weir\r\n\r\n")
        assert secure.recv(100).startswith(b"HTTP/1.1 503")


def test_where_the_web_server_does_not_show_it_the_commit_fails_and_the_old_one_stays(served: Served) -> None:
    old = served.upload("old", served.pki.leaf("old"))
    served.rig.commit(old, Management(certificate="old"))
    shown, given = served.shown(), (served.rig.folder / "tls/weir.pem").read_text()
    served.broken.touch()
    with pytest.raises(ApplyFailed) as failed:
        served.rig.commit(served.upload("new", served.pki.leaf("new")), Management(certificate="new"))
    assert failed.value.path == "management/management/certificate"
    assert served.shown() == shown
    assert (served.rig.folder / "tls/weir.pem").read_text() == given


def test_a_file_that_somebody_changed_is_put_right(served: Served) -> None:
    served.rig.commit(served.upload("kept", served.pki.leaf("kept")), Management(certificate="kept"))
    shown = served.shown()
    (served.rig.folder / "tls/weir.pem").unlink()
    subprocess.run([served.folder / "reader"], check=True)
    until("the agent gives it back", lambda: (served.rig.folder / "tls/weir.pem").exists())
    until("nginx shows it", lambda: served.shown() == shown)


def test_a_restart_of_the_agent_changes_nothing(served: Served) -> None:
    served.rig.commit(served.upload("stays", served.pki.leaf("stays")), Management(certificate="stays"))
    shown, before = served.shown(), (served.rig.folder / "tls/weir.pem").stat().st_mtime_ns
    served.rig.kill_agent()
    assert served.shown() == shown
    served.rig.start_agent(*options(served.front, served.folder))
    until("it knows what is shown", lambda: served.state("certificate", "stays")["used_by"] is not None)
    assert served.shown() == shown
    assert (served.rig.folder / "tls/weir.pem").stat().st_mtime_ns == before


def test_one_that_ends_soon_is_a_finding_until_another_one_is_shown(served: Served) -> None:
    short = served.pki.leaf("short", days=("-days", "5"))
    served.rig.commit(served.upload("short", short), Management(certificate="short"))
    assert served.state("certificate", "short")["status"] == "expiring"
    until("it is told", lambda: "short" in ending(served))
    served.rig.commit(served.upload("short", served.pki.leaf("long")))
    until("it is over", lambda: "short" not in ending(served))


def ending(served: Served) -> list[str]:
    found = served.rig.agent.call("findings")["findings"]
    return [item["subject"] for item in found if item["code"] == "certificate-ending"]


def test_the_key_is_in_no_file_but_the_web_servers(served: Served) -> None:
    pair = served.pki.leaf("secret")
    served.rig.commit(served.upload("secret", pair), Management(certificate="secret"))
    lines = [line.encode() for line in pair.key.splitlines()[1:-1]]
    holders = {
        path.relative_to(served.rig.folder)
        for path in served.rig.folder.rglob("*")
        if path.is_file() and "bpf" not in path.parts and any(line in path.read_bytes() for line in lines)
    }
    assert holders == {Path("tls/weir.pem")}
    assert (served.rig.folder / "tls/weir.pem").stat().st_mode & 0o777 == 0o600
    assert not any(line.decode() in served.rig.agent_log() for line in lines)
