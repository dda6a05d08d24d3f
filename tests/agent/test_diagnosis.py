# SPDX-License-Identifier: Apache-2.0
"""A router that is made sick in one respect finds it, says so until it is healed, and finds nothing else.

Looks are taken every 0.2 s instead of 5. What the cores do is the whole machine's, which tests share:
findings about them are left to the tables of tests/diagnosis.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters import link_queues
from weir.kinds.tuning import Tuning

OF_THE_MACHINE = ("control-plane-starved", "backlog-full", "one-core-works", "softirq-late", "long-softirq")
OFTEN = ("--look-interval-s", "0.2")
TUNING = """
version = 1
[[setting]]
id = "reverse-path-v4"
scope = "sysctl"
key = "net.ipv4.conf.all.rp_filter"
value = "0"
reason = "one lookup"
evidence = "E5"
measured = "no"
"""
LISTEN = """
import socket, sys, time
held = []
for _ in range(int(sys.argv[1])):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind(("127.0.0.1", 7000)); one.listen(int(sys.argv[2])); held.append(one)
print("ready", flush=True); time.sleep(300)
"""
READS_NOT = """
import socket, time
one = socket.socket(type=socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); one.bind(("127.0.0.1", 7001))
print("ready", flush=True); time.sleep(300)
"""
CONNECTS = """
import socket, time
while True:
    held = []
    for _ in range(20):
        one = socket.socket(); one.setblocking(False); held.append(one)
        one.connect_ex(("127.0.0.1", 7000))
    time.sleep(0.05)
"""
SENDS = """
import socket, time
one = socket.socket(type=socket.SOCK_DGRAM)
while True:
    for _ in range(20):
        one.sendto(b"x" * 500, ("127.0.0.1", 7001))
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    settings = tmp_path_factory.mktemp("tuning") / "tuning.toml"
    settings.write_text(TUNING)
    with running(*OFTEN, "--tuning", str(settings)) as made:
        made.commit(lan(), wan())
        for name in ("all", "default", "lan0", "wan0", "lo"):
            made.run("sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=0")
        yield made


def answer(rig: Rig) -> dict[str, Any]:
    return rig.agent.call("findings")


def found(rig: Rig) -> set[tuple[str, str]]:
    listed = answer(rig)["findings"]
    return {(item["code"], item["subject"]) for item in listed if item["code"] not in OF_THE_MACHINE}


@contextmanager
def program(rig: Rig, text: str, *arguments: str) -> Iterator[None]:
    """A Python program in the router, until the end of the block."""
    process = rig.spawn("program", [sys.executable, "-c", text, *arguments])
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def is_sick_then_healed(rig: Rig, code: str, subject: str, *programs: tuple[str, ...]) -> None:
    with ExitStack() as run:
        for each in programs:
            run.enter_context(program(rig, *each))
        until(f"{code} is found", lambda: (code, subject) in found(rig))
    until(f"{code} is over", lambda: not found(rig))


def test_many_sockets_on_one_address_are_found(rig: Rig) -> None:
    is_sick_then_healed(rig, "crowded-listener", "127.0.0.1:7000", (LISTEN, "17", "5"))


def test_connections_that_nobody_accepts_are_found(rig: Rig) -> None:
    is_sick_then_healed(rig, "listener-overflow", "tcp", (LISTEN, "1", "1"), (CONNECTS,))


def test_a_socket_that_nobody_reads_is_found(rig: Rig) -> None:
    is_sick_then_healed(rig, "socket-unread", "127.0.0.1:7001", (READS_NOT,), (SENDS,))


def test_a_port_with_one_lock_for_its_queues_is_found(rig: Rig) -> None:
    rig.run("ip", "link", "add", "spare0", "numtxqueues", "4", "type", "veth", "peer", "name", "spare1")
    rig.run("ip", "link", "set", "spare0", "up")
    rig.run("tc", "qdisc", "replace", "dev", "spare0", "root", "pfifo")
    until("the lock is found", lambda: ("one-lock", "spare0") in found(rig))
    rig.run("ip", "link", "delete", "spare0")
    until("the lock is gone", lambda: not found(rig))


def test_a_remedy_that_acts_helped_and_one_that_does_not_is_no_change(rig: Rig) -> None:
    rig.commit(Tuning(overrides=(("reverse-path-v4", "1"),)))
    sick = ("second-lookup", "all")
    until("the second lookup is found", lambda: sick in found(rig))
    asked = {"code": sick[0], "subject": sick[1], "remedy": "reverse-path-v4", "revision": 3}
    rig.agent.call("try_remedy", asked)
    assert until("it is measured", lambda: outcome(rig)) == "no-change"
    rig.commit(Tuning(overrides=(("reverse-path-v4", "0"),)))
    rig.agent.call("try_remedy", asked)
    assert until("it is measured again", lambda: outcome(rig)) == "helped"


def outcome(rig: Rig) -> str:
    """Of the last trial, "" while it is measured."""
    last = answer(rig)["trials"][0]["outcome"]
    return "" if last == "measuring" else str(last)


def test_neither_an_idle_router_nor_one_under_load_is_ill(rig: Rig) -> None:
    until("what was before is forgotten", lambda: not found(rig))
    before = answer(rig)["samples"]
    rig.rate_bps("upload", 500_000_000)
    until("it was looked at ten times", lambda: answer(rig)["samples"] > before + 10)
    assert found(rig) == set()


def test_what_a_card_received_is_what_ip_tells(rig: Rig) -> None:
    """In the agent's own network namespace, wherever /sys is of another one."""
    rig.rate_bps("upload", 5_000_000)
    with netns.inside(rig.router):
        cards = {link.name: link_queues.received(link.ifindex) for link in link_queues.link_queues()}
    (shown,) = rig.json("ip", "-j", "-s", "link", "show", "dev", "lan0")
    told = shown["stats64"]["rx"]
    assert cards["lan0"] == (told["packets"], told["over_errors"]) and told["packets"] > 100


def test_what_this_namespace_cannot_see_is_said_with_the_reason(rig: Rig) -> None:
    unseen = {item["id"]: item["reason"] for item in answer(rig)["not_looked_at"]}
    seen = {item["id"] for item in answer(rig)["looked_at"]}
    assert not seen & unseen.keys()
    assert {"cores", "ports", "chains", "overflows", "sockets", "grace_s"} <= seen
    assert "/proc/net/stat/arp_cache" in unseen["neighbours"], "tables of neighbors belong to the machine"
