# SPDX-License-Identifier: Apache-2.0
"""DHCP relays: real clients get their addresses from a real Kea two routers away."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns, process
from tests.agent.rig import Rig, running, wan
from tests.polling import until
from weir.kinds.dhcp_relay import DhcpRelay
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface

SERVER, NOBODY = "192.0.2.67", "192.0.2.68"
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))
NEXT = Interface("lan1", "lan", addresses=("10.65.0.1/24",))
RELAY = DhcpRelay("near", "lan0", (SERVER,))
MAC = "02:00:5e:10:00:01"
MARK = bytes((82, 8, 1, 6)) + b"vault1"
"""Option 82 of somebody who says that he is in another place, which has a reservation."""


def kea_config(folder: Path) -> str:
    """Of the server: its reservations go by circuit ids alone."""
    subnets = [
        {
            "id": number,
            "subnet": f"{network}.0/24",
            "relay": {"ip-addresses": [f"{network}.1", f"{network}.9"]},
            "pools": [{"pool": f"{network}.100-{network}.109"}],
            "reservations": [
                {"circuit-id": f"'{link}'", "ip-address": f"{network}.50"},
                {"circuit-id": "'vault1'", "ip-address": f"{network}.66"},
            ],
        }
        for number, (network, link) in enumerate(
            (("10.64.0", "lan0"), ("10.65.0", "lan1"), ("10.66.0", "guest")), start=1
        )
    ]
    return json.dumps(
        {
            "Dhcp4": {
                "interfaces-config": {"interfaces": ["s0"], "dhcp-socket-type": "udp"},
                "lease-database": {"type": "memfile", "persist": False},
                "host-reservation-identifiers": ["circuit-id"],
                "valid-lifetime": 600,
                "subnet4": subnets,
                "loggers": [{"name": "kea-dhcp4", "severity": "WARN"}],
            }
        }
    )


def start_kea(rig: Rig, far: str) -> None:
    """Behind the internet's router, which knows the way back."""
    netns.create(far)
    netns.ip(
        rig.internet,
        [
            f"link add s1 type veth peer name s0 netns {far}",
            "addr add 192.0.2.1/24 dev s1",
            "link set s1 up",
            *(f"route add 10.{second}.0.0/24 via 203.0.113.2" for second in (64, 65, 66)),
        ],
    )
    netns.ip(
        far,
        [
            *("link set lo up", f"addr add {SERVER}/24 dev s0", "link set s0 up"),
            "route add default via 192.0.2.1",
        ],
    )
    rig.run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=rig.internet)
    config = rig.folder / "far.conf"
    config.write_text(kea_config(rig.folder))
    places = {"KEA_PIDFILE_DIR": str(rig.folder), "KEA_LOCKFILE_DIR": "none"}
    run = ("env", *(f"{name}={value}" for name, value in places.items()), "kea-dhcp4", "-c", str(config))
    rig.spawn("far-kea", run, netns.entering(far))
    until("Kea listens", lambda: f"{SERVER}:67" in rig.run("ss", "-uln", namespace=far))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        far = f"{made.name}-s"
        made.run("ip", "address", "flush", "dev", "c0", namespace=made.client_ns)
        made.run("ip", "link", "set", "c0", "address", MAC, namespace=made.client_ns)
        made.cable("lan1", made.client_ns, "c1")
        try:
            start_kea(made, far)
            made.commit(wan(), LAN, NEXT, RELAY)
            made.run("ip", "route", "replace", "192.0.2.0/24", "via", "203.0.113.1")
            until("the relay listens", lambda: learnt(made).get("serving"))
            yield made
        finally:
            netns.remove(far)


def learnt(rig: Rig, name: str = "near") -> dict[str, Any]:
    asked = {"kind": "dhcp-relay", "ids": [name]}
    found: dict[str, Any] = rig.agent.call("state", asked)["objects"].get(name, {})
    return found


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/dhcp-relay/pid").read_text().split()[0])


def udhcpc(rig: Rig, device: str = "c0") -> str:
    """The address that busybox' client was given; "" when nobody gave any."""
    script, said = rig.folder / "udhcpc.sh", rig.folder / "udhcpc.said"
    script.write_text(f'#!/bin/sh\n[ "$1" = bound ] && echo "$ip" > {said}\nexit 0\n')
    script.chmod(0o755)
    said.unlink(missing_ok=True)
    run = ("busybox", "udhcpc", "-i", device, "-n", "-q", "-f", "-t", "4", "-T", "1", "-s", str(script))
    subprocess.run(
        ("timeout", "--kill-after=1", "12", *run),
        capture_output=True,
        check=False,
        preexec_fn=netns.entering(rig.client_ns),
    )
    return said.read_text().strip() if said.exists() else ""


