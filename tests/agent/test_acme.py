# SPDX-License-Identifier: Apache-2.0
"""Certificates by ACME: a real agent with dehydrated, the real nginx, and Pebble as the authority."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.pki import Pair, Pki
from tests.agent.rig import Rig, lan, running, wan
from tests.image.front import SCRIPT, Front, free_port
from tests.polling import until
from tests.readable import readable_folder, shell_script
from weir.adapters.dehydrated import Authority, config_of
from weir.backends.certificates import FIRST_PAUSE_S, LAST_PAUSE_S, Tried
from weir.kinds.certificate import Certificate
from weir.kinds.management import Management
from weir.model.moment import ms_of
from weir.model.x509 import X509, read_chain, read_der

PROGRAMS = ("nginx", "dehydrated", "pebble", "pebble-challtestsrv")
pytestmark = pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason=f"needs {', '.join(PROGRAMS)}")
NAMES = ("router.example.net", "www.example.net")


@dataclass
class Pebble:
    """Pebble, which asks port `proves` of the address that every name has in its DNS: this router's own."""

    rig: Rig
    pair: Pair
    port: int
    proves: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def directory(self) -> str:
        return f"https://127.0.0.1:{self.port}/dir"

    def start(self) -> None:
        dns, management, own = free_port(), free_port(), free_port()
        settings = {
            "listenAddress": f"127.0.0.1:{self.port}",
            "managementListenAddress": f"127.0.0.1:{own}",
            "certificate": str(self.pair.file),
            "privateKey": str(self.pair.key_file),
            "httpPort": self.proves,
            "tlsPort": 1,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": False,
        }
        file = self.folder / "pebble.json"
        file.write_text(json.dumps({"pebble": settings}))
        nothing = ("-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", "")
        names = ("-defaultIPv4", "127.0.0.1", "-dns01", f"127.0.0.1:{dns}")
        self.rig.spawn(
            "names", ["pebble-challtestsrv", *nothing, *names, "-management", f"127.0.0.1:{management}"]
        )
        # Some of its answers refuse a good nonce on purpose, which dehydrated does not try again.
        quick = ("env", "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
        self.process = self.rig.spawn(
            "pebble", [*quick, "pebble", "-config", str(file), "-dnsserver", f"127.0.0.1:{dns}"]
        )
        until("the authority answers", lambda: listens(self.rig, self.port))


def listens(rig: Rig, port: int) -> bool:
    with netns.inside(rig.router), contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


@dataclass
class Served:
    rig: Rig
    front: Front
    authority: Pebble

    def shown(self) -> X509:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with netns.inside(self.rig.router):
            plain = socket.create_connection(("127.0.0.1", self.front.secure), 10)
        with plain, context.wrap_socket(plain) as secure:
            found = secure.getpeercert(binary_form=True)
        assert found is not None
        return read_der(found)

    def shows(self, is_it: Callable[[X509], bool]) -> bool:
        """Also to those who ask again: nginx lets workers of both configurations answer for a while."""
        return all(is_it(self.shown()) for _ in range(20))

    def state(self, name: str) -> dict[str, Any]:
        found = self.rig.agent.call("state", {"kind": "certificate", "ids": [name]})["objects"]
        return dict(found[name])

    def get(self, path: str) -> tuple[int, str]:
        with netns.inside(self.rig.router):
            return self.front.get(path, secure=False)[::2]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with readable_folder("acme") as folder, contextlib.ExitStack() as stack:
        front = Front(folder, 9)
        (folder / "pki").mkdir()
        pair = Pki(folder / "pki").make("authority", ("subjectAltName=IP:127.0.0.1",))
        rig = stack.enter_context(
            running(
                *("--scan-interval-s", "0.5", "--tls-used", str(folder / "used/weir.pem")),
                *("--tls-port", str(front.secure), "--tls-refresh", str(folder / "reader")),
                *("--ca-bundle", str(pair.file)),
            )
        )
        refresh = f"{SCRIPT} {folder}/kept {folder}/used {rig.folder}/tls && kill -HUP $(cat {folder}/pid)"
        shell_script(folder, refresh)
        text = front.configuration.read_text()
        front.configuration.write_text(
            text.replace(str(folder / "challenges"), str(rig.folder / "acme-challenge"))
        )
        with netns.inside(rig.router):
            stack.enter_context(front)
        rig.commit(lan(), wan())
        authority = Pebble(rig, pair, free_port(), front.plain, folder)
        authority.start()
        yield Served(rig, front, authority)


def ordered(name: str, directory: str, names: tuple[str, ...] = NAMES) -> Certificate:
    return Certificate(id=name, type="acme", names=names, directory=directory, email="noc@example.net")


def test_an_authority_makes_one_and_the_web_interface_shows_it(served: Served) -> None:
    own = served.shown()
    answer = served.rig.commit(ordered("web", served.authority.directory), Management(certificate="web"))
    assert not answer.get("effects"), "the commit does not wait, and the router's own is shown meanwhile"
    until("it is shown", lambda: served.shows(lambda found: found != own), 60)
    shown, state = served.shown(), served.state("web")
    assert set(shown.names) == set(NAMES) and "Pebble" in shown.issuer
    assert (state["status"], state["sha256"], state["last_error"]) == ("valid", shown.sha256, None)
    assert state["last_try_at"] is not None and state["next_try_at"] is None
    file = served.rig.folder / "certificates/web.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(read_chain(file.read_text()[file.read_text().index("-----BEGIN CERT") :])) > 1, (
        "with its issuer"
    )


