# SPDX-License-Identifier: Apache-2.0
"""Logs that a real agent sends to servers, by UDP, TCP and TLS; the journal's reader is the test's own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.log_server import SERVER, Logs
from tests.agent.receivers import certificate
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from tests.readable import readable_folder, shell_script
from weir.kinds.identity import Identity
from weir.kinds.syslog_target import SyslogTarget

NOBODY = "65534"
LINE = re.compile(r"<(\d+)>1 (\S+) (\S+) (\S+) (\S+) - - (.*)")


class Journal:
    """A file that a reader follows as `journalctl --follow --output=json` does."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "journal"
        self._file.touch()
        self.reader = shell_script(folder, f"exec tail -n 0 -F {self._file}")

    def log(self, text: Any, **more: Any) -> None:
        entry = {"MESSAGE": text, "PRIORITY": "6", "__REALTIME_TIMESTAMP": "1800000000123456", "_PID": "77"}
        with self._file.open("a") as file:
            file.write(json.dumps({**entry, "SYSLOG_IDENTIFIER": "bgpd", **more}) + "\n")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with readable_folder("syslog") as made:
        yield made


@pytest.fixture(scope="module")
def journal(folder: Path) -> Journal:
    return Journal(folder)


@pytest.fixture(scope="module")
def contexts(folder: Path) -> dict[str, Any]:
    trusted, context = certificate(folder, "trusted", SERVER)
    _, strange = certificate(folder, "strange", SERVER)
    return {"bundle": trusted, "trusted": context, "strange": strange}


@pytest.fixture(scope="module")
def rig(journal: Journal, contexts: dict[str, Any]) -> Iterator[Rig]:
    options = ("--journal-reader", str(journal.reader), "--ca-bundle", str(contexts["bundle"]))
    with running(*options) as made:
        made.commit(lan(), wan())
        yield made


def state(rig: Rig) -> dict[str, Any]:
    found = rig.agent.call("state", {"kind": "syslog-target", "ids": ["logs"]})["objects"]
    return dict(found.get("logs", {}))


@contextmanager
def sending(rig: Rig, port: int, protocol: str, **more: Any) -> Iterator[None]:
    rig.commit(SyslogTarget("logs", SERVER, protocol, port, **more))
    until("the sender runs", lambda: state(rig)["sent"] is not None)
    try:
        yield
    finally:
        rig.commit(delete=[("syslog-target", "logs")])


@contextmanager
def by_udp(rig: Rig) -> Iterator[list[str]]:
    """What a server has heard of the router, a datagram each."""
    with netns.inside(rig.internet):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((SERVER, 0))
    server.settimeout(20)
    said: list[str] = []
    with server, sending(rig, server.getsockname()[1], "udp"):
        threading.Thread(target=_datagrams, args=(server, said), daemon=True).start()
        yield said


def heard_until(said: list[str], journal: Journal, text: str) -> str:
    """The first line with a text, which is logged until the reader follows."""

    def ready() -> str | None:
        found = next((line for line in list(said) if text in line), None)
        if found is None:
            journal.log(text)
            time.sleep(0.05)
        return found

    return str(until(f"{text} came", ready))


def test_by_udp_each_message_is_a_datagram(rig: Rig, journal: Journal) -> None:
    with by_udp(rig) as said:
        found = LINE.fullmatch(heard_until(said, journal, "a neighbor went away"))
        assert found is not None
        assert found.groups() == (
            str(3 * 8 + 6),
            "2027-01-15T08:00:00.123456Z",
            os.uname().nodename,
            "bgpd",
            "77",
            "a neighbor went away",
        )
        until("it is counted", lambda: state(rig)["sent"] > 0)
    assert state(rig) == {}, "of what is not configured nothing is known"


def test_a_new_name_of_the_router_is_in_the_messages_that_follow(rig: Rig, journal: Journal) -> None:
    with by_udp(rig) as said:
        rig.commit(Identity(hostname="tower-7"))
        found = LINE.fullmatch(heard_until(said, journal, "it has a name"))
        assert found is not None and found[3] == "tower-7"
        rig.commit(Identity())


