# SPDX-License-Identifier: Apache-2.0
"""BGP and its filters in the model: what is said about what cannot be, and the lines that FRR gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.rules import validate, validate_all
from weir.parts.routing import ROUTING

CORE = Bgp("core", 65000)
LISTS = (PrefixList("own"), PrefixList("six", "ipv6"), RouteMap("in"), RouteMap("out"))
PEER = BgpNeighbor("n1", "core", "192.0.2.2", 65001, import_route_map="in", export_route_map="out")
INNER = BgpNeighbor("n2", "core", "192.0.2.3", 65000)


def said(*items: ConfigObject) -> list[str]:
    return [f"{item.severity} {item.code} {item.path}" for item in validate_all(Document(items))]


def entry(prefix: str, low: int | None = None, high: int | None = None, **more: Any) -> PrefixListEntry:
    return PrefixListEntry(
        "e", more.pop("prefix_list", "own"), prefix, min_length=low, max_length=high, **more
    )


def test_a_neighbour_with_policies_and_one_of_the_own_as_are_fine() -> None:
    assert said(CORE, *LISTS, PEER, INNER) == []


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([replace(PEER, import_route_map=None)], "error no-policy bgp-neighbor/n1/import_route_map"),
        ([replace(PEER, export_route_map=None)], "error no-policy bgp-neighbor/n1/export_route_map"),
        (
            [replace(PEER, export_route_map=None, export_prefix_list="own", family="both")],
            "error no-policy bgp-neighbor/n1/export_route_map",
        ),
        (
            [replace(PEER, import_route_map="nowhere")],
            "error unknown-route-map bgp-neighbor/n1/import_route_map",
        ),
        (
            [replace(PEER, import_prefix_list="six")],
            "error family-mismatch bgp-neighbor/n1/import_prefix_list",
        ),
        ([replace(PEER, address="fe80::1")], "error bad-neighbor bgp-neighbor/n1/address"),
        (
            [PEER, Interface("eth0", "lan", ("192.0.2.2/24",))],
            "error neighbor-is-own bgp-neighbor/n1/address",
        ),
        ([replace(PEER, keepalive_s=5)], "error bad-timers bgp-neighbor/n1/hold_s"),
        ([replace(PEER, keepalive_s=5, hold_s=14)], "error bad-timers bgp-neighbor/n1/hold_s"),
        (
            [replace(PEER, route_reflector_client=True)],
            "error not-internal bgp-neighbor/n1/route_reflector_client",
        ),
        ([replace(INNER, multihop=3)], "error not-external bgp-neighbor/n2/multihop"),
        ([PEER, replace(PEER, id="n9")], "error neighbor-twice bgp-neighbor/n9/address"),
        ([Bgp("other", 65001)], "error bgp-twice bgp/other/vrf"),
        ([Bgp("x", 1, vrf="eth9")], "error unknown-vrf bgp/x/vrf"),
        ([entry("10.0.0.0/8", 33)], "error bad-length prefix-list-entry/e/min_length"),
        ([entry("10.0.0.0/8", 20, 10)], "error bad-length prefix-list-entry/e/max_length"),
        ([entry("10.0.0.0/8", None, 40)], "error bad-length prefix-list-entry/e/max_length"),
        ([entry("2001:db8::/32")], "error family-mismatch prefix-list-entry/e/prefix"),
        (
            [entry("10.0.0.0/8"), replace(entry("10.0.0.0/8", 8, 8), id="f", position=9, action="deny")],
            "error duplicate-entry prefix-list-entry/f/prefix",
        ),
        (
            [RouteMapEntry("m", "in", set_communities="65000:7 70000:1")],
            "error bad-community route-map-entry/m/set_communities",
        ),
        (
            [RouteMapEntry("m", "in", action="deny", set_metric=1)],
            "warning no-effect route-map-entry/m/set_metric",
        ),
    ],
)
def test_what_cannot_be_is_named(items: list[ConfigObject], expected: str) -> None:
    assert said(CORE, *LISTS, *items) == [expected]


def test_a_change_of_the_as_looks_at_the_policies_again() -> None:
    """A neighbour of the own AS needs none, and is not one any more when the AS changes."""
    before = Document([CORE, *LISTS, INNER])
    change = Change("bgp", "core", CORE, replace(CORE, asn=65009))
    before.apply([change])
    assert {item.code for item in validate(before, [change])} == {"no-policy"}


def test_what_is_named_is_not_deleted() -> None:
    document = Document([CORE, *LISTS, PEER])
    change = Change("route-map", "in", RouteMap("in"), None)
    document.apply([change])
    assert "still-referenced" in {item.code for item in validate(document, [change])}


@pytest.mark.parametrize(
    ("prefix", "low", "high", "line"),
    [
        ("10.0.0.0/8", None, None, "permit 10.0.0.0/8"),
        ("10.0.0.0/8", 8, None, "permit 10.0.0.0/8 le 32"),
        ("10.0.0.0/8", 16, None, "permit 10.0.0.0/8 ge 16"),
        ("10.0.0.0/8", 16, 32, "permit 10.0.0.0/8 ge 16"),
        ("10.0.0.0/8", None, 24, "permit 10.0.0.0/8 le 24"),
        ("10.0.0.0/8", 16, 24, "permit 10.0.0.0/8 ge 16 le 24"),
        ("10.0.0.0/8", 8, 8, "permit 10.0.0.0/8"),
        ("0.0.0.0/0", 0, None, "permit any"),
        ("0.0.0.0/0", None, None, "permit 0.0.0.0/0"),
    ],
)
def test_lengths_are_written_as_frr_prints_them(
    prefix: str, low: int | None, high: int | None, line: str
) -> None:
    blocks = ROUTING.wanted(Document([CORE, *LISTS, entry(prefix, low, high)]))
    assert [found.head for found in blocks["ip prefix-list own"].entries] == [line]


def test_lists_without_entries_deny_everything_and_nobody_gets_them_without_a_protocol() -> None:
    blocks = ROUTING.wanted(Document([CORE, *LISTS]))
    assert blocks["ipv6 prefix-list six"].entries[0].head == "deny any"
    assert blocks["route-map in"].entries[0].head == "deny"
    assert blocks["route-map in"].daemons == {"bgpd"}
    assert (
        ROUTING.wanted(Document(LISTS))
        == {}
        == ROUTING.wanted(Document([replace(CORE, disabled=True), *LISTS]))
    )
