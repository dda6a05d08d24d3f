# SPDX-License-Identifier: Apache-2.0
"""Firewall rules: what is refused, their order, and how a change of one is compiled."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.toys import Toy, toy
from tests.model.strategies import patient
from weir.backends.nft_rules import texts
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.zone import Zone
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.limits import DAYS
from weir.model.links import Bridge
from weir.model.objects import ConfigObject
from weir.model.rules import validate
from weir.model.tunnels import Gre
from weir.parts import filter as filters
from weir.parts.firewall import FIREWALL


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(
        Path(tmp_path_factory.mktemp("rules")),
    ) as found:
        for path, body in (
            ("/sets/blocked", {}),
            ("/sets/seen", {"source": "dynamic"}),
            ("/sets/web", {"type": "port"}),
            ("/sets/sides", {"type": "interface"}),
            ("/services/sip", {"protocol": "tcp-udp", "ports": ["5060-5061"]}),
        ):
            assert found.api("PUT", path, body).status_code == 201
        yield found


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"chain": "no such"}, "bad-id"),
        ({"action": "jump"}, "bad-jump"),
        ({"action": "jump", "jump_to": "input"}, "bad-jump"),
        ({"chain": "a", "action": "jump", "jump_to": "a"}, "jump-loop"),
        ({"jump_to": "guests"}, "jump-without-action"),
        ({"action": "add-to-set"}, "add-set"),
        ({"action": "add-to-set", "add_set": "blocked"}, "static-set"),
        ({"add_set": "seen"}, "add-set"),
        ({"source_set": "web"}, "wrong-type"),
        ({"source_set": "nowhere"}, "unknown-set"),
        ({"service": "nowhere"}, "unknown-service"),
        ({"service": "sip", "protocol": "tcp"}, "service-and-ports"),
        ({"ports": ["80"]}, "ports-without-protocol"),
        ({"source_ports": ["53"]}, "ports-without-protocol"),
        ({"service": "sip", "source_ports": ["53"]}, "ports-without-protocol"),
        ({"protocol": "tcp-udp", "tcp_flags": ["syn"]}, "flags-without-tcp"),
        ({"tcp_flags_unset": ["ack"]}, "flags-without-tcp"),
        ({"protocol": "tcp", "tcp_flags": ["syn"], "tcp_flags_unset": ["ack", "syn"]}, "matches-nothing"),
        ({"protocol": "tcp", "tcp_flags": ["new"]}, "bad-choice"),
        ({"dscp": 64}, "bad-number"),
        ({"dscp": "ef"}, "bad-number"),
        ({"ct_nat": "both"}, "bad-choice"),
        ({"source_mac": "01:00:5e:00:00:01"}, "bad-mac"),
        ({"chain": "output", "source_mac": "02:00:5e:10:00:07"}, "wrong-chain"),
        ({"negated": ["source"]}, "nothing-negated"),
        ({"action": "set-dscp"}, "new-dscp"),
        ({"new_dscp": 46}, "new-dscp"),
        ({"action": "set-dscp", "new_dscp": 64}, "bad-number"),
        ({"chain": "raw/prerouting", "action": "set-dscp", "new_dscp": 46}, "wrong-chain"),
        ({"negated": ["protocol"]}, "nothing-negated"),
        ({"negated": ["ct_state"], "ct_state": ["new"]}, "bad-choice"),
        ({"negated": ["source"], "source": ["0.0.0.0/0", "::/0"]}, "matches-nothing"),
        ({"negated": ["source"], "source": ["0.0.0.0/0"], "family": "ipv4"}, "matches-nothing"),
        ({"negated": ["source"], "source": ["2001:db8::/32"], "family": "ipv4"}, "family-mismatch"),
        ({"negated": ["protocol"], "protocol": "tcp", "ports": ["80"]}, "ports-without-protocol"),
        ({"negated": ["protocol"], "protocol": "tcp", "tcp_flags": ["syn"]}, "flags-without-tcp"),
        ({"negated": ["protocol"], "protocol": "icmp", "icmp_types": ["echo-request"]}, "icmp-types"),
        ({"negated": ["ports"], "protocol": "tcp", "ports": ["1-100", "101-65535"]}, "matches-nothing"),
        ({"action": "notrack"}, "wrong-chain"),
        ({"chain": "raw/prerouting", "action": "reject"}, "wrong-chain"),
        ({"chain": "raw/prerouting", "out_interface": "lan0"}, "wrong-chain"),
        ({"chain": "raw/prerouting", "ct_state": ["new"]}, "wrong-chain"),
        ({"chain": "raw/prerouting", "ct_nat": "neither"}, "wrong-chain"),
        ({"chain": "raw/prerouting", "source_limit": {"connections": 3}}, "wrong-chain"),
        ({"action": "jump", "jump_to": "raw/prerouting"}, "bad-id"),
        ({"icmp_types": ["echo-request"]}, "icmp-types"),
        ({"source": ["192.0.2.0/24"], "source_set": "blocked"}, "prefixes-and-set"),
        ({"source": ["192.0.2.0/24"], "family": "ipv6"}, "family-mismatch"),
        ({"chain": "output", "in_interface": "lan0"}, "wrong-chain"),
        ({"source": ["192.0.2.0/24"], "destination": ["2001:db8::/32"]}, "matches-nothing"),
        ({"family": "ipv4", "protocol": "icmp", "icmp_types": ["packet-too-big"]}, "matches-nothing"),
        ({"chain": "output", "source_set": "sides"}, "wrong-chain"),
        ({"action": "return", "log": True}, "return-too-much"),
        ({"protocol": "carrier-pigeon"}, "bad-choice"),
        ({"ct_state": ["sleepy"]}, "bad-choice"),
        ({"protocol": "tcp", "ports": ["9-8"]}, "bad-ports"),
        ({"state": "new"}, "read-only"),
        ({"packets": 7}, "read-only"),
        ({"rate_per_s": 0}, "bad-number"),
        ({"time": {"start": "22:00", "end": "06:00"}}, "bad-time"),
        ({"time": {"start": "8"}}, "bad-time"),
        ({"time": {"days": []}}, "bad-time"),
        ({"source": ["192.0.2.1/24"]}, "host-bits-set"),
        ({"from_zone": "lan", "in_interface": "lan0"}, "interface-and-zone"),
        ({"from_zone": "nowhere"}, "unknown-zone"),
        ({"from_zone": "lan", "chain": "output"}, "wrong-chain"),
        ({"to_zone": "wan", "chain": "input"}, "wrong-chain"),
        ({"to_zone": "wan", "chain": "raw/prerouting"}, "wrong-chain"),
        ({"source_limit": {}}, "limit-missing"),
        ({"source_limit": {"connections": 0}}, "bad-number"),
        ({"source_limit": {"rate": 3, "per": "fortnight"}}, "bad-choice"),
        ({"source_limit": {"rate": 3, "ipv4_length": 33}}, "bad-number"),
        ({"source_limit": {"rate": 3}, "action": "accept"}, "limit-lets-pass"),
        ({"source_limit": {"rate": 3, "match": "within"}}, "limit-lets-pass"),
        ({"source_limit": {"rate": 3}, "action": "return", "chain": "a"}, "return-too-much"),
        ({"source_limit": {"connections": 3}, "ct_state": ["established"]}, "connections-not-new"),
    ],
)
def test_what_no_rule_can_be_is_refused_by_its_field(router: Toy, said: dict[str, Any], code: str) -> None:
    answer = router.api("POST", "/firewall-rules", {"chain": "forward", "action": "drop", **said})
    assert answer.status_code == 422, answer.json
    assert code in {finding["code"] for finding in answer.json["findings"]}, answer.json


def test_rules_have_an_order_within_their_chain_and_move(router: Toy) -> None:
    for name, chain in (("one", "forward"), ("other", "input"), ("two", "forward"), ("three", "forward")):
        body = {"chain": chain, "action": "accept", "protocol": "tcp"}
        assert router.api("PUT", f"/firewall-rules/{name}", body).status_code == 201
    etag = router.api("GET", "/firewall-rules/three").json["etag"]
    moved = router.api("POST", "/firewall-rules/three/move", {"before": "one"}, etag=etag)
    assert moved.status_code == 200, moved.text
    listed = [item["id"] for item in router.api("GET", "/firewall-rules").json["items"]]
    assert listed == ["three", "one", "two", "other"], "chain by chain"
    paged, cursor = [], ""
    while cursor is not None:
        answer = router.api("GET", f"/firewall-rules?limit=1{cursor and f'&cursor={cursor}'}").json
        paged += [item["id"] for item in answer["items"]]
        cursor = answer["next_cursor"]
    assert paged == listed
    assert "three" in router.weir("rule", "list")


def test_where_no_packet_has_a_hardware_address_a_rule_about_one_says_so() -> None:
    """Also when the interface becomes another one, or the set holds others."""
    tunnel, bridge = Interface("t0", gre=Gre("192.0.2.1")), Interface("t0", bridge=Bridge())
    addresses, macs = Set("hosts"), Set("hosts", "mac")
    by_mac = FirewallRule("m1", "forward", "drop", in_interface="t0", source_mac="02:00:5e:10:00:07")
    by_set = FirewallRule("m2", "forward", "drop", in_interface="t0", source_set="hosts")

    def unseen(change: Change, *objects: ConfigObject) -> list[str]:
        return sorted(item.path for item in validate(Document(objects), [change]) if item.code == "no-mac")

    m1, m2 = "firewall-rule/m1/source_mac", "firewall-rule/m2/source_set"
    for item, path in ((by_mac, m1), (by_set, m2)):
        change = Change("firewall-rule", item.id, None, item)
        assert unseen(change, tunnel, macs, item) == [path]
        assert unseen(change, bridge, macs, item) == []
    turned = Change("interface", "t0", bridge, tunnel)
    assert unseen(turned, tunnel, macs, by_mac, by_set) == [m1, m2]
    assert unseen(Change("set", "hosts", addresses, macs), tunnel, macs, by_mac, by_set) == [m2]
    assert unseen(turned, tunnel, addresses, by_set) == []


def test_a_rule_about_a_zone_is_about_the_interfaces_that_it_has() -> None:
    """With none it matches nothing, or, turned round, anything; either is said, also when it becomes so."""
    lan, guests = Interface("lan0", "lan"), Interface("lan1", "guests")
    rule = FirewallRule("z1", "forward", "drop", from_zone="guests", to_zone="lan")
    outside = replace(rule, id="z2", to_zone=None, negated=("from_zone",))

    def ways(*objects: ConfigObject) -> list[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
        found = filters.configured(Document((Zone("guests"), rule, outside, *objects)), {})
        return [(at.comment, at.in_interfaces, at.out_interfaces, at.negated) for at in found]

    assert ways(lan, guests) == [
        ("z1", ("lan1",), ("lan0",), ()),
        ("z2", ("lan1",), (), ("in_interfaces",)),
    ]
    assert ways(lan, guests, Interface("lan2", "guests"))[0] == ("z1", ("lan1", "lan2"), ("lan0",), ())
    assert ways(lan, replace(guests, disabled=True)) == [("z2", (), (), ())]
    document = Document((Zone("guests"), lan, rule, outside))
    moved = Change("interface", "lan1", guests, None)
    told = [item.path for item in validate(document, [moved]) if item.code == "empty-zone"]
    assert sorted(told) == ["firewall-rule/z1/from_zone", "firewall-rule/z2/from_zone"]


def test_all_but_the_prefixes_of_one_family_are_all_packets_of_the_other() -> None:
    """And what is in none of the kernel's sets is in no part of a set."""
    some = FirewallRule("f1", "forward", "drop", source=("10.0.0.0/8",), negated=("source",))
    found = {
        rule.family: (rule.sources, rule.negated) for rule in filters.compiled(some, (), None, (None, None))
    }
    assert found == {4: (("10.0.0.0/8",), ("sources",)), 6: ((), ())}
    all_of_one = replace(some, source=("0.0.0.0/1", "128.0.0.0/1"))
    assert [rule.family for rule in filters.compiled(all_of_one, (), None, (None, None))] == [6]
    types = replace(some, source=(), protocol="icmp", icmp_types=("redirect",), negated=("icmp_types",))
    of_types = {
        rule.protocol: (rule.icmp_types, rule.negated)
        for rule in filters.compiled(types, (), None, (None, None))
    }
    assert of_types == {"icmp": (("redirect",), ("icmp_types",)), "icmpv6": ((), ())}
    by_set = replace(some, source=(), source_set="hosts", negated=("source_set",))
    entries = (SetEntry("h1", "hosts", "192.0.2.0/24"), SetEntry("h2", "hosts", "192.0.2.7/32"))
    rules = [
        rule for rule in FIREWALL.wanted(Document((Set("hosts"), *entries, by_set))) if rule.is_configured
    ]
    assert [[(at.length, at.negated) for at in rule.lookups] for rule in rules] == [
        [(32, True), (24, True)],
        [],
    ]
    off = Document((Set("hosts", disabled=True), *entries, by_set))
    assert not [rule for rule in FIREWALL.wanted(off) if rule.is_configured]


