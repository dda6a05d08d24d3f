# SPDX-License-Identifier: Apache-2.0
"""A bridge that keeps foreign DHCP servers out: a real one behind one port, its victim behind another.

The client is behind lan0, the server behind lan1.
"""

from __future__ import annotations

import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lab import netns
from tests.agent.raw_frames import mac_of
from tests.agent.rig import Rig, running, wan
from tests.agent.test_effects import foreseen
from tests.datapath import packets as p
from tests.polling import until
from weir.model.interface import Interface
from weir.model.links import Bridge, BridgePort

TABLE = ("list", "table", "bridge", "weir_dhcp")
ETH_P_ALL = 3
CLIENT_6, SERVER_6 = "fd00::2", "fd00::3"


def bridge(*trusted: str, snooping: bool = True) -> Interface:
    ports = tuple(BridgePort(name, trusted=name in trusted) for name in ("lan0", "lan1"))
    return Interface("br0", "lan", ("10.64.0.1/24",), bridge=Bridge(ports, dhcp_snooping=snooping))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        server = f"{made.name}-s"
        netns.create(server)
        made.cable("lan1", server, "c1")
        for space, device, address in ((made.client_ns, "c0", CLIENT_6), (server, "c1", SERVER_6)):
            netns.ip(space, ["link set lo up", f"addr add {address}/64 dev {device} nodad"])
        netns.ip(server, ["addr add 10.66.0.1/24 dev c1"])
        made.commit(wan(), bridge())
        with answering(made, server):
            yield made


@contextmanager
def answering(rig: Rig, server: str) -> Iterator[None]:
    """A server that gives addresses."""
    command = ["dnsmasq", "--keep-in-foreground", "--port=0", "--conf-file=/dev/null", "--user=root"]
    command += [f"--dhcp-leasefile={rig.folder}/leases", f"--pid-file={rig.folder}/rogue.pid", "--no-ping"]
    command += ["--dhcp-range=10.66.0.50,10.66.0.90"]
    program = subprocess.Popen(command, preexec_fn=netns.entering(server))
    try:
        yield
    finally:
        program.terminate()
        program.wait(10)


def is_given(rig: Rig) -> bool:
    """Whether the client gets an address of the server."""
    command = ["busybox", "udhcpc", "-i", "c0", "-n", "-q", "-f", "-t", "3", "-T", "1", "-s", "/bin/true"]
    done = subprocess.run(
        command, preexec_fn=netns.entering(rig.client_ns), capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def test_a_server_answers_by_a_trusted_port_only(rig: Rig) -> None:
    rig.commit(bridge("lan1"))
    until("the server is there", lambda: is_given(rig), 20)
    assert foreseen(rig, bridge()) == {}, "it is hitless"
    rig.commit(bridge())
    assert not is_given(rig)
    rig.commit(bridge("lan0"))
    assert not is_given(rig), "the client's port is not the server's"
    rig.commit(bridge(snooping=False))
    assert is_given(rig)
    with pytest.raises(AssertionError):
        rig.run("nft", *TABLE)


def hears(rig: Rig, to_port: int, first: int, *, version: int = 4) -> bool:
    """Whether the client hears a message of the server's whose first byte is this, from any port."""
    family, near, far = {
        4: (socket.AF_INET, "10.66.0.2", "10.66.0.1"),
        6: (socket.AF_INET6, CLIENT_6, SERVER_6),
    }[version]
    with netns.inside(rig.client_ns):
        ear = socket.socket(family, socket.SOCK_DGRAM)
        ear.bind((near, to_port))
    with netns.inside(f"{rig.name}-s"):
        mouth = socket.socket(family, socket.SOCK_DGRAM)
        mouth.bind((far, 0))
    with ear, mouth:
        mouth.sendto(bytes([first]) * 300, (near, to_port))
        return bool(select.select([ear], [], [], 0.3)[0])


def test_only_what_servers_say_is_dropped(rig: Rig) -> None:
    netns.ip(rig.client_ns, ["addr replace 10.66.0.2/24 dev c0"])
    messages = [(68, 2, 4), (67, 2, 4), (546, 7, 6), (547, 13, 6)]
    others = [(67, 1, 4), (69, 2, 4), (547, 12, 6), (548, 13, 6)]
    rig.commit(bridge("lan1"))
    assert all(hears(rig, port, first, version=version) for port, first, version in messages + others)
    rig.commit(bridge())
    assert not any(hears(rig, port, first, version=version) for port, first, version in messages)
    assert all(hears(rig, port, first, version=version) for port, first, version in others)


@pytest.mark.parametrize("kind", [p.VLAN, p.QINQ], ids=["802.1Q", "802.1ad"])
def test_a_tag_hides_no_answer(rig: Rig, kind: int) -> None:
    """This kernel may have no VLANs, so the frames are written byte by byte."""

    def passes(port: int) -> bool:
        answer = p.ipv4("10.66.0.1", "10.66.0.2", p.udp(67, port, bytes([2]) * 300))
        tagged = p.ethernet(kind, p.tags([7], p.IPV4, answer, kind))[12:]
        with netns.inside(rig.client_ns):
            ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            ear.bind(("c0", ETH_P_ALL))
        with netns.inside(f"{rig.name}-s"):
            mouth = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            mouth.bind(("c1", 0))
        with ear, mouth:
            mouth.send(mac_of(rig.client_ns, "c0") + mac_of(f"{rig.name}-s", "c1") + tagged)
            while select.select([ear], [], [], 0.3)[0]:
                if answer in ear.recv(4096):
                    return True
        return False

    rig.commit(bridge("lan1"))
    assert passes(68) and passes(67)
    rig.commit(bridge())
    assert not passes(68) and not passes(67)
    assert passes(69)


def explained(rig: Rig) -> dict[str, Any]:
    lines = rig.explain("br0", "interface")["lines"]
    (line,) = [line for line in lines if line["field"] == "bridge.dhcp_snooping"]
    return line


def test_what_somebody_does_to_the_rules_is_seen_and_repaired(rig: Rig) -> None:
    rig.commit(bridge())
    before = rig.run("nft", "-s", *TABLE)
    line = explained(rig)
    assert line["agrees"] and "no port" in line["compiled"]
    rig.run("nft", "flush chain bridge weir_dhcp answers")
    until("they are back", lambda: rig.run("nft", "-s", *TABLE) == before, 20)
    line = explained(rig)
    assert line["agrees"]
