# SPDX-License-Identifier: Apache-2.0
"""What each part says of an object: field by field what it became, and what the system has in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weir.adapters.frr import Route
from weir.adapters.netlink import Links
from weir.adapters.route_messages import Hop, KernelRoute
from weir.backends.backend import Comparison
from weir.backends.firewall import FirewallBackend, FirewallHeld, FirewallWanted, table_of
from weir.backends.forwarding import SETTINGS, ForwardingBackend
from weir.backends.network import ROUTER_SETTINGS, LinkState, NetworkBackend, NetworkState
from weir.backends.routes import RoutesBackend
from weir.backends.routes_state import RoutesState
from weir.backends.routing import RoutingBackend, RoutingState
from weir.backends.sets import SetsBackend
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.static_route import StaticRoute
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.objects import ConfigObject
from weir.parts.explained import Line, agreement
from weir.parts.firewall import FIREWALL
from weir.parts.forwarding import FORWARDING
from weir.parts.network import NETWORK
from weir.parts.part import Part
from weir.parts.routes import ROUTES
from weir.parts.routing.block import Block, Peer
from weir.parts.sets import SETS

LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",), mtu=1450)
WAN = Interface("wan0", "wan")
FAR = StaticRoute("far", "10.77.0.0/16", gateway="10.64.0.2")
NEAR = StaticRoute("near", "10.77.0.0/16", gateway="10.64.0.3", distance=9)


class Held(Comparison[Any, Any, Any]):
    """A comparison with what was read in place of the system."""

    def __init__(self, backend: Any, wanted: object, held: object) -> None:
        super().__init__(backend, wanted)
        self.held = held


def lines(
    part: Part[Any, Any], backend: Any, held: object, item: ConfigObject, objects: Iterable[ConfigObject]
) -> dict[str, Line]:
    wanted: Any = part.wanted(Document(objects))
    told = list(part.told(wanted, item))
    if part is FIREWALL:
        wanted = FirewallWanted(wanted, ())
    return {line.field: line for line in backend.explain(Held(backend, wanted, held), item, told)}


def wrong(found: Mapping[str, Line]) -> set[str]:
    return {name for name, line in found.items() if line.agrees is False}


# --- interfaces ---


def network(**links: LinkState) -> NetworkState:
    return NetworkState(links, dict(ROUTER_SETTINGS), {})


def told_of_lan(item: Interface = LAN, *others: Interface, **links: LinkState) -> dict[str, Line]:
    backend = NetworkBackend(cast(Links, None), Path("unused"))
    return lines(NETWORK, backend, network(**links), item, [item, *others])


STATE = LinkState(True, 1450, frozenset({"10.64.0.1/24"}), frozenset())


def test_an_interface_as_it_was_asked_for_agrees_in_every_field() -> None:
    found = told_of_lan(lan0=STATE)
    assert not wrong(found) and agreement(found.values())
    assert found["mtu"] == Line("mtu", "1450", "1450", True)
    assert found["addresses"].system == "10.64.0.1/24"


@pytest.mark.parametrize(
    ("state", "field", "words"),
    [
        (replace(STATE, up=False), "disabled", "down"),
        (replace(STATE, mtu=1300), "mtu", "1300"),
        (replace(STATE, ours=frozenset()), "addresses", "none"),
        (replace(STATE, ours=STATE.ours | {"10.9.0.1/8"}), "addresses", "10.64.0.1/24, 10.9.0.1/8"),
    ],
)
def test_the_field_of_an_interface_that_differs_is_named(state: LinkState, field: str, words: str) -> None:
    found = told_of_lan(lan0=state)
    assert wrong(found) == {field} and found[field].system == words


def test_what_somebody_else_added_to_an_interface_is_told_and_no_deviation() -> None:
    found = told_of_lan(lan0=replace(STATE, foreign=frozenset({"10.9.0.1/8"})))
    assert not wrong(found) and found["addresses"].system == "10.64.0.1/24, 10.9.0.1/8 (of somebody else)"


def test_an_interface_that_is_not_there_or_that_somebody_else_made_is_said_to_be_so() -> None:
    assert told_of_lan()["id"].system == "there is no such interface"
    tagged = Interface("lan0.7", "lan", vlan=Vlan("lan0", 7))
    other = replace(STATE, mtu=1500, kind="vlan", vlan=Vlan("lan0", 8))
    found = told_of_lan(tagged, LAN, **{"lan0": STATE, "lan0.7": other})
    assert "vlan" in wrong(found)


def test_without_a_lease_an_interface_by_dhcp_does_not_agree() -> None:
    asking = Interface("lan0", "lan", addressing="dhcp")
    found = told_of_lan(asking, lan0=replace(STATE, ours=frozenset(), mtu=1500))
    assert wrong(found) == {"addressing"} and found["addressing"].system == "no lease yet"


def test_a_setting_of_the_router_that_was_changed_is_named() -> None:
    held = NetworkState({"lan0": STATE}, dict.fromkeys(ROUTER_SETTINGS, "0"), {})
    backend = NetworkBackend(cast(Links, None), Path("unused"))
    assert wrong(lines(NETWORK, backend, held, LAN, [LAN])) == set(ROUTER_SETTINGS)


def test_forwarding_that_was_switched_off_is_named() -> None:
    held = {SETTINGS[0]: "0", SETTINGS[1]: None}
    found = lines(FORWARDING, ForwardingBackend(), held, LAN, [LAN])
    assert found == {SETTINGS[0]: Line(SETTINGS[0], "1", "0", False)}


# --- rules ---


@pytest.fixture
def firewall(monkeypatch: pytest.MonkeyPatch) -> FirewallBackend:
    monkeypatch.setattr("weir.adapters.connection_limits.unsupported_reason", lambda: "")
    monkeypatch.setattr("weir.adapters.connection_limits.expected", repr)
    return FirewallBackend()


def rules_of(*objects: ConfigObject) -> tuple[FirewallWanted, FirewallHeld]:
    wanted = FirewallWanted(FIREWALL.wanted(Document(objects)), ())
    limits = repr(FirewallBackend().diff(FirewallHeld(None, ""), wanted).limits)
    return wanted, FirewallHeld(table_of(wanted), limits)


def test_a_policy_agrees_rule_by_rule_and_as_a_whole(firewall: FirewallBackend) -> None:
    policy = Firewall(allowed_wan_tcp_ports=(443,))
    _, held = rules_of(policy, WAN, LAN)
    found = lines(FIREWALL, firewall, held, policy, [policy, WAN, LAN])
    assert not wrong(found)
    assert {"drop_new_from_wan", "allowed_wan_tcp_ports", "masquerade", "connections_per_source"} <= set(
        found
    )


def test_a_rule_that_was_taken_away_is_named_with_its_field(firewall: FirewallBackend) -> None:
    policy = Firewall(allowed_wan_tcp_ports=(443,))
    _, held = rules_of(policy, WAN)
    assert held.table is not None
    chains = {name: chain for name, chain in held.table.chains.items() if name != "postrouting"}
    short = replace(held.table, chains=chains)
    found = lines(FIREWALL, firewall, replace(held, table=short), policy, [policy, WAN])
    assert wrong(found) == {"masquerade", "the table inet weir"}
    flushed = lines(FIREWALL, firewall, FirewallHeld(None, ""), policy, [policy, WAN])
    assert flushed["the table inet weir"].system == "it is not there"
    assert flushed["connections_per_source"].agrees is False


def test_a_bound_that_the_kernel_cannot_keep_does_not_agree(
    firewall: FirewallBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "this kernel does not count connections"
    monkeypatch.setattr("weir.adapters.connection_limits.unsupported_reason", lambda: reason)
    policy = Firewall()
    _, held = rules_of(policy, WAN)
    found = lines(FIREWALL, firewall, held, policy, [policy, WAN])
    line = found["connections_per_source"]
    assert line.agrees is False and line.system == reason and "connections of each source" in line.compiled


def test_an_interface_is_told_only_of_rules_that_name_it(firewall: FirewallBackend) -> None:
    _, held = rules_of(Firewall(), WAN, LAN)
    of_wan = lines(FIREWALL, firewall, held, WAN, [Firewall(), WAN, LAN])
    of_lan = lines(FIREWALL, firewall, held, LAN, [Firewall(), WAN, LAN])
    assert "role" in of_wan and "role" not in of_lan


def test_a_configured_rule_is_told_by_what_it_became(firewall: FirewallBackend) -> None:
    ssh = FirewallRule("ssh", "input", action="accept", protocol="tcp", ports=("22",))
    _, held = rules_of(Firewall(), WAN, ssh)
    found = lines(FIREWALL, firewall, held, ssh, [Firewall(), WAN, ssh])
    assert not wrong(found) and found["action"].system == "in chain input"
    assert "connections_per_source" not in found, "that is the policy's"
    assert "action" not in lines(FIREWALL, firewall, held, Firewall(), [Firewall(), WAN, ssh])
    gone = lines(FIREWALL, firewall, FirewallHeld(None, ""), ssh, [Firewall(), WAN, ssh])
    assert wrong(gone) == {"action", "the table inet weir"}
    off = replace(ssh, disabled=True)
    still = lines(FIREWALL, firewall, held, off, [Firewall(), WAN, off])
    assert still["disabled"].system == "its counter is still there"
    assert wrong(still) == {"disabled", "the table inet weir"}


# --- sets ---

BAD = Set("bad")
ENTRY = SetEntry("e1", "bad", "192.0.2.0/24")
OTHER = SetEntry("e2", "bad", "198.51.100.0/24")
KEY, OTHER_KEY = bytes([192, 0, 2, 0]), bytes([198, 51, 100, 0])


def told_of_set(item: ConfigObject, held: Mapping[str, set[bytes]], *others: ConfigObject) -> dict[str, Line]:
    return lines(SETS, SetsBackend(), held, item, [item, *others])


def test_a_set_is_told_with_all_that_is_in_it_and_an_entry_alone() -> None:
    held = {"a4_24_bad": {KEY, OTHER_KEY}}
    assert told_of_set(BAD, held, ENTRY, OTHER) == {"id": Line("id", "2 in a4_24_bad", "2, the same", True)}
    assert told_of_set(ENTRY, held, BAD)["value"].agrees
    short = told_of_set(BAD, {"a4_24_bad": {OTHER_KEY, b"odd!"}}, ENTRY, OTHER)
    assert short["id"] == Line("id", "2 in a4_24_bad", "1 are missing and 1 are too many", False)
    missing = told_of_set(ENTRY, {"a4_24_bad": {OTHER_KEY}}, BAD)
    assert missing["value"] == Line("value", "192.0.2.0/24 in a4_24_bad", "it is not there", False)
    assert told_of_set(BAD, {}, ENTRY)["id"].system == "there is no such set"


def test_a_set_and_an_entry_that_are_disabled_must_not_be_there() -> None:
    off = replace(ENTRY, disabled=True)
    assert told_of_set(off, {}, BAD)["value"] == Line("value", "not in the set", "it is not there", True)
    assert wrong(told_of_set(off, {"a4_24_bad": {KEY}}, BAD)) == {"value"}
    disabled = replace(BAD, disabled=True)
    assert told_of_set(disabled, {"a4_24_worse_bad": {KEY}}, ENTRY)["id"].system == "there is none"
    assert wrong(told_of_set(disabled, {"a4_24_bad": {KEY}}, ENTRY)) == {"id"}


# --- routes ---


def told_of_route(
    item: StaticRoute, held_lines: Iterable[str], installed: Iterable[KernelRoute], *others: StaticRoute
) -> dict[str, Line]:
    held = RoutesState.whole(frozenset(held_lines), frozenset(installed), frozenset(), True)
    return lines(ROUTES, RoutesBackend(cast(Any, _NoFrr())), held, item, [item, *others])


class _NoFrr:
    reason = ""

    def down_reason(self) -> str:
        return self.reason

    def identity(self) -> tuple[object, ...]:
        return ()


def line_of(item: StaticRoute, distance: int | None = None) -> str:
    return Route(item.destination, item.gateway, None, False, distance or item.distance).line


def kernel(gateway: str, table: str = "254") -> KernelRoute:
    return KernelRoute("10.77.0.0/16", table, "unicast", (Hop(gateway, "lan0", False, 1),))


def test_a_route_that_frr_and_the_kernel_have_agrees() -> None:
    found = told_of_route(FAR, [line_of(FAR)], [kernel("10.64.0.2")])
    assert not wrong(found) and found["in use"].system == "via 10.64.0.2 dev lan0"


@pytest.mark.parametrize(
    ("held", "field", "words"),
    [
        ((), "destination", "no route of Weir to this destination"),
        ((line_of(FAR, 7),), "distance", "tag 87 7"),
        ((line_of(replace(FAR, gateway="10.64.0.9")),), "gateway", "10.64.0.9"),
    ],
)
def test_the_field_of_a_route_that_differs_is_named(held: tuple[str, ...], field: str, words: str) -> None:
    found = told_of_route(FAR, held, [kernel("10.64.0.2")])
    assert wrong(found) == {field} and words in found[field].system


def test_a_route_that_is_not_in_use_is_said_to_be_so() -> None:
    assert wrong(told_of_route(FAR, [line_of(FAR)], [])) == {"in use"}
    assert wrong(told_of_route(FAR, [line_of(FAR)], [kernel("10.64.0.2", "77")])) == {"in use"}
    behind = told_of_route(NEAR, [line_of(FAR), line_of(NEAR)], [kernel("10.64.0.2")], FAR)
    assert not wrong(behind) and behind["in use"].compiled == "waits behind far"
    through = told_of_route(FAR, [line_of(FAR)], [kernel("192.0.2.9")])
    assert through["in use"].agrees is None and agreement(through.values()) is None


def test_while_frr_is_away_it_is_said_what_keeps_a_route(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_NoFrr, "reason", "FRR is not running")
    held = RoutesState.whole(frozenset(), frozenset(), frozenset({kernel("10.64.0.2")}), False)
    found = lines(ROUTES, RoutesBackend(cast(Any, _NoFrr())), held, FAR, [FAR])
    assert found["destination"].system == "FRR is not running" and wrong(found) == {"destination"}
    assert found["in use"].system == "via 10.64.0.2 dev lan0, kept by Weir in place of FRR's"
    off = told_of_route(replace(FAR, disabled=True), [], [])
    assert off["disabled"] == Line("disabled", "no route", "FRR is not running", None)


@pytest.mark.parametrize(
    ("tables", "field", "agrees"),
    [({"red": "77", "blue": "88"}, "in use", False), ({"red": "88"}, "in use", True), ({}, "vrf", False)],
)
def test_a_route_of_a_vrf_is_looked_up_in_the_table_of_that_vrf(
    tables: dict[str, str], field: str, agrees: bool
) -> None:
    """The same destination by the same gateway is in a table of another VRF, too."""
    red = replace(FAR, vrf="red")
    line = Route(red.destination, red.gateway, None, False, 1, "red").line
    held = RoutesState.whole(frozenset({line}), frozenset({kernel("10.64.0.2", "88")}), frozenset(), True)
    backend = RoutesBackend(cast(Any, _NoFrr()), vrf_tables=lambda: tables)
    found = lines(ROUTES, backend, held, red, [red, Interface("red", vrf_table=77)])
    assert found[field].agrees is agrees


def test_a_disabled_route_that_frr_still_has_does_not_agree() -> None:
    off = replace(FAR, disabled=True)
    assert agreement(told_of_route(off, [], []).values())
    assert wrong(told_of_route(off, [line_of(FAR)], [])) == {"disabled"}


# --- routing protocols ---


def test_a_session_is_told_by_its_own_lines_and_without_its_secret() -> None:
    """Another VRF's block begins with the same words, and another session's address with the same digits."""
    mine, other = ("bgp-neighbor", "a"), ("bgp-neighbor", "b")
    header, green = "router bgp 65000", "router bgp 65000 vrf green"
    rows = (
        "neighbor 192.0.2.1 remote-as 1",
        "neighbor 192.0.2.1 password {a}",
        "neighbor 192.0.2.11 remote-as 1",
    )
    block = Block(
        header,
        tuple((row,) for row in rows),
        daemons=frozenset({"bgpd"}),
        owner=("bgp", "bgp"),
        peers=(Peer(mine, "192.0.2.1", ""), Peer(other, "192.0.2.11", "")),
        secrets=(("a", "sealed"),),
    )
    wanted = {header: block, green: Block(green, daemons=frozenset({"bgpd"}), owner=("bgp", "green"))}
    backend = RoutingBackend(cast(Any, None), {}, lambda _place, _sealed: "hush")

    def told(held: Iterable[tuple[str, ...]], key: tuple[str, str]) -> list[Line]:
        state = RoutingState(frozenset({"bgpd"}), {"bgpd": tuple(held)})
        item = cast(Any, SimpleNamespace(kind=key[0], id=key[1]))
        return list(backend.explain(Held(backend, wanted, state), item, ["the block"]))

    whole = [(header,), *((header, row.replace("{a}", "hush")) for row in rows), (green,)]
    (line,) = told(whole, mine)
    assert line == Line("neighbor 192.0.2.1", f"2 lines of {header}", "FRR has them and no others", True)
    short = [path for path in whole if "password" not in path[-1]]
    (line,) = told(short, mine)
    assert not line.agrees and line.system == f"FRR lacks {header} / neighbor 192.0.2.1 password ***"
    assert [line.agrees for key in (other, ("bgp", "green")) for line in told(short, key)] == [True, True]
    (line,) = told([*whole, (header, "typed by somebody")], ("bgp", "bgp"))
    assert not line.agrees and line.system.endswith("typed by somebody as well")
    (line,) = told(short, ("prefix-list", "p"))
    assert not line.agrees and "hush" not in line.system
