# SPDX-License-Identifier: Apache-2.0
"""VLANs in the model: what can be said of one, and what is said about one that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weir.model.codec import from_json, patched, to_json, to_stored_json
from weir.model.document import Change, Document
from weir.model.interface import Interface, Vlan
from weir.model.problem import Invalid
from weir.model.rules import validate, validate_all

PORT = Interface("eth1", mtu=1500)
OUTER = Interface("acme", "lan", vlan=Vlan("eth1", 100, "802.1ad"))
INNER = Interface("acme-voice", "lan", vlan=Vlan("acme", 7))
OUTER_JSON = {"parent": "eth1", "id": 100, "protocol": "802.1ad"}


def said(*items: Interface) -> list[str]:
    return [
        f"{item.severity} {item.code} {item.path} {item.message}" for item in validate_all(Document(items))
    ]


def test_a_vlan_is_written_as_it_is_read() -> None:
    read = from_json("interface", {"role": "lan", "vlan": OUTER_JSON}, "acme")
    assert read == OUTER
    assert to_json(OUTER)["vlan"] == OUTER_JSON
    assert to_stored_json(OUTER) == {"id": "acme", "role": "lan", "vlan": OUTER_JSON}
    assert "vlan" not in to_stored_json(PORT)
    assert patched(OUTER, {"vlan": {"id": 101}}) == replace(OUTER, vlan=Vlan("eth1", 101, "802.1ad"))
    assert patched(OUTER, {"vlan": None}) == replace(OUTER, vlan=None)


@pytest.mark.parametrize(
    ("vlan", "path"),
    [
        ({"parent": "eth1", "id": 0}, "vlan.id"),
        ({"parent": "eth1", "id": 4095}, "vlan.id"),
        ({"parent": "eth1", "id": "7"}, "vlan.id"),
        ({"parent": "eth1"}, "vlan.id"),
        ({"id": 7}, "vlan.parent"),
        ({"parent": "a/b", "id": 7}, "vlan.parent"),
        ({"parent": "eth1", "id": 7, "protocol": "802.1q"}, "vlan.protocol"),
        ({"parent": "eth1", "id": 7, "vid": 7}, "vlan.vid"),
        (7, "vlan"),
    ],
)
def test_what_is_wrong_with_a_vlan_is_named(vlan: object, path: str) -> None:
    with pytest.raises(Invalid) as caught:
        from_json("interface", {"vlan": vlan}, "acme")
    assert [item.field for item in caught.value.findings] == [path]


def test_two_tags_are_fine() -> None:
    assert said(PORT, OUTER, INNER) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [OUTER],
            "error unknown-parent interface/acme/vlan.parent the parent eth1 of VLAN acme is not configured; "
            "it needs no address and no role, only to be there",
        ),
        (
            [Interface("acme", vlan=Vlan("acme", 7))],
            "error cycle interface/acme/vlan.parent VLAN acme is stacked on itself",
        ),
        (
            [PORT, OUTER, INNER, Interface("third", vlan=Vlan("acme-voice", 9))],
            "error too-deep interface/third/vlan.parent frames of VLAN third would have 3 tags; at most 2 "
            "are possible",
        ),
        (
            [PORT, replace(OUTER, mtu=1504)],
            "error mtu-above-parent interface/acme/mtu VLAN acme cannot have an MTU of 1504: that of eth1 is "
            "1500",
        ),
        (
            [replace(PORT, disabled=True), OUTER],
            "warning interface-disabled interface/acme/vlan.parent VLAN acme is down while its parent eth1 "
            "is disabled",
        ),
    ],
)
def test_a_vlan_that_cannot_be_says_why(items: list[Interface], expected: str) -> None:
    assert said(*items) == [expected]


def test_two_interfaces_on_each_other_are_a_cycle() -> None:
    pair = [Interface("a", vlan=Vlan("b", 1)), Interface("b", vlan=Vlan("a", 1))]
    assert [line.split()[1] for line in said(*pair)] == ["cycle", "cycle"]


def test_one_tag_is_one_interface() -> None:
    lines = said(PORT, OUTER, replace(OUTER, id="also"), replace(OUTER, id="other", vlan=Vlan("eth1", 100)))
    assert [line for line in lines if "other" in line] == []
    assert (
        "error duplicate-vlan interface/also/vlan.id acme is VLAN 100 (802.1ad) of eth1 already, so also "
        "cannot be it as well"
    ) in lines


def test_the_port_of_a_vlan_stays() -> None:
    document = Document([OUTER])
    found = validate(document, [Change("interface", "eth1", PORT, None)])
    assert "interface 'eth1' is still the parent of the VLAN acme" in [item.message for item in found]
