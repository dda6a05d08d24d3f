# SPDX-License-Identifier: Apache-2.0
"""Which ports are fast where our rules see forwarded packets, with a flow table to ask and without."""

from __future__ import annotations

from typing import Any

import pytest

from weir.adapters import nft
from weir.adapters.datapath_records import ANY_SIZE, Role
from weir.adapters.netlink import Link
from weir.adapters.xdp_features import ALL, XdpFeature
from weir.backends.fast import Around, FastPaths, Sight
from weir.backends.firewall import FirewallWanted, table_of
from weir.backends.modes import Decision
from weir.compiler.types import PortSpec
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.source_limit import SourceLimit
from weir.model.document import Document
from weir.parts.firewall import FIREWALL
from weir.parts.rule import Lookup, PacketRule, SourceBound

NO_FLOWS = "the kernel has no such function"
NAT = (
    PacketRule("input", "drop", "to the router", in_interfaces=("wan0",)),
    PacketRule("forward", "drop", "from a WAN", in_interfaces=("wan0",)),
    PacketRule("postrouting", "masquerade", "NAT", out_interfaces=("wan0",), family=4),
)
INPUT_ONLY = NAT[:1]


def around(sight: Sight, *names: str) -> Around:
    links = {
        name: Link(name, 2 + at, "physical", "", 1500, True, True, True, 1, "", 0, 0, {})
        for at, name in enumerate(names)
    }
    return Around(links, {name: PortSpec(name, "lan", "auto", 0, 0) for name in names}, sight)


def fast(here: Around, flow_reason: str) -> dict[str, Role]:
    paths = FastPaths(flow_reason, lambda _: ALL, lambda _: False)
    return {name: paths.decide(here.ports[name], Decision("edt", ""), here).fast for name in here.ports}


def test_without_a_flow_table_ports_that_no_rule_names_are_fast_among_themselves() -> None:
    here = around(Sight.of(NAT, ""), "lan0", "net0", "wan0")
    assert fast(here, NO_FLOWS) == {"lan0": Role.FAST, "net0": Role.FAST, "wan0": Role.NOTHING}


def test_an_uplink_that_connections_keep_is_fast_only_for_established_ones() -> None:
    wan0 = around(Sight.of(NAT, ""), "lan0", "wan0").links["wan0"].index
    paths = FastPaths(
        "",
        lambda _: ALL,
        lambda _: False,
        lambda index: 0 if index == wan0 else ANY_SIZE,
        keeps=lambda index: index == wan0,
    )

    def decided(sight: Sight) -> list[Decision]:
        here = around(sight, "lan0", "wan0")
        return [paths.decide(here.ports[port], Decision("edt", ""), here) for port in here.ports]

    translated, plain = decided(Sight.of(NAT, "")), decided(Sight.of([], ""))
    assert [one.fast for one in translated] == [Role.FAST | Role.FLOW] * 2
    assert [one.fast for one in plain] == [Role.FAST, Role.NOTHING]
    assert all("connections keep their uplink" in found[1].fast_reason for found in (translated, plain))


def test_devices_are_asked_once_in_a_reading() -> None:
    """For the change of one rule all ports are decided on six times, and each asking is a request."""
    asked: list[object] = []

    def features(ifindex: int) -> XdpFeature:
        asked.append(ifindex)
        return ALL

    def checks_strictly(ifname: str) -> bool:
        asked.append(ifname)
        return False

    paths = FastPaths("", features, lambda _: False, checks_strictly=checks_strictly)
    for _reading in range(2):
        asked.clear()
        here = around(Sight.of(NAT, ""), "lan0", "wan0")
        for name in [*here.ports] * 6:
            paths.decide(here.ports[name], Decision("edt", ""), here)
        assert sorted(map(str, asked)) == ["2", "3", "lan0", "wan0"]


def test_one_port_alone_has_nothing_to_forward_to() -> None:
    assert set(fast(around(Sight.of(NAT, ""), "lan0", "wan0"), NO_FLOWS).values()) == {Role.NOTHING}


def test_with_a_flow_table_all_ports_ask_it() -> None:
    found = fast(around(Sight.of(NAT, ""), "lan0", "net0", "wan0"), "")
    assert set(found.values()) == {Role.FAST | Role.FLOW}


