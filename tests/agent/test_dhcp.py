# SPDX-License-Identifier: Apache-2.0
"""A WAN that gets address and way out from a DHCP server (dnsmasq), behind NAT and the firewall."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface

RENEW_S = 3


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.commit(lan(), Firewall())
        made.start_dhcp_server(f"--dhcp-option=option:T1,{RENEW_S}")
        yield made


def by_dhcp() -> Interface:
    return wan(addresses=(), addressing="dhcp")


def leased(rig: Rig) -> set[str]:
    return {address for address in rig.addresses("wan0") if address.startswith("203.0.113.5")}


def state(rig: Rig) -> dict[str, Any]:
    items = rig.agent.call("interfaces")["value"]
    found: dict[str, Any] = next(item for item in items if item["name"] == "wan0")
    return found


def lease(rig: Rig) -> dict[str, Any] | None:
    found: dict[str, Any] | None = state(rig)["lease"]
    return found


def default_routes(rig: Rig) -> list[dict[str, Any]]:
    """FRR's, and 30 s after its start their copies, which stand without it (docs/adr/0108)."""
    found: list[dict[str, Any]] = rig.json("ip", "-j", "route", "show", "default")
    return found


@pytest.fixture
def address(rig: Rig) -> str:
    """That of a WAN with a lease, and its route is there."""
    rig.commit(by_dhcp())
    until("there is an address", lambda: leased(rig))
    until("there is a way out", lambda: default_routes(rig))
    return leased(rig).pop()


def test_customers_reach_the_internet_and_nothing_of_it_is_drift(rig: Rig, address: str) -> None:
    (route,) = (route for route in default_routes(rig) if route["protocol"] == "static")
    assert (route["gateway"], route["dev"]) == ("203.0.113.1", "wan0")
    rig.run("ping", "-q", "-c", "2", "-i", "0.2", "-W", "5", "203.0.113.1", namespace=rig.client_ns)
    told = lease(rig)
    assert told is not None
    assert (told["address"], told["gateway"], told["dns"]) == (address, "203.0.113.1", ["192.0.2.53"])
    status = rig.status()
    assert (status["state"], status["drift"]) == ("ok", [])
    assert rig.agent.call("resync")["faults"] == []


def test_the_server_is_asked_for_more_time_and_the_kernel_knows_the_end(rig: Rig, address: str) -> None:
    first = lease(rig)
    assert first is not None

    def prolonged() -> bool:
        now = lease(rig)
        return now is not None and now["expires_at"] > first["expires_at"] + 1000

    until("the lease is longer", prolonged)
    (link,) = rig.json("ip", "-j", "address", "show", "dev", "wan0")
    found = next(item for item in link["addr_info"] if item["local"] == address.partition("/")[0])
    assert 100 < found["valid_life_time"] <= 130


def test_a_killed_agent_leaves_the_address_and_the_next_one_keeps_it(rig: Rig, address: str) -> None:
    rig.kill_agent()
    assert leased(rig) == {address}
    rig.start_agent()
    assert leased(rig) == {address}
    status = rig.status()
    assert (status["state"], status["drift"]) == ("ok", [])
    told = lease(rig)
    assert told is not None
    assert told["address"] == address


def test_an_address_that_somebody_removed_comes_back(rig: Rig, address: str) -> None:
    rig.run("ip", "address", "del", address, "dev", "wan0")
    until("the address is back", lambda: leased(rig) == {address})
    until("it is told", lambda: any(address in item["text"] for item in rig.status()["drift"]))


SQUATTER = """
import socket, sys
wanted = socket.inet_aton(sys.argv[1])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)); s.bind(("i0", 0x0806))
mac = bytes.fromhex("020000000077"); print("ready", flush=True)
while True:
    asked = s.recv(128)
    if asked[20:22] == b"\\0\\1" and asked[38:42] == wanted:
        s.send(asked[6:12] + mac + asked[12:20] + b"\\0\\2" + mac + wanted + asked[22:32])
"""


def test_an_address_that_somebody_has_is_declined_and_another_one_taken(rig: Rig, address: str) -> None:
    notes, host = rig.folder / "dhcp.leases", address.partition("/")[0]
    rig.commit(wan())
    until("the server has crossed it out", lambda: host not in notes.read_text())
    words = [sys.executable, "-I", "-S", "-c", SQUATTER, host]
    enter = netns.entering(rig.internet)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=enter) as squatter:
        try:
            assert squatter.stdout is not None and squatter.stdout.readline() == "ready\n"
            rig.commit(by_dhcp())
            declined = {"address": host, "holder": "02:00:00:00:00:77"}
            until("it is declined", lambda: state(rig)["declined"] == declined)
            assert leased(rig) == set()
            rig.commit(wan())  # else it rests for half a minute
            until("it is over", lambda: state(rig)["declined"] is None)
            rig.commit(by_dhcp())
            until("another one is taken", lambda: leased(rig))
            assert leased(rig) != {address}
            assert state(rig)["declined"] is None
        finally:
            squatter.kill()


def test_without_dhcp_address_and_route_go_and_the_server_is_told(rig: Rig, address: str) -> None:
    notes = rig.folder / "dhcp.leases"
    until("the server has noted it", lambda: address.partition("/")[0] in notes.read_text())
    rig.commit(wan())
    assert rig.addresses("wan0") == {"203.0.113.2/24"}
    until("there is no way out any more", lambda: not default_routes(rig))
    until("the server has crossed it out", lambda: address.partition("/")[0] not in notes.read_text())
    until("the lease is forgotten", lambda: lease(rig) is None)
