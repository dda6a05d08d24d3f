# SPDX-License-Identifier: Apache-2.0
"""Interfaces that are made out of nothing: which of them come and go, and who is left alone.

With a kernel that has them: tests/vm/test_tunnels.py.
"""

from __future__ import annotations

from weir.backends.devices import device_changes
from weir.backends.network import LinkState
from weir.model.document import Document
from weir.model.interface import Interface, Loopback, Vlan
from weir.model.rules import validate_all
from weir.parts.network import NETWORK

LO1 = Interface("lo1", addresses=("10.255.0.1/32",), loopback=Loopback())


def link(kind: str, *, ours: bool = True) -> LinkState:
    return LinkState(True, 1500, frozenset(), frozenset(), kind, None, ours)


def changes(
    held: dict[str, LinkState], *wanted: Interface
) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    found = device_changes(held, NETWORK.wanted(Document(wanted)))
    return found.remove, found.make, list(found.blocked.values())


def test_a_loopback_is_made_once_and_goes_with_its_configuration() -> None:
    assert changes({}, LO1) == ([], [("lo1", "dummy")], [])
    assert changes({"lo1": link("dummy")}, LO1) == ([], [], [])
    assert changes({"lo1": link("dummy")}) == (["lo1"], [], [])


def test_what_others_made_stays() -> None:
    assert changes({"d0": link("dummy", ours=False)}) == ([], [], [])
    assert changes({"lo1": link("dummy", ours=False)}, LO1) == ([], [], [])
    remove, make, blocked = changes({"lo1": link("veth", ours=False)}, LO1)
    assert not remove and not make and blocked == ["lo1 is a veth that Weir did not make, not a dummy"]


def test_an_interface_becomes_another() -> None:
    assert changes({"lo1": link("vlan")}, LO1) == ([], [("lo1", "dummy")], [])
    tagged = Interface("lo1", vlan=Vlan("eth0", 7))
    assert changes({"lo1": link("dummy")}, Interface("eth0"), tagged) == (["lo1"], [], [])


def test_a_loopback_has_neither_role_nor_dhcp_nor_vlans() -> None:
    wrong = [
        Interface("lo1", "wan", addressing="dhcp", loopback=Loopback()),
        Interface("lo1.7", vlan=Vlan("lo1", 7)),
    ]
    found = [item for item in validate_all(Document(wrong)) if item.code == "not-of-this-type"]
    assert sorted(item.field for item in found) == ["addressing", "role", "vlan.parent"]
