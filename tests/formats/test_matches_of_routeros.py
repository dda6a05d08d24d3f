# SPDX-License-Identifier: Apache-2.0
"""Every property that rules of RouterOS have narrows the rule here as it does there, or the rule is not in
force and says why. Names and values are those of the RouterOS manual (Filter, NAT, Matchers), v6 and v7."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.routeros import LISTS, import_of, of_kind
from weir.formats.routeros.menus.filter import FILTER, FILTER_6
from weir.formats.routeros.menus.nat import NAT
from weir.formats.routeros.menus.table import Menu
from weir.kinds.source_limit import OVER, WITHIN, SourceLimit
from weir.model.limits import DAYS

Json = dict[str, Any]
Taken = dict[str, tuple[Json, ...]]
"""By what a command says, what each of its rules must say here: one of these."""

LISTED = (
    LISTS + "/ip firewall address-list\nadd list=office address=192.0.2.1\n"
    "/ipv6 firewall address-list\nadd list=office address=2001:db8::1\n"
)
LACKED = (
    *("connection-bytes=1-2", "connection-limit=!10,32", "connection-mark=a", "connection-mark=no-mark"),
    *("connection-rate=0-100k", "connection-type=ftp", "content=x", "dscp=64", "dscp=!64"),
    *("dst-address-type=broadcast", "dst-address-type=!local", "src-address-type=local", "fragment=yes"),
    *(
        "dst-limit=1,5,dst-address/1m40s",
        "dst-limit=1,0,src-address",
        "fragment=no",
        "hotspot=auth",
        "in-bridge-port=ether3",
    ),
    *(
        "in-bridge-port-list=GUESTS",
        "out-bridge-port=ether3",
        "out-bridge-port-list=GUESTS",
        "time=8h-18h30s,mon",
        "time=22h-6h,mon",
        "time=8h",
    ),
    *("ingress-priority=1", "ipv4-options=any", "layer7-protocol=x", "nth=2,1", "packet-mark=no-mark"),
    *("packet-size=0-100", "per-connection-classifier=src-address:2/0", "port=53", "priority=1", "random=50"),
    *(
        "psd=21,3s,3,1",
        "routing-mark=a",
        "routing-table=main",
        "src-mac-address=!AA:BB:CC",
        "realm=1",
    ),
    *(
        "connection-nat-state=odd",
        "tcp-flags=syn,!odd",
        "tcp-mss=1-2",
        "tls-host=*.example.com",
        "ttl=equal:1",
        "p2p=all-p2p",
    ),
    *(
        "hop-limit=equal:1",
        "headers=hop:exact",
        "in-interface=!unknown",
        "out-interface=!GUESTS",
        "nonsense=1",
    ),
    *(
        "protocol=!ggp",
        "protocol=ggp",
        "src-address-list=!nobody",
        "dst-address-list=!",
        "protocol=icmp icmp-options=!8:0",
        "place-before=0",
    ),
    *(
        "in-interface=unknown",
        "out-interface=GUESTS",
        "in-interface-list=unknown",
        "out-interface-list=!unknown",
    ),
    *("in-interface-list=none", "out-interface-list=!all", "in-interface-list=dynamic", "limit=10,5:bit"),
    *(
        "ipsec-policy=in,ipsec",
        "ipsec-policy=out,ipsec",
        "ipsec-policy=odd",
        "limit=!10,5",
        "limit=10/1m,5:packet",
    ),
    *(
        "icmp-options=3:4",
        "icmp-options=8:0,0:0",
        "connection-state=",
        "connection-state=!new,odd",
        "log=maybe",
    ),
    *("src-address=example.com", "dst-address=!0.0.0.0/0", "src-address=!::/0", "disabled=maybe"),
    *(
        "protocol=tcp dst-port=!0-65535",
        "protocol=tcp dst-port=http",
        "dst-address-list=",
        "chain=",
        "action=",
    ),
)
NO_MATCH = (
    *(
        "comment=words",
        "disabled=no",
        "log=no",
        "log=yes",
        "log-prefix=words",
        "log-prefix=",
        "hw-offload=no",
    ),
    *("ipsec-policy=in,none", "ipsec-policy=out,none", "in-interface=all", "out-interface=all"),
    *("in-interface-list=all", "out-interface-list=!none", "time=0s-1d"),
)
"""What says nothing about packets, or of all of them."""


def addresses(network: str, host: str, half: str) -> Taken:
    prefix = f"{host}/{128 if ':' in host else 32}"
    return {
        **{f"{side}-address={network}": ({name: [network]},) for side, name in SIDES},
        **{f"{side}-address={host}-{host}": ({name: [prefix]},) for side, name in SIDES},
        **{f"{side}-address=!{half}": ({name: [half], "negated": [name]},) for side, name in SIDES},
        **{f"{side}-address-list=office": ({f"{name}_set": "office"},) for side, name in SIDES},
        **{
            f"{side}-address-list=!office": ({f"{name}_set": "office", "negated": [f"{name}_set"]},)
            for side, name in SIDES
        },
        "protocol=!tcp": ({"protocol": "tcp", "negated": ["protocol"]},),
        "protocol=tcp dst-port=!80,443": ({"ports": ["80", "443"], "negated": ["ports"]},),
        "protocol=tcp dst-port=22,80-90": ({"protocol": "tcp", "ports": ["22", "80-90"]},),
        "protocol=sctp": ({"protocol": "sctp"},),
        "time=8h-18h,tue,mon": ({"time": {"start": "08:00", "end": "18:00", "days": ["mon", "tue"]}},),
        "time=22:00:00-06:00:00,sun,mon,tue,wed,thu,fri,sat": tuple(
            {"time": {"start": start, "end": end, "days": list(DAYS)}}
            for start, end in (("22:00", "24:00"), ("00:00", "06:00"))
        ),
    }


BY_MAC: Taken = {
    "src-mac-address=AA:BB:CC:00:00:01": ({"source_mac": "aa:bb:cc:00:00:01"},),
    "src-mac-address=!AA:BB:CC:00:00:01": ({"source_mac": "aa:bb:cc:00:00:01", "negated": ["source_mac"]},),
}
SIDES = (("src", "source"), ("dst", "destination"))
TAKEN = addresses("192.0.2.0/24", "192.0.2.7", "0.0.0.0/1")
TAKEN_6 = addresses("2001:db8::/64", "2001:db8::7", "::/1")


def of_filters(of_addresses: Taken, icmp: str, echo: int) -> Taken:
    length = 32 if icmp == "icmp" else 128
    whole = {"ipv4_length" if length == 32 else "ipv6_length": length}
    few = asdict(SourceLimit(OVER, connections=10, **whole))
    slow = asdict(SourceLimit(WITHIN, rate=3, per="minute", burst=5, **whole))
    return {
        **of_addresses,
        f"protocol={icmp}": ({"protocol": "icmp"},),
        f"protocol={icmp} icmp-options={echo}:0": ({"protocol": "icmp", "icmp_types": ["echo-request"]},),
        "protocol=ipsec-esp": ({"protocol": "esp"},),
        "protocol=tcp src-port=1024-65535 tcp-flags=syn,!ack,!rst": (
            {
                "source_ports": ["1024-65535"],
                "tcp_flags": ["syn"],
                "tcp_flags_unset": ["ack", "rst"],
            },
        ),
        "dscp=46": ({"dscp": 46},),
        "dscp=!46": ({"dscp": 46, "negated": ["dscp"]},),
        **BY_MAC,
        "protocol=udp src-port=!53": ({"source_ports": ["53"], "negated": ["source_ports"]},),
        f"protocol=!{icmp}": ({"protocol": "icmp", "negated": ["protocol"]},),
        "connection-nat-state=!dstnat": ({"ct_nat": "not-destination"},),
        "connection-nat-state=srcnat,dstnat": ({"ct_nat": "either"},),
        "connection-state=established,related": ({"ct_state": ["established", "related"]},),
        "connection-state=!new,untracked": ({"ct_state": ["established", "related", "invalid"]},),
        "limit=50,5:packet": ({"rate_per_s": 50},),
        "limit=120/1m,10:packet": ({"rate_per_s": 2, "burst": 10},),
        f"connection-limit=10,{length}": ({"source_limit": few},),
        "dst-limit=3/1m,5,src-address/1m40s": ({"source_limit": slow},),
        "in-interface=ether3": ({"in_interface": "ether3"},),
        "out-interface=ether3": ({"out_interface": "ether3"},),
        "in-interface=!ether3": (
            {"in_interface": "ether3", "negated": ["in_interface"]},
            *({"in_interface": f"ether{number}"} for number in (1, 2, 4)),
        ),
        "out-interface=!ether3": (
            {"out_interface": "ether3", "negated": ["out_interface"]},
            *({"out_interface": f"ether{number}"} for number in (1, 2, 4)),
        ),
        "in-interface-list=WAN": ({"source_set": "wan-interfaces"}, {"in_interface": "ether1"}),
        "in-interface-list=!GUESTS": (
            {"source_set": "guests-interfaces", "negated": ["source_set"]},
            *({"in_interface": f"ether{number}"} for number in (1, 2)),
        ),
        "out-interface-list=GUESTS": tuple({"out_interface": f"ether{number}"} for number in (3, 4)),
        "out-interface-list=!GUESTS": tuple({"out_interface": f"ether{number}"} for number in (1, 2)),
    }


def of_nat(side: str) -> Taken:
    """`side` is where a rule of the chain names interfaces."""
    return {
        **TAKEN,
        f"{side}-interface=ether3": ({"interface": "ether3"},),
        f"{side}-interface=!ether3": tuple({"interface": f"ether{number}"} for number in (1, 2, 4)),
        f"{side}-interface-list=GUESTS": tuple({"interface": f"ether{number}"} for number in (3, 4)),
        f"{side}-interface-list=!GUESTS": tuple({"interface": f"ether{number}"} for number in (1, 2)),
    }


class Rules(NamedTuple):
    """`add` is a rule about everything; `no_match` and `lacked` are more of such properties of this menu."""

    menu: Menu
    kind: str
    add: str
    taken: Taken
    no_match: tuple[str, ...] = ()
    lacked: tuple[str, ...] = ()


FILTERS = of_filters(TAKEN, "icmp", 8), of_filters(TAKEN_6, "icmpv6", 128)
ONLY_SOME_ACTIONS = ("reject-with=tcp-reset", "jump-target=more", "address-list=a", "address-list-timeout=1d")
SRC = (
    *("in-interface=ether3", "in-interface-list=WAN", "dst-address-type=local", "connection-state=new"),
    *("connection-limit=10,32", "dst-limit=3/1m,5,src-address/1m40s"),
    *("limit=50,5:packet", "randomise-ports=yes", "same-not-by-dst=yes", "to-ports=1-9", "to-addresses=a"),
    *("src-port=53", "dscp=46", "tcp-flags=syn,!ack", "connection-nat-state=srcnat"),
    *("jump-target=more", "address-list=a", "protocol=icmp", "to-addresses=192.0.2.1-192.0.2.9"),
)
DST = tuple(said.replace("in-interface", "out-interface") for said in SRC if "address-type" not in said)
EVERY_RULE = (
    *(
        Rules(FILTER, "firewall-rule", f"forward action={action}", FILTERS[0], ONLY_SOME_ACTIONS)
        for action in ("accept", "drop")
    ),
    Rules(FILTER_6, "firewall-rule", "forward action=drop", FILTERS[1], ONLY_SOME_ACTIONS),
    *(
        Rules(
            *(NAT, "nat-rule", f"srcnat action={action}", of_nat("out")),
            no_match=("randomise-ports=no",),
            lacked=(*SRC, *BY_MAC),
        )
        for action in ("masquerade", "accept")
    ),
    *(
        Rules(NAT, "nat-rule", f"dstnat action={action}", of_nat("in") | BY_MAC, (), DST)
        for action in ("redirect", "dst-nat to-addresses=10.0.0.5")
    ),
    Rules(NAT, "nat-rule", "dstnat action=accept", of_nat("in"), (), (*DST, *BY_MAC)),
)
IDS = [f"{rules.menu.path} {rules.add}" for rules in EVERY_RULE]


def names(said: str) -> set[str]:
    return {word.partition("=")[0] for word in said.split()}


def says(rule: Json, item: Json) -> bool:
    """Whether a rule has these fields with these values, and of them turns these and no others round."""
    fields = {key: value for key, value in item.items() if key != "negated"}
    return fields.items() <= rule.items() and fields.keys() & {*rule.get("negated", ())} == {
        *item.get("negated", ())
    }


def assert_not_wider(rules: Rules, said: str, must: list[tuple[Json, ...]], lacked: set[str]) -> None:
    """A rule that says this is in force only where each of its rules says one of each of `must`. One that
    lacks something is not, and its line names it."""
    report = import_of(f"{LISTED}{rules.menu.path}\nadd chain={rules.add} {said}\n")
    in_force = [rule for rule in of_kind(report, rules.kind) if not rule.get("disabled")]
    for rule in in_force:
        for choice in must:
            assert any(says(rule, item) for item in choice), (rule, choice)
    line = report.lines[-1]
    if lacked:
        assert in_force == []
        assert line.fate in ("warning", "left-out")
        named = any(name in line.reason for name in lacked)
        assert named or line.code in (
            "no-ipsec",
            "empty-list",
            "bad-choice",
            "ports-without-protocol",
            "words",
        ), line
    elif not in_force:
        assert line.fate in ("warning", "left-out")
        assert line.reason


@pytest.mark.parametrize("rules", EVERY_RULE, ids=IDS)
def test_every_property_that_is_taken_narrows_the_rule(rules: Rules) -> None:
    for said, choice in rules.taken.items():
        assert_not_wider(rules, said, [choice], set())


@pytest.mark.parametrize("rules", EVERY_RULE, ids=IDS)
def test_a_property_that_weir_lacks_keeps_the_rule_out_of_force(rules: Rules) -> None:
    for said in (*LACKED, *rules.lacked):
        assert_not_wider(rules, said, [], names(said))


@pytest.mark.parametrize("rules", EVERY_RULE, ids=IDS)
def test_a_property_without_a_value_is_not_one_that_matches_all(rules: Rules) -> None:
    says_nothing = {name for said in (*NO_MATCH, *rules.no_match) for name in names(said)}
    for said in (*LACKED, *rules.lacked, *rules.taken):
        for name in names(said) - says_nothing:
            assert_not_wider(rules, f'{name}=""', [], {name})
            assert_not_wider(rules, name, [], {name})


@pytest.mark.parametrize("rules", EVERY_RULE, ids=IDS)
def test_what_says_nothing_about_packets_keeps_no_rule_out_of_force(rules: Rules) -> None:
    for said in (*NO_MATCH, *rules.no_match):
        if names(said) & {name for item in rules.lacked for name in names(item)}:
            continue
        report = import_of(f"{LISTED}{rules.menu.path}\nadd chain={rules.add} {said}\n")
        assert any(not rule.get("disabled") for rule in of_kind(report, rules.kind)), said


@pytest.mark.parametrize("rules", EVERY_RULE, ids=IDS)
def test_every_property_that_the_importer_knows_is_looked_at_here(rules: Rules) -> None:
    said = {
        name
        for item in (*LACKED, *NO_MATCH, *rules.taken, *rules.no_match, *rules.lacked)
        for name in names(item)
    }
    assert {*rules.menu.fields, *rules.menu.usual} <= said


@given(data=st.data())
def test_several_properties_together_all_narrow_the_rule(data: st.DataObject) -> None:
    rules = data.draw(st.sampled_from(EVERY_RULE))
    taken = data.draw(st.lists(st.sampled_from(sorted(rules.taken)), min_size=1, max_size=5))
    others = data.draw(st.lists(st.sampled_from((*LACKED, *NO_MATCH, *rules.lacked)), max_size=2))
    said: list[str] = []
    for item in (*taken, *others):
        if not names(item) & {name for before in said for name in names(before)}:
            said.append(item)
    must = [rules.taken[item] for item in said if item in rules.taken]
    lacked = {name for item in said if item in (*LACKED, *rules.lacked) for name in names(item)}
    assert_not_wider(rules, " ".join(said), must, lacked)