@pytest.mark.parametrize("chain", ["forward", "postrouting"])
def test_a_rule_that_names_no_interface_holds_for_all(chain: str) -> None:
    rules = (*NAT, PacketRule(chain, "drop", "anybody", protocol="tcp"))  # type: ignore[arg-type]
    assert set(fast(around(Sight.of(rules, ""), "lan0", "net0", "wan0"), NO_FLOWS).values()) == {Role.NOTHING}


def test_members_of_a_vrf_are_named_as_well() -> None:
    rules = (PacketRule("forward", "drop", "from a WAN", in_members=("wan0",)),)
    found = fast(around(Sight.of(rules, ""), "lan0", "net0", "wan0"), NO_FLOWS)
    assert (found["wan0"], found["lan0"]) == (Role.NOTHING, Role.FAST)


@pytest.mark.parametrize(("states", "is_fast"), [((), False), (("established",), False), (("new",), True)])
def test_a_rule_that_sets_the_dscp_sees_each_packet(states: tuple[str, ...], is_fast: bool) -> None:
    sets = PacketRule("forward", "set-dscp", "f1", family=4, new_dscp=46, ct_states=states, counter="r_f1")
    sight = Sight.of((sets,), "")
    assert sight.each == ("" if is_fast else "rule f1 sets the DSCP of each packet")
    assert (Role.NOTHING in fast(around(sight, "lan0", "wan0"), "").values()) is not is_fast


@pytest.mark.parametrize("field", ["in_interfaces", "out_interfaces"])
def test_a_rule_about_all_but_one_interface_holds_for_the_others(field: str) -> None:
    rules = (PacketRule("forward", "drop", "f1", **{field: ("wan0",)}, negated=(field,)),)  # type: ignore[arg-type]
    found = fast(around(Sight.of(rules, ""), "lan0", "net0", "wan0"), NO_FLOWS)
    assert set(found.values()) == {Role.NOTHING}


def test_rules_on_what_is_for_the_router_hide_nothing() -> None:
    found = fast(around(Sight.of(INPUT_ONLY, ""), "lan0", "wan0"), NO_FLOWS)
    assert set(found.values()) == {Role.FAST}


def test_somebody_elses_chain_hides_everything() -> None:
    here = around(Sight.of(NAT, "chain f of the nftables table ip x"), "lan0", "net0", "wan0")
    assert set(fast(here, NO_FLOWS).values()) == {Role.NOTHING}


CONFIGURED = PacketRule("forward", "drop", "f1", sources=("10.64.0.2/32",), family=4, counter="r_f1")


def test_a_configured_rule_without_an_interface_is_seen_by_all_forwarded_packets() -> None:
    here = around(Sight.of((*NAT, CONFIGURED), ""), "lan0", "net0", "wan0")
    assert set(fast(here, NO_FLOWS).values()) == {Role.NOTHING}
    assert set(fast(here, "").values()) == {Role.FAST | Role.FLOW}


@pytest.mark.parametrize(
    "rule",
    [
        PacketRule("forward", "drop", "f1", rate_per_s=7, burst=1, counter="r_f1"),
        PacketRule("forward", "add-to-set", "f1", family=4, target="d4_60_9_x", counter="r_f1"),
        PacketRule("forward", "drop", "f1", lookups=(Lookup("saddr", "d4_60_9_x", 4, 32, True),)),
        PacketRule("forward", "accept", "f1", bounds=(SourceBound("d4_60_9_x", 4, 32, rate=3),)),
        PacketRule("forward", "drop", "f1", dscp=0, family=4, counter="r_f1"),
        PacketRule("forward", "drop", "f1", protocol="tcp", flags=("rst",), counter="r_f1"),
        PacketRule("forward", "drop", "f1", protocol="tcp", flags_unset=("ack",), ct_states=("established",)),
    ],
)
def test_a_rule_that_judges_each_packet_leaves_none_to_xdp(rule: PacketRule) -> None:
    sight = Sight.of((*NAT, rule), "")
    assert set(fast(around(sight, "lan0", "net0", "wan0"), "").values()) == {Role.NOTHING}
    assert "f1" in sight.each