def test_the_challenge_is_answered_only_while_one_is_ordered(served: Served) -> None:
    assert served.get("/.well-known/acme-challenge/token")[0] == 404
    assert served.get("/anything")[0] == 308
    folder = served.rig.folder / "acme-challenge"
    folder.mkdir()
    try:
        (folder / "token").write_text("proof")
        (folder / "token").chmod(0o644)
        (folder / "link").symlink_to("/etc/passwd")
        assert served.get("/.well-known/acme-challenge/token") == (200, "proof")
        assert served.get("/.well-known/acme-challenge/link")[0] in (403, 404)
    finally:
        shutil.rmtree(folder)
    assert not (served.rig.folder / "acme-order").exists()


def test_other_names_are_ordered_with_the_same_key_and_the_old_one_stays_meanwhile(served: Served) -> None:
    has_one(served)
    before = served.shown()
    file = served.rig.folder / "certificates/web.pem"
    key = file.read_text().partition("-----BEGIN CERTIFICATE")[0]
    served.rig.commit(ordered("web", served.authority.directory, (*NAMES, "also.example.net")))
    assert served.shown() == before
    until("the other one is shown", lambda: served.shows(lambda found: "also.example.net" in found.names), 60)
    assert file.read_text().startswith(key)


def test_who_asks_an_authority_has_no_rights_and_not_the_key(served: Served) -> None:
    """The authority stands still meanwhile."""
    assert served.authority.process is not None
    has_one(served)
    served.authority.process.send_signal(signal.SIGSTOP)
    try:
        served.rig.commit(ordered("web", served.authority.directory, (*NAMES, "last.example.net")))
        for status in until("it is asked", lambda: list(dehydrated(served.rig)), 60):
            assert re.search(r"^Uid:\s65534\s65534\s65534\s65534$", status, re.MULTILINE)
            assert re.search(r"^CapEff:\s0+$", status, re.MULTILINE)
            assert re.search(r"^CapBnd:\s0+$", status, re.MULTILINE)
        key = (served.rig.folder / "certificates/web.pem").read_text().splitlines()[1]
        given = list((served.rig.folder / "acme-order").rglob("*"))
        assert {"account.key", "request.csr"} <= {path.name for path in given}
        assert not any(key in path.read_text() for path in given if path.is_file())
    finally:
        served.authority.process.send_signal(signal.SIGCONT)
    until("it is made", lambda: served.shows(lambda found: "last.example.net" in found.names), 60)
    until("nothing is left", lambda: not list(served.rig.folder.glob("acme-*")))


def has_one(served: Served) -> None:
    """A test may run without those before it."""
    if not (served.rig.folder / "certificates/web.pem").exists():
        served.rig.commit(ordered("web", served.authority.directory), Management(certificate="web"))
        until("it is shown", lambda: served.shows(lambda found: set(found.names) == set(NAMES)), 60)


def dehydrated(rig: Rig) -> Iterator[str]:
    """What the kernel says of the processes of this router's orders; some of them end at once."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if f"{rig.folder}/acme-order/config".encode() in words and b"setpriv" not in words[0]:
                yield (process / "status").read_text()


def test_what_fails_keeps_the_old_one_and_says_why_and_when_it_is_tried_again(served: Served) -> None:
    has_one(served)
    before = served.shown()
    served.rig.commit(ordered("web", f"https://127.0.0.1:{free_port()}/dir", ("new.example.net",)))
    until("it was tried", lambda: served.state("web").get("last_error"), 60)
    state = served.state("web")
    assert "port 80 of this router" in state["last_error"]
    tried, again = ms_of(state["last_try_at"]), ms_of(state["next_try_at"])
    assert again - tried == FIRST_PAUSE_S * 1000
    assert served.shown() == before and state["sha256"] == before.sha256
    assert state["status"] == "valid" and state["used_by"] == "web interface"


def test_pauses_double_up_to_a_day() -> None:
    pauses = [Tried("", 0, "x", failures).next_ms // 1000 for failures in range(1, 12)]
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert pauses[-1] == LAST_PAUSE_S and pauses == sorted(pauses)
    assert Tried("", 5, "", 0).next_ms == 0


def test_what_somebody_typed_is_no_command_of_the_shell_that_reads_it(tmp_path: Path) -> None:
    directory = "https://a.example/$(touch${IFS}made)`touch${IFS}made`';touch${IFS}made;'\""
    authority = Authority(directory, "o'$(touch${IFS}made)@b.example", tmp_path / "bundle")
    file = tmp_path / "config"
    file.write_text(config_of(authority, tmp_path, tmp_path / "challenges"))
    command = ("bash", "-c", '. "$1"; printf "%s\\n%s" "$CA" "$CONTACT_EMAIL"', "bash", str(file))
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert said.splitlines() == [authority.directory, authority.email]
    assert list(tmp_path.iterdir()) == [file]