def test_what_is_not_by_an_interface_is_by_neither_of_its_names() -> None:
    vrf = (Interface("blue", vrf_table=7), Interface("lan0", "lan", vrf="blue"))
    sides = (Set("sides", "interface"), SetEntry("s1", "sides", "lan0"))
    one = FirewallRule("one", "forward", "drop", in_interface="lan0", negated=("in_interface",))
    several = FirewallRule("several", "forward", "drop", source_set="sides", negated=("source_set",))
    rules = [rule for rule in FIREWALL.wanted(Document((*vrf, *sides, one, several))) if rule.is_configured]
    assert [(rule.in_interfaces, rule.in_members) for rule in rules] == [(("lan0",), ("lan0",)), ((), ())]
    assert [at.what for at in rules[1].lookups] == ["iifname", "sdifname"]
    those = replace(several, negated=())
    rules = [rule for rule in FIREWALL.wanted(Document((*vrf, *sides, those))) if rule.is_configured]
    assert [[at.what for at in rule.lookups] for rule in rules] == [["iifname"], ["sdifname"]], "by either"
    from_lan = replace(those, from_zone="lan")
    rules = [rule for rule in FIREWALL.wanted(Document((*vrf, *sides, from_lan))) if rule.is_configured]
    met = [(rule.in_interfaces, rule.in_members, rule.lookups[0].what) for rule in rules]
    assert met == [
        (("lan0",), (), "iifname"),
        (("lan0",), (), "sdifname"),
        ((), ("lan0",), "iifname"),
        ((), ("lan0",), "sdifname"),
    ]
    chain = replace(several, chain="mine")
    leads = (
        FirewallRule("a", "raw/prerouting", "jump", jump_to="mine"),
        FirewallRule("b", "input", "jump", jump_to="mine"),
    )
    found = validate(
        Document((*vrf, *sides, chain, *leads)), [Change("firewall-rule", "several", None, chain)]
    )
    assert ("wrong-chain", "firewall-rule/several/source_set") in {(item.code, item.path) for item in found}