def discover(*options: bytes, relay: str = "0.0.0.0", tail: bytes = b"") -> bytes:
    """A DHCPDISCOVER of a client that wants to hear the answer as a broadcast."""
    body = struct.pack("!BBBBIHH", 1, 1, 6, 0, 4711, 0, 0x8000) + bytes(12) + socket.inet_aton(relay)
    body += bytes.fromhex(MAC.replace(":", "")).ljust(16, b"\0") + bytes(64) + tail.ljust(128, b"\0")
    return (body + bytes.fromhex("63825363") + b"".join(options) + b"\xff").ljust(300, b"\0")


def say(rig: Rig, message: bytes, within_s: float) -> bytes:
    """The answer to a client without an address; b"" for none."""
    with netns.inside(rig.client_ns), closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as handle:
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"c0")
        handle.bind(("", 68))
        handle.settimeout(within_s)
        handle.sendto(message, ("255.255.255.255", 67))
        try:
            return handle.recv(2048)
        except TimeoutError:
            return b""


DISCOVER = bytes((53, 1, 1))


@pytest.fixture
def addressed(rig: Rig) -> Iterator[None]:
    """A plain socket sends broadcasts only from an interface that has some address."""
    rig.run("ip", "address", "add", "198.51.100.9/32", "dev", "c0", namespace=rig.client_ns)
    yield
    rig.run("ip", "address", "flush", "dev", "c0", namespace=rig.client_ns)


def test_a_client_gets_what_the_far_server_reserves_for_its_interface(rig: Rig) -> None:
    before = learnt(rig)
    assert udhcpc(rig) == "10.64.0.50"
    after = learnt(rig)
    assert after["requests"] >= before["requests"] + 2 and after["answers"] >= before["answers"] + 2
    assert (after["serving"], after["silent"]) == (True, [])


def test_dhclient_gets_it_too(rig: Rig) -> None:
    kept = rig.folder / "dhclient.leases"
    files = ("-cf", "/dev/null", "-lf", str(kept), "-pf", str(rig.folder / "dhclient.pid"))
    for what in ("-1", "-x"):
        run = ("timeout", "12", "dhclient", what, "-sf", "/bin/true", *files, "c0")
        subprocess.run(run, capture_output=True, check=False, preexec_fn=netns.entering(rig.client_ns))
    assert "fixed-address 10.64.0.50" in kept.read_text()


@pytest.mark.usefixtures("addressed")
def test_a_client_cannot_say_that_it_is_somewhere_else(rig: Rig) -> None:
    """Wherever in its message it says so; and it is not shown what servers are told of it."""
    answer = say(rig, discover(DISCOVER), 5.0)
    assert socket.inet_ntoa(answer[16:20]) == "10.64.0.50" and b"lan0" not in answer
    before = learnt(rig)["untrusted"]
    spoofed = (
        discover(DISCOVER, MARK),
        discover(MARK, DISCOVER),
        discover(DISCOVER, bytes((52, 1, 1)), tail=MARK + b"\xff"),
        discover(DISCOVER, relay="10.64.0.9"),
        discover(DISCOVER, relay="10.64.0.1"),
    )
    for message in spoofed:
        assert say(rig, message, 0.3) == b""
    until("they are counted", lambda: learnt(rig)["untrusted"] == before + len(spoofed))
    behind_the_end = say(rig, discover(DISCOVER, b"\xff", MARK), 5.0)
    assert socket.inet_ntoa(behind_the_end[16:20]) == "10.64.0.50"


@pytest.mark.usefixtures("addressed")
def test_a_trusted_switch_says_where_its_client_is(rig: Rig) -> None:
    rig.commit(replace(RELAY, trusted=True))
    answer = say(rig, discover(DISCOVER, MARK), 5.0)
    rig.commit(RELAY)
    assert socket.inet_ntoa(answer[16:20]) == "10.64.0.66" and MARK in answer


def test_without_option_82_the_server_knows_the_network_alone(rig: Rig) -> None:
    rig.commit(replace(RELAY, option_82=False))
    given = udhcpc(rig)
    rig.commit(RELAY)
    assert given.startswith("10.64.0.10")


