# SPDX-License-Identifier: Apache-2.0
"""A bridge that yields to its members: what a member has no class for is the bridge's, all else the member's.

The loopback is the member whose programs are asked; the bridge and the other member are ends of a veth pair.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.datapath import packets as p
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from tests.datapath.topology import run
from weir.adapters.datapath_records import NO_ABOVE, Above, ClassRecord, FarEntry, Role
from weir.model.problem import Invalid

CUSTOMER, UNKNOWN, INTERNET = "10.64.1.7", "10.64.2.9", "198.51.100.1"
ADDRESS, MEMBER, BRIDGE, SENDER, FORK = 7, 8, 9, 10, 11
DOWN = p.frame4(INTERNET, UNKNOWN, 1000)
UP = p.frame4(UNKNOWN, INTERNET, 1000)
SHAPED = Role.CLASSIFY | Role.SHAPE


@dataclass(frozen=True, slots=True)
class Bridged:
    loaded: Loaded
    bridge: int
    other: int

    def member(self, target: int = 0, above_slot: int = BRIDGE) -> None:
        above = Above(self.bridge, above_slot)
        self.loaded.datapath.attach("lo", SHAPED, "edt", slot_for_interface_target=target, above=above)

    def attach(self, name: str, roles: Role, target: int, above: Above = NO_ABOVE) -> None:
        mode = "edt" if Role.SHAPE in roles else "none"
        self.loaded.datapath.attach(name, roles, mode, slot_for_interface_target=target, above=above)

    def counted(self, direction: int) -> dict[int, int]:
        """Packets by class, of those that have any."""
        slots = (ADDRESS, MEMBER, BRIDGE, SENDER)
        found = {slot: self.loaded.counters(slot, direction)["packets"] for slot in slots}
        return {slot: packets for slot, packets in found.items() if packets}


@pytest.fixture
def bridged(loaded: Loaded) -> Iterator[Bridged]:
    run("ip", "link", "add", "br0", "type", "veth", "peer", "name", "lan1")
    try:
        for slot in (ADDRESS, MEMBER, BRIDGE, SENDER):
            loaded.limit(slot, 8_000_000)
        loaded.classify(4, p.value4(CUSTOMER), 32, ADDRESS)
        made = Bridged(loaded, socket.if_nametoindex("br0"), socket.if_nametoindex("lan1"))
        made.attach("br0", Role.CLASSIFY | Role.YIELDS, BRIDGE)
        made.attach("lan1", SHAPED, 0, Above(made.bridge, BRIDGE))
        yield made
    finally:
        run("ip", "link", "del", "br0")


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [(UNKNOWN, MEMBER, MEMBER), (UNKNOWN, 0, BRIDGE), (CUSTOMER, MEMBER, ADDRESS)],
    ids=["the member's", "of no member's", "an address's"],
)
def test_what_came_by_a_member_stays_the_members(
    bridged: Bridged, source: str, before: int, after: int
) -> None:
    packet = p.frame4(source, INTERNET)
    came = bridged.loaded.ingress(packet, ifindex=bridged.bridge, mark=before << 8 | 5)
    assert came.mark == after << 8 | 5


def test_an_interface_that_does_not_yield_classifies_by_itself(bridged: Bridged) -> None:
    bridged.attach("br0", SHAPED, BRIDGE)
    assert bridged.loaded.ingress(UP, ifindex=bridged.bridge, mark=MEMBER << 8).mark == BRIDGE << 8


def test_a_member_takes_what_leaves_by_it_and_leaves_the_rest_to_the_bridge(bridged: Bridged) -> None:
    """Also what is somebody's upload, who is charged for it as well."""
    for target, taken in ((MEMBER, {MEMBER: 1}), (0, {MEMBER: 1, BRIDGE: 1})):
        bridged.member(target)
        bridged.loaded.egress(DOWN, mark=SENDER << 8)
        assert bridged.counted(DOWNLOAD) == taken
    bridged.loaded.egress(p.frame4(INTERNET, CUSTOMER))
    assert bridged.counted(DOWNLOAD) == {MEMBER: 1, BRIDGE: 1, ADDRESS: 1}
    bridged.member(above_slot=0)
    bridged.loaded.egress(DOWN, mark=SENDER << 8)
    assert bridged.counted(UPLOAD) == {SENDER: 3}
    assert bridged.loaded.unshaped() == {}


def test_what_the_bridge_switched_is_not_the_bridges(bridged: Bridged) -> None:
    bridged.member()
    bridged.loaded.egress(DOWN, ingress_ifindex=bridged.other)
    assert (bridged.counted(DOWNLOAD), bridged.loaded.unshaped()) == ({}, {"no-class": 1})
    bridged.loaded.egress(DOWN, ingress_ifindex=bridged.bridge)
    assert bridged.counted(DOWNLOAD) == {BRIDGE: 1}


def test_a_fork_knows_the_way_out_by_the_bridges_name(bridged: Bridged) -> None:
    behind = FarEntry(FORK, 0, b"br0".ljust(16, b"\0"), 128, ADDRESS, 0)
    bridged.loaded.datapath.change_far([behind])
    bridged.loaded.datapath.write_classes([(FORK, ClassRecord(FORK, SENDER, fork=True))])
    bridged.member(above_slot=0)
    bridged.loaded.egress(DOWN, mark=FORK << 8)
    bridged.loaded.datapath.attach("lo", SHAPED, "edt")
    bridged.loaded.egress(DOWN, mark=FORK << 8)
    assert bridged.counted(UPLOAD) == {ADDRESS: 1, SENDER: 1}
    bridged.loaded.datapath.change_far(remove=[behind])


def test_what_a_fork_leaves_is_the_bridges(bridged: Bridged) -> None:
    bridged.loaded.classify(4, p.value4(UNKNOWN), 32, FORK)
    bridged.loaded.datapath.write_classes([(FORK, ClassRecord(FORK, 0, fork=True))])
    bridged.member()
    bridged.loaded.egress(DOWN)
    assert bridged.counted(DOWNLOAD) == {BRIDGE: 1}
    bridged.member(MEMBER)
    bridged.loaded.egress(DOWN)
    assert bridged.counted(DOWNLOAD) == {BRIDGE: 1, MEMBER: 1}


def test_what_yields_does_not_shape(bridged: Bridged) -> None:
    held = bridged.loaded.datapath.attached()
    assert held["br0"].roles == Role.CLASSIFY | Role.YIELDS
    assert held["lan1"].above == Above(bridged.bridge, BRIDGE)
    with pytest.raises(Invalid, match="yields"):
        bridged.attach("br0", SHAPED | Role.YIELDS, BRIDGE)