def test_what_locks_out_is_a_warning(router: Toy) -> None:
    made = router.api("POST", "/firewall-rules", {"chain": "input", "action": "drop"})
    assert [item["code"] for item in made.json["warnings"]] == ["locks-out"]
    body = {"chain": "input", "action": "drop", "time": {"start": "22:00", "days": ["sun", "sat"]}}
    (found,) = router.api("POST", "/firewall-rules", body).json["warnings"]
    assert found["code"] == "locks-out" and "at 22:00-24:00 sat,sun" in found["message"]


def test_hours_are_typed_shown_and_found_as_those_of_queues(router: Toy) -> None:
    """One message says how to make a night, and hours that are always are none."""
    router.weir("rule", "add", "forward", "drop", "--id", "night", "--time", "22:00-24:00 sat,sun")
    held = router.api("GET", "/firewall-rules/night").json
    assert held["time"] == {"start": "22:00", "end": "24:00", "days": ["sat", "sun"]}
    assert "forward drop: rule night, at 22:00-24:00 sat,sun" in router.weir("firewall", "ruleset")
    refused = router.api(
        "PATCH", "/firewall-rules/night", {"time": {"start": "22:00", "end": "06:00"}}, etag=held["etag"]
    )
    assert "make two rules" in refused.text
    whole = {"start": "00:00", "end": "24:00", "days": list(DAYS)}
    always = router.api("PATCH", "/firewall-rules/night", {"time": whole}, etag=held["etag"])
    assert always.json["time"] is None