def test_relays_come_and_go_beside_one_that_goes_on(rig: Rig) -> None:
    pid, counted = pid_of(rig), learnt(rig)["requests"]
    rig.commit(DhcpRelay("next", "lan1", (SERVER, NOBODY)))
    assert udhcpc(rig, "c1") == "10.65.0.50"
    assert learnt(rig, "next")["silent"] == [NOBODY]
    rig.commit(delete=[("dhcp-relay", "next")])
    assert udhcpc(rig, "c1") == ""
    assert pid_of(rig) == pid and learnt(rig)["requests"] >= counted and udhcpc(rig) == "10.64.0.50"


def test_our_own_server_serves_another_interface_beside_it(rig: Rig) -> None:
    """Both use port 67, each with the address of its own interface."""
    rig.commit(DhcpServer("own", "lan1", ranges=("10.65.0.200-10.65.0.201",)))
    until("Kea listens", lambda: states(rig, "dhcp-server", "own").get("serving"))
    assert udhcpc(rig, "c1") == "10.65.0.200" and udhcpc(rig) == "10.64.0.50"
    pid = pid_of(rig)
    os.kill(pid, signal.SIGKILL)
    until("it is started beside Kea", lambda: pid_of(rig) != pid and learnt(rig).get("serving"))
    rig.commit(delete=[("dhcp-server", "own")])
    assert udhcpc(rig) == "10.64.0.50"


def states(rig: Rig, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"].get(name, {})
    return found


def test_servers_are_told_the_address_that_the_interface_has_now(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(replace(LAN, addresses=("10.64.0.9/24",)))
    assert udhcpc(rig) == "10.64.0.50" and pid_of(rig) == pid
    listening = rig.run("ss", "-uln")
    assert "10.64.0.9:67" in listening and "10.64.0.1:67" not in listening
    rig.commit(LAN)
    assert udhcpc(rig) == "10.64.0.50"


def test_an_interface_that_comes_again_has_its_relay_again(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.cable("guest", rig.client_ns, "c2")
    guest = Interface("guest", "lan", addresses=("10.66.0.1/24",))
    rig.commit(guest, DhcpRelay("guests", "guest", (SERVER,)))
    assert udhcpc(rig, "c2") == "10.66.0.50"
    rig.run("ip", "link", "delete", "guest")
    until("it is gone", lambda: not learnt(rig, "guests")["serving"])
    assert udhcpc(rig) == "10.64.0.50"
    rig.cable("guest", rig.client_ns, "c2")
    until("it listens again", lambda: learnt(rig, "guests")["serving"])
    netns.ip(rig.client_ns, ["link set c2 up"])
    assert until("a client gets an address again", lambda: udhcpc(rig, "c2")).startswith("10.66.0.")
    rig.commit(delete=[("dhcp-relay", "guests"), ("interface", "guest")])
    rig.run("ip", "link", "delete", "guest")
    assert pid_of(rig) == pid and udhcpc(rig) == "10.64.0.50"


def test_answers_come_through_a_wan_that_masquerades_and_lets_nothing_new_in(rig: Rig) -> None:
    rig.commit(Firewall(masquerade=True, drop_new_from_wan=True))
    given = udhcpc(rig)
    rig.commit(Firewall(masquerade=False, drop_new_from_wan=False))
    assert given == "10.64.0.50"


def test_it_runs_without_roots_rights(rig: Rig) -> None:
    status = Path(f"/proc/{pid_of(rig)}/status").read_text()
    said = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert set(said["Uid"].split()) == {"65534"} and said["Groups"].strip() == ""
    assert int(said["CapEff"], 16) == 1 << 10 | 1 << 13 and said["NoNewPrivs"] == "1"


def test_one_that_is_killed_is_started_again_and_explained(rig: Rig) -> None:
    pid = pid_of(rig)
    os.kill(pid, signal.SIGKILL)
    until("it is started again", lambda: pid_of(rig) != pid and learnt(rig).get("serving"))
    assert "drift repaired in dhcp-relay: add daemon dhcp-relay starts" in rig.agent_log()
    assert udhcpc(rig) == "10.64.0.50"
    lines = [line["system"] for line in rig.explain("near", "dhcp-relay")["lines"]]
    assert "it listens on lan0" in lines


def test_without_a_relay_it_does_not_run(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(replace(RELAY, disabled=True))
    until("it has ended", lambda: process.started_ticks(pid) == -1)
    assert udhcpc(rig) == ""
    rig.commit(RELAY)
    assert udhcpc(rig) == "10.64.0.50"