def raw(name: str, action: str, **said: Any) -> FirewallRule:
    return FirewallRule(name, "raw/prerouting", action, **said)


BAD = FirewallRule("f1", "bad", "drop", source=("192.0.2.0/24",))


@pytest.mark.parametrize(
    "rules",
    [
        [raw("f1", "drop", in_interface="wan0")],
        [raw("f1", "drop", protocol="udp", log=True)],
        [raw("f1", "notrack", protocol="udp", ports=("53",))],
        [raw("j1", "jump", jump_to="bad"), BAD],
        [raw("f1", "accept", source=("192.0.2.0/24",))],
        [raw("f1", "drop", protocol="gre", log=True)],
    ],
    ids=["drop", "log", "notrack", "jump", "accepts", "no TCP or UDP"],
)
def test_what_passed_before_tracking_in_both_directions_is_left_to_xdp(rules: list[FirewallRule]) -> None:
    """Who enters the flow table is said there (test_flow_entry.py)."""
    sight = Sight.of((*NAT, *FIREWALL.wanted(Document(rules))), "")
    assert not sight.each
    assert set(fast(around(sight, "lan0", "net0", "wan0"), "").values()) == {Role.FAST | Role.FLOW}


@pytest.mark.parametrize(
    "said", [{"rate_per_s": 5}, {"protocol": "tcp", "tcp_flags": ("syn",)}, {"dscp": 8}], ids=str
)
def test_what_judges_each_packet_before_tracking_leaves_none_to_xdp(said: dict[str, Any]) -> None:
    sight = Sight.of((*NAT, *FIREWALL.wanted(Document([raw("f1", "drop", **said)]))), "")
    assert "rule f1" in sight.each
    assert set(fast(around(sight, "lan0", "net0", "wan0"), "").values()) == {Role.NOTHING}


def test_a_limit_of_connections_leaves_those_that_exist_to_xdp() -> None:
    rule = FirewallRule("f1", "forward", "drop", source_limit=SourceLimit(connections=3))
    sight = Sight.of((*NAT, *FIREWALL.wanted(Document([rule]))), "")
    assert not sight.each


def test_a_rule_about_segments_that_begin_connections_leaves_those_that_exist_to_xdp() -> None:
    rule = FirewallRule("f1", "forward", "drop", protocol="tcp", tcp_flags=("syn",), ct_state=("new",))
    sight = Sight.of((*NAT, *FIREWALL.wanted(Document([rule]))), "")
    assert set(fast(around(sight, "lan0", "net0", "wan0"), "").values()) == {Role.FAST | Role.FLOW}


def test_connections_are_known_to_xdp_behind_what_people_configured() -> None:
    established = PacketRule("forward", "accept", "f2", ct_states=("established", "related"), counter="r_f2")
    table = table_of(FirewallWanted((CONFIGURED, established, *NAT), ("lan0", "wan0")))
    assert table is not None
    assert [comment for comment, _ in table.chains["forward"].rules] == [
        "f1",
        "connections that passed in their first direction",
        "connections that XDP may forward",
        "f2",
        "from a WAN",
    ]
    table = table_of(FirewallWanted((CONFIGURED, *NAT), ("lan0", "wan0")))
    assert table is not None
    assert [comment for comment, _ in table.chains["forward"].rules][:3] == [
        "f1",
        "connections that passed in their first direction",
        "connections that XDP may forward",
    ]


def test_the_flow_table_is_emptied_when_a_chain_of_forwarded_packets_changes() -> None:
    held = table_of(FirewallWanted(NAT, ("lan0", "wan0")))
    wanted = table_of(FirewallWanted((CONFIGURED, *NAT), ("lan0", "wan0")))
    steps = [(verb, *what) for step in nft.commands(held, wanted) for verb, what in step.items()]
    order = [(verb, kind) for verb, kind in steps if kind == "flowtable" or verb == "flush"]
    assert order == [("flush", "chain"), ("delete", "flowtable"), ("add", "flowtable")]
    other = table_of(FirewallWanted((*NAT[1:], PacketRule("input", "accept", "x")), ("lan0", "wan0")))
    assert not any("flowtable" in what for step in nft.commands(held, other) for what in step.values())