def test_a_rule_whose_set_or_service_is_disabled_is_named_in_a_warning(router: Toy) -> None:
    router.api("PUT", "/sets/off", {"disabled": True})
    body = {"chain": "forward", "action": "drop", "source_set": "off"}
    made = router.api("PUT", "/firewall-rules/idle", body)
    assert [item["code"] for item in made.json["warnings"]] == ["set-disabled"], made.json


def test_what_a_rule_names_is_not_deleted(router: Toy) -> None:
    body = {"chain": "forward", "action": "drop", "source_set": "blocked"}
    assert router.api("PUT", "/firewall-rules/block", body).status_code == 201
    etag = router.api("GET", "/sets/blocked").json["etag"]
    refused = router.api("DELETE", "/sets/blocked", etag=etag)
    assert refused.status_code >= 400 and "still named by" in refused.text


SETS = (Set("bad"), Set("seen", source="dynamic"))
RULES = (
    FirewallRule("r1", "forward", "drop", source_set="bad"),
    FirewallRule("r2", "forward", "add-to-set", add_set="seen"),
    FirewallRule("r3", "input", "accept", destination_set="bad", log=True),
)


@patient
@given(st.randoms(use_true_random=False))
def test_entries_change_the_rules_as_the_whole_document_would(rng: random.Random) -> None:
    document = Document([*SETS, *RULES])
    state = FIREWALL.wanted(document)
    for _ in range(20):
        name, value = (
            f"e{rng.randrange(5)}",
            rng.choice(["192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32", "10.1.0.0/16"]),
        )
        new = None if rng.random() < 0.4 else SetEntry(name, "bad", value, disabled=rng.random() < 0.2)
        change = Change("set-entry", name, document.get("set-entry", name), new)
        document.apply([change])
        state, _ = FIREWALL.moved(state, document, [change])
        whole = FIREWALL.wanted(document)
        assert state == whole and state.lengths == whole.lengths


