# SPDX-License-Identifier: Apache-2.0
"""Where the queue of an address is looked up on a router with VRFs. Kernels that have them: tests/vm."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import RLock
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weir.adapters.neighbours import FAILED, REACHABLE, Neighbour
from weir.adapters.netlink import Link
from weir.adapters.route_lookup import Way
from weir.agent import customer_line
from weir.agent.customer_line import CustomerLine
from weir.compiler.types import MAIN_DOMAIN, PortSpec
from weir.model.problem import Invalid
from weir.wire.server import Peer

HOST = "10.0.0.2"
LAN, WAN, BLUE, BLUE_LAN, BLUE_WAN = 1, 2, 3, 4, 5
BLUES_DOMAIN = 7
SLOTS = {MAIN_DOMAIN: 11, BLUES_DOMAIN: 12}
QUEUES = {11: "mains", 12: "blues"}


def link(name: str, index: int, kind: str = "veth", master: int = 0) -> Link:
    return Link(name, index, kind, "", 1500, True, True, True, 1, "", master, 0, {})


def neighbour(index: int, state: int = REACHABLE, confirmed_s: float = 1.0) -> Neighbour:
    mac = b"" if state == FAILED else bytes(6)
    return Neighbour(socket.AF_INET, index, 0, socket.inet_aton(HOST), mac, state, confirmed_s)


class Router:
    """A LAN and a WAN, the same in VRF blue; which addresses are limited, and whose neighbors they are."""

    def __init__(self) -> None:
        self.links = {
            item.name: item
            for item in (
                link("lan", LAN),
                link("wan", WAN),
                link("blue", BLUE, "vrf"),
                link("blue-lan", BLUE_LAN, master=BLUE),
                link("blue-wan", BLUE_WAN, master=BLUE),
            )
        }
        self.neighbours: list[Neighbour] = []
        self.ways: dict[int, Way] = {0: Way(WAN, "192.0.2.1"), BLUE: Way(BLUE_WAN, "192.0.2.1")}
        self.limited = dict(SLOTS)
        self.uplinks: list[dict[str, Any]] = []

    def lookup(self, domain: int, _family: int, _address: int) -> int:
        return self.limited.get(domain, 0)

    def line(self, **asked_too: str) -> dict[str, Any]:
        domains = dict.fromkeys(("lan", "wan"), MAIN_DOMAIN) | dict.fromkeys(
            ("blue-lan", "blue-wan"), BLUES_DOMAIN
        )
        ports = {name: PortSpec(name, "lan", "auto", 0, 0, domain) for name, domain in domains.items()}
        classes = {
            slot: SimpleNamespace(is_queue=True, parent_slot=0, queue_id=name)
            for slot, name in QUEUES.items()
        }
        shaping = SimpleNamespace(ports=ports, classes=classes)
        configuration = SimpleNamespace(lock=RLock(), compiled=SimpleNamespace(shaping=shaping))
        links = SimpleNamespace(links=lambda: self.links)
        asked = CustomerLine(
            cast(Any, configuration), self, cast(Any, links), lambda: None, lambda: self.uplinks, lambda *_: 0
        )
        found: dict[str, Any] = asked.table()["customer_line"](
            {"address": HOST, **asked_too}, cast(Peer, None)
        )  # type: ignore[assignment]
        return found


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[Router]:
    made = Router()
    monkeypatch.setattr(customer_line, "neighbours", lambda: iter(made.neighbours))
    monkeypatch.setattr(customer_line, "way_to", lambda _address, vrf, _mark=0: made.ways.get(vrf))
    yield made


def test_a_host_in_a_vrf_has_the_queue_and_the_ways_of_its_vrf(router: Router) -> None:
    router.neighbours = [neighbour(BLUE_LAN)]
    found = router.line()
    assert (found["queue_id"], found["may_be_in_vrf"]) == ("blues", False)
    assert (found["access"]["interface"], found["uplink"]["interface"]) == ("blue-lan", "blue-wan")
    assert found["access"]["station"]["state"] == "reachable"


def test_of_two_hosts_with_one_address_the_one_that_answered_last_is_meant(router: Router) -> None:
    router.neighbours = [neighbour(BLUE_LAN, confirmed_s=9.0), neighbour(LAN, confirmed_s=2.0)]
    assert router.line()["queue_id"] == "mains"
    router.neighbours = [neighbour(BLUE_LAN, confirmed_s=9.0), neighbour(LAN, FAILED)]
    assert router.line()["queue_id"] == "blues"


def test_without_a_neighbour_the_main_table_is_looked_in_and_that_is_told(router: Router) -> None:
    del router.limited[MAIN_DOMAIN]
    found = router.line()
    assert (found["queue_id"], found["may_be_in_vrf"]) == (None, True)
    assert found["uplink"]["interface"] == "wan"


def test_where_a_host_does_not_answer_is_not_where_it_is(router: Router) -> None:
    router.neighbours = [neighbour(BLUE_LAN, FAILED)]
    found = router.line()
    assert (found["queue_id"], found["may_be_in_vrf"]) == ("mains", True)


def test_without_vrfs_it_is_known_that_no_queue_limits_an_address(router: Router) -> None:
    del router.limited[MAIN_DOMAIN], router.links["blue"]
    found = router.line()
    assert (found["queue_id"], found["may_be_in_vrf"]) == (None, False)


@pytest.mark.parametrize(
    "address", ["224.0.0.1", "127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "ff02::1"]
)
def test_an_address_that_no_host_has_is_no_customer(router: Router, address: str) -> None:
    with pytest.raises(Invalid, match="is no address of a host"):
        router.line(address=address)
    with pytest.raises(Invalid, match="is no address of a host"):
        router.line(towards=address)


def test_a_customer_and_a_far_end_are_of_one_address_family(router: Router) -> None:
    with pytest.raises(Invalid, match="one address family"):
        router.line(towards="2001:db8::1")


def test_without_a_way_the_queue_is_looked_up_all_the_same(router: Router) -> None:
    router.ways = {}
    found = router.line()
    assert (found["queue_id"], found["access"]) == ("mains", None)


def uplink(name: str, interface: str, in_use: bool, via: str = "192.0.2.9") -> dict[str, Any]:
    return {"id": name, "interface": interface, "in_use": in_use, "via": via}


def test_the_uplink_in_use_is_the_way_and_not_the_route_to_an_address(router: Router) -> None:
    router.links["lte"] = link("lte", 9)
    router.uplinks = [uplink("fiber", "wan", False), uplink("mobile", "lte", True)]
    found = router.line()
    assert (found["towards"], found["uplinks"]) == (None, 2)
    assert found["checked"]["id"] == "mobile"
    assert (found["uplink"]["interface"], found["uplink"]["gateway"]) == ("lte", "192.0.2.9")
    towards = router.line(towards="198.51.100.1")
    assert (towards["towards"], towards["uplink"]["interface"]) == ("198.51.100.1", "wan")
    assert towards["checked"]["id"] == "fiber", "the route leaves by this one"


def test_where_no_uplink_is_in_use_the_route_tells_the_way(router: Router) -> None:
    router.uplinks = [uplink("mobile", "lte", False)]
    found = router.line()
    assert (found["towards"], found["checked"], found["uplinks"]) == ("1.1.1.1", None, 1)
    assert found["uplink"]["interface"] == "wan"


def test_in_a_vrf_uplinks_of_the_main_table_are_not_the_way(router: Router) -> None:
    router.neighbours = [neighbour(BLUE_LAN)]
    router.uplinks = [uplink("fiber", "wan", True)]
    found = router.line()
    assert (found["towards"], found["checked"], found["uplinks"]) == ("1.1.1.1", None, 0)
    assert found["uplink"]["interface"] == "blue-wan"