def _datagrams(server: socket.socket, said: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            said.append(server.recv(65536).decode())


def test_by_tcp_messages_are_counted_in_octets_and_wait_while_nobody_listens(
    rig: Rig, journal: Journal
) -> None:
    first = Logs(rig.internet)
    port = first.port
    with sending(rig, port, "tcp", facility="local7"):
        line = heard_until(first.frames, journal, "überall")
        assert line.startswith(f"<{23 * 8 + 6}>1 ")
        first.close()
        journal.log("while nobody listens")
        until("why is told", lambda: state(rig)["last_error"])
        assert state(rig)["last_error"] == f"{SERVER} port {port}: it refused the connection"
        assert state(rig)["waiting"] >= 1 and state(rig)["lost"] == 0
        second = Logs(rig.internet, port=port)
        until("it came later", lambda: any("while nobody listens" in line for line in second.frames))
        until("it is well again", lambda: state(rig)["last_error"] is None)
        second.close()


def test_by_tls_a_server_without_a_certificate_that_fits_gets_nothing(
    rig: Rig, journal: Journal, contexts: dict[str, Any]
) -> None:
    good = Logs(rig.internet, contexts["trusted"])
    with sending(rig, good.port, "tls"):
        heard_until(good.frames, journal, "encrypted")
    good.close()
    bad = Logs(rig.internet, contexts["strange"])
    with sending(rig, bad.port, "tls"):

        def refused() -> bool:
            journal.log("secret")
            return str(state(rig)["last_error"]).startswith("its certificate is not accepted")

        until("it is refused", refused)
        assert bad.frames == []
    bad.close()


def test_who_sends_has_no_rights(rig: Rig) -> None:
    server = Logs(rig.internet)
    with sending(rig, server.port, "tcp"):
        pids = [pid for pid in _children(rig) if pid]
        assert len(pids) == 2, "one reads the journal and one sends"
        for pid in pids:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            held = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            assert set(held["Uid"].split()) == {NOBODY}
            assert {int(held[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {0}
    until("both ended", lambda: not _children(rig))
    server.close()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (b"tail", "the journal cannot be followed: it was ended by signal 9"),
        (b"weir.courier.syslog", "the process that sends messages failed: it was ended by signal 9"),
    ],
)
def test_which_of_the_two_processes_ended_is_told(
    rig: Rig, journal: Journal, program: bytes, why: str
) -> None:
    server = Logs(rig.internet)
    with sending(rig, server.port, "tcp"):
        heard_until(server.frames, journal, f"before {program.decode()}")
        (pid,) = _children(rig, (program,))
        os.kill(pid, signal.SIGKILL)
        until("why is told", lambda: state(rig)["last_error"])
        assert state(rig)["last_error"] == why
        heard_until(server.frames, journal, f"after {program.decode()}")
        until("it is well again", lambda: state(rig)["last_error"] is None)
    server.close()


def test_what_waits_when_a_target_is_changed_is_counted_as_lost(rig: Rig, journal: Journal) -> None:
    port = free_port(rig.internet)
    with sending(rig, port, "tcp"):

        def some_wait() -> bool:
            journal.log("nobody listens")
            return bool(state(rig)["last_error"] and state(rig)["waiting"] >= 3)

        until("some wait", some_wait)
        rig.commit(SyslogTarget("logs", SERVER, "tcp", port, facility="local1"))
        until("the next sender runs", lambda: state(rig)["sent"] is not None)
        assert state(rig)["lost"] >= 3 and state(rig)["sent"] == 0


def _children(rig: Rig, programs: tuple[bytes, ...] = (b"weir.courier.syslog", b"tail")) -> list[int]:
    assert rig.agent_process is not None
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            words = (path / "cmdline").read_bytes()
            if parent == rig.agent_process.pid and any(name in words for name in programs):
                found.append(int(path.name))
    return found


class Sender:
    """What sends, without an agent, in the router's namespace; a thread keeps what it said last."""

    def __init__(self, namespace: str, port: int, protocol: str = "tcp", **more: Any) -> None:
        order = {
            "address": SERVER,
            "port": port,
            "protocol": protocol,
            "facility": None,
            "router": "r",
            "ca_bundle": "",
            **more,
        }
        self.process = subprocess.Popen(
            (sys.executable, "-m", "weir.courier.syslog", str(os.getpid()), json.dumps(order)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=netns.entering(namespace),
        )
        self.said: dict[str, Any] = {"sent": 0, "waiting": 0, "lost": 0, "error": None}
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said = json.loads(line)

    def log(self, *texts: str) -> None:
        assert self.process.stdin is not None
        for text in texts:
            entry = {"__REALTIME_TIMESTAMP": "1800000000000000", "MESSAGE": text}
            self.process.stdin.write((json.dumps(entry) + "\n").encode())
        self.process.stdin.flush()


@contextmanager
def sender(*arguments: Any, **more: Any) -> Iterator[Sender]:
    made = Sender(*arguments, **more)
    with made.process:
        try:
            yield made
            assert made.process.stdin is not None
            made.process.stdin.close()
            assert made.process.wait(10) == 0, "it ends with the reader of the journal"
        finally:
            made.process.kill()


def free_port(namespace: str) -> int:
    placeholder = Logs(namespace)
    placeholder.close()
    return placeholder.port


def test_the_server_is_told_how_many_messages_were_lost(rig: Rig) -> None:
    port = free_port(rig.internet)
    with sender(rig.router, port, waiting_bytes=5000) as sending_one:
        sending_one.log(*["x" * 100] * 100)
        until("some are lost", lambda: sending_one.said["lost"])
        said = sending_one.said
        assert said["lost"] + said["waiting"] == 100 and said["sent"] == 0
        server = Logs(rig.internet, port=port)
        until("all that waited came", lambda: len(server.frames) == said["waiting"] + 1)
        assert server.frames[0].endswith(
            f"{said['lost']} messages of this router were lost before this one: there was no room for them"
        )
        until("they are counted", lambda: sending_one.said["sent"] == said["waiting"])
    server.close()


@contextmanager
def vanished(rig: Rig, port: int) -> Iterator[None]:
    """Nothing comes from or to the server, and nothing says so."""
    rules = f"table inet gone {{ chain in {{ type filter hook input priority 0; tcp dport {port} drop; }}\n"
    rules += f"chain out {{ type filter hook output priority 0; tcp sport {port} drop; }}\n}}"
    rig.run("nft", rules, namespace=rig.internet)
    try:
        yield
    finally:
        rig.run("nft", "delete", "table", "inet", "gone", namespace=rig.internet)


def texts(server: Logs) -> list[str]:
    return [line.rpartition(" ")[2] for line in list(server.frames)]


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_what_a_server_did_not_acknowledge_when_it_vanished_is_sent_again(
    rig: Rig, contexts: dict[str, Any], protocol: str
) -> None:
    context = contexts["trusted"] if protocol == "tls" else None
    first = Logs(rig.internet, context)
    port, bundle = first.port, str(contexts["bundle"])
    with sender(rig.router, port, protocol, silence_s=2, ca_bundle=bundle) as sending_one:
        sending_one.log("zero")
        until("it is acknowledged", lambda: sending_one.said["sent"] == 1)
        with vanished(rig, port):
            sending_one.log("one", "two")
            until("it is noticed", lambda: sending_one.said["error"], 15.0)
            assert sending_one.said["error"] == "it does not answer any more"
            sending_one.log("three")
            until("all wait", lambda: sending_one.said["waiting"] == 3)
            assert (sending_one.said["sent"], sending_one.said["lost"]) == (1, 0)
            first.close()
            second = Logs(rig.internet, context, port)
        until("all are sent", lambda: sending_one.said["sent"] == 4)
        assert (sending_one.said["lost"], sending_one.said["error"]) == (0, None)
        until("they came", lambda: len(second.frames) == 3)
        assert (texts(first), texts(second)) == (["zero"], ["one", "two", "three"])
    second.close()


def test_a_connection_to_a_server_that_vanished_is_ended_while_nothing_is_sent(rig: Rig) -> None:
    server = Logs(rig.internet)
    with sender(rig.router, server.port, silence_s=2) as sending_one:
        sending_one.log("zero")
        until("it is acknowledged", lambda: sending_one.said["sent"] == 1)
        with vanished(rig, server.port):
            until("it is noticed", lambda: sending_one.said["error"] == "it does not answer any more", 20.0)
        sending_one.log("one")
        until("another connection takes it", lambda: texts(server) == ["zero", "one"])
    server.close()


def test_a_server_that_starts_again_while_it_cannot_be_heard_misses_nothing(rig: Rig) -> None:
    first = Logs(rig.internet)
    port = first.port
    with sender(rig.router, port) as sending_one:
        sending_one.log("zero")
        until("it is acknowledged", lambda: sending_one.said["sent"] == 1)
        with vanished(rig, port):
            sending_one.log("one", "two")
            until("both are under way", lambda: sending_one.said["waiting"] == 2)
            first.close()
            second = Logs(rig.internet, port=port)
        until("they came", lambda: texts(second) == ["one", "two"])
        until("they are counted", lambda: sending_one.said["sent"] == 3)
    second.close()