def test_of_many_rules_the_one_that_changes_is_compiled() -> None:
    document = Document([Set("bad"), Service("web", ("80",)), SetEntry("e", "bad", "192.0.2.0/24")])
    for n in range(300):
        source = (f"10.7.{n >> 8}.{n & 255}/32",)
        document.put(FirewallRule(f"many{n}", "forward", "drop", n, source=source, destination_set="bad"))
    state = FIREWALL.wanted(document)
    assert all(texts(rule) for rule in state)
    old = document.get("firewall-rule", "many7")
    assert isinstance(old, FirewallRule)
    change = Change("firewall-rule", "many7", old, replace(old, source=("10.8.0.0/16",)))
    document.apply([change])
    compiled, written = filters.compiled.cache_info().misses, texts.cache_info().misses
    after, _ = FIREWALL.moved(state, document, [change])
    assert all(texts(rule) for rule in after) and after != state
    assert filters.compiled.cache_info().misses - compiled == 1
    assert texts.cache_info().misses - written == 1


def test_what_a_rule_names_is_no_rule_of_before() -> None:
    """What is remembered of a rule is what it becomes with these sets and this service."""
    rule = FirewallRule("s", "forward", "drop", service="web", source_set="bad")
    document = Document([Set("bad"), Service("web", ("80",)), SetEntry("e", "bad", "192.0.2.0/24"), rule])
    before = FIREWALL.wanted(document)
    document.put(Service("web", ("443",)))
    other = FIREWALL.wanted(document)
    document.put(replace(Service("web", ("443",)), disabled=True))
    assert before != other and FIREWALL.wanted(document) == ()
    document.put(Service("web", ("80",)))
    document.put(SetEntry("f", "bad", "192.0.2.128/25"))
    assert FIREWALL.wanted(document) != before
    document.put(Set("bad", disabled=True))
    assert FIREWALL.wanted(document) == ()
    document.put(Set("bad"))
    document.remove("set-entry", "f")
    assert FIREWALL.wanted(document) == before
