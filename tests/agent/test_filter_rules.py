# SPDX-License-Identifier: Apache-2.0
"""Configured firewall rules in the kernel: what they do to packets, and what they leave alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import nft
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.sets import SetsBackend, SetsDifference
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import NAT_STATES, FirewallRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.source_limit import SourceLimit
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.firewall import FIREWALL
from weir.parts.rule import Lookup, PacketRule
from weir.parts.sets import SETS

OBJECTS: tuple[ConfigObject, ...] = (
    lan(),
    wan(),
    Set("bad"),
    SetEntry("e1", "bad", "198.51.100.0/24"),
    SetEntry("e2", "bad", "198.51.200.7/32"),
    SetEntry("e3", "bad", "2001:db8:bad::/48"),
    SetEntry("e4", "bad", "2001:db8:bee::1/128"),
    Set("one"),
    SetEntry("e5", "one", "192.0.2.0/24"),
    Set("seen", source="dynamic", timeout_s=60),
    Set("phones", "mac"),
    SetEntry("e6", "phones", "02:00:00:00:00:01"),
    Set("ports", "port"),
    SetEntry("e7", "ports", "1000-1003"),
    Set("sides", "interface"),
    SetEntry("e8", "sides", "lan0"),
    Set("empty"),
    Service("sip", ("5060-5061", "5062", "7000"), "tcp-udp"),
)
PHONE = "02:00:00:00:00:07"
PREFIXES = ("10.0.1.0/24", "10.0.2.0/24", "10.9.0.0/16", "10.9.7.0/24", "192.0.2.7/32", "2001:db8::/32")


def rule(name: str, action: str = "drop", chain: str = "forward", **said: Any) -> FirewallRule:
    return FirewallRule(name, chain, action, **said)


MATCHES: list[dict[str, Any]] = [
    {},
    {"family": "ipv4"},
    {"family": "ipv6", "protocol": "icmp"},
    {"protocol": "icmp"},
    {"protocol": "icmp", "family": "ipv4"},
    {"protocol": "icmp", "icmp_types": ("echo-request",)},
    {"protocol": "icmp", "icmp_types": ("redirect", "packet-too-big", "echo-request")},
    {"protocol": "tcp"},
    {"protocol": "tcp", "ports": ("80", "81", "443", "90-99", "100-110")},
    {"protocol": "udp", "ports": ("53",)},
    {"protocol": "sctp", "ports": ("53-60",)},
    {"protocol": "tcp-udp"},
    {"protocol": "tcp-udp", "ports": ("53", "853")},
    {"protocol": "tcp", "port_set": "ports"},
    {"protocol": "gre"},
    {"protocol": "vrrp", "family": "ipv4"},
    {"service": "sip"},
    {"source": PREFIXES},
    {"source": PREFIXES, "destination": ("0.0.0.0/0",)},
    {"destination": ("0.0.0.0/0",)},
    {"source": ("10.0.0.0/9", "10.128.0.0/9"), "protocol": "esp"},
    {"source_set": "bad"},
    {"source_set": "bad", "destination_set": "bad", "protocol": "tcp", "ports": ("25",)},
    {"source_set": "one", "family": "ipv4"},
    {"source_set": "phones"},
    {"source_set": "sides"},
    {"source_set": "empty"},
    {"destination_set": "seen"},
    {"in_interface": "lan0", "out_interface": "wan0"},
    {"from_zone": "lan", "to_zone": "wan"},
    {"from_zone": "lan", "source_set": "sides", "out_interface": "wan0"},
    {"ct_state": ("new",)},
    {"ct_state": ("new", "invalid", "established")},
    {"protocol": "tcp", "source_ports": ("1024-65535",), "ports": ("22",)},
    {"protocol": "udp", "source_ports": ("53", "123", "500-510"), "port_set": "ports"},
    {"protocol": "tcp-udp", "source_ports": ("53",)},
    {"protocol": "tcp", "tcp_flags": ("syn",), "tcp_flags_unset": ("ack", "rst")},
    {"protocol": "tcp", "tcp_flags": ("fin", "syn")},
    {"protocol": "tcp", "tcp_flags_unset": ("ece",), "ports": ("80",), "source": PREFIXES},
    *({"dscp": number} for number in (0, 1, 3, 10, 44, 46, 63)),
    {"dscp": 8, "family": "ipv6", "protocol": "udp"},
    {"dscp": 46, "source": PREFIXES},
    {"source_mac": PHONE},
    {"source_mac": PHONE, "family": "ipv4"},
    {"source_mac": PHONE, "family": "ipv6", "protocol": "icmp", "icmp_types": ("echo-request",)},
    {
        "source_mac": PHONE,
        "source_set": "phones",
        "source": PREFIXES,
        "protocol": "tcp-udp",
        "ports": ("53",),
    },
    {"source_mac": PHONE, "source_set": "one", "dscp": 8, "ct_state": ("new",)},
    {"source_mac": PHONE, "source_set": "bad", "source_limit": SourceLimit(rate=3), "log": True},
    {"source_mac": PHONE, "protocol": "tcp", "tcp_flags": ("syn",), "rate_per_s": 3},
    {"source_set": "phones", "dscp": 8},
    *({"ct_nat": word} for word in NAT_STATES if word != "any"),
    {"ct_nat": "not-destination", "ct_state": ("new",), "protocol": "tcp", "dscp": 8},
    {"rate_per_s": 10, "burst": 7},
    {"rate_per_s": 10, "source_set": "bad"},
    {"source_limit": SourceLimit(connections=20)},
    {"source_limit": SourceLimit(rate=3, per="minute", ipv4_length=24, ipv6_length=128), "family": "ipv4"},
    {"source_limit": SourceLimit(connections=9, rate=3, per="hour"), "ports": ("25",), "protocol": "tcp"},
    {"source_limit": SourceLimit(connections=9, rate=3), "source_set": "bad", "log": True, "rate_per_s": 2},
    {"source_limit": SourceLimit(connections=7), "protocol": "icmp", "destination": PREFIXES},
    {"log": True},
    {"log": True, "log_prefix": "from bad", "rate_per_s": 3, "source_set": "bad"},
]
ICMP_TYPES = ("echo-request", "packet-too-big")


def but(*fields: str, **said: Any) -> dict[str, Any]:
    """A match of all but what these fields say."""
    return {**said, "negated": fields}


MATCHES += [
    but("source", source=PREFIXES),
    but("source", source=PREFIXES[:1]),
    but("source", source=("10.0.0.0/9", "10.128.0.0/9"), family="ipv4", protocol="esp"),
    but("destination", source=PREFIXES, destination=("0.0.0.0/0",)),
    but("source", "destination", source=PREFIXES, destination=PREFIXES[2:], protocol="udp", ports=("53",)),
    but("source_set", source_set="bad"),
    but("destination_set", source_set="bad", destination_set="bad", protocol="tcp", ports=("25",)),
    but("source_set", source_set="one", family="ipv4", log=True),
    *(but("source_set", source_set=name) for name in ("phones", "sides", "empty")),
    but("destination_set", destination_set="seen"),
    but("source_set", "source_mac", source_mac=PHONE, source_set="phones"),
    but("in_interface", in_interface="lan0", out_interface="wan0"),
    but("in_interface", "out_interface", in_interface="lan0", out_interface="wan0"),
    but("from_zone", from_zone="lan", to_zone="wan"),
    but("to_zone", from_zone="lan", to_zone="open", source=PREFIXES),
    *(
        but("protocol", protocol=name, **said)
        for name in ("tcp", "tcp-udp", "icmp", "gre")
        for said in ({}, {"family": "ipv4"}, {"source": PREFIXES}, {"dscp": 8})
    ),
    *(but("ports", protocol="tcp", ports=ports) for ports in (("80",), ("80-90",), ("80", "443", "90-99"))),
    but("ports", protocol="tcp-udp", ports=("53", "853")),
    but("port_set", protocol="tcp", port_set="ports", ports=("1000-2000",)),
    but("source_ports", "port_set", protocol="udp", source_ports=("53", "123"), port_set="ports"),
    but("source_ports", protocol="tcp-udp", source_ports=("1-1023",), ports=("53",)),
    but("icmp_types", protocol="icmp", icmp_types=ICMP_TYPES),
    but("icmp_types", protocol="icmp", icmp_types=ICMP_TYPES[:1], family="ipv6"),
    but("icmp_types", protocol="icmp", icmp_types=ICMP_TYPES[1:]),
    but("dscp", dscp=46),
    but("dscp", "source", dscp=8, source=PREFIXES, source_limit=SourceLimit(rate=3)),
    but("source_mac", source_mac=PHONE),
    but("source_mac", source_mac=PHONE, family="ipv6", protocol="udp", rate_per_s=7),
]
ACTIONS: list[dict[str, Any]] = [
    {"action": "accept"},
    {"action": "reject"},
    {"action": "jump", "jump_to": "guests"},
    {"action": "add-to-set", "add_set": "seen"},
    *({"action": "set-dscp", "new_dscp": number} for number in (0, 1, 8, 10, 44, 46, 63)),
    {"action": "set-dscp", "new_dscp": 46, "dscp": 8, "log": True, "rate_per_s": 7},
    {"action": "accept", "source_limit": SourceLimit("within", connections=3)},
    {"action": "accept", "source_limit": SourceLimit("within", rate=3), "protocol": "udp", "log": True},
    {"action": "add-to-set", "add_set": "seen", "source_limit": SourceLimit(connections=3, rate=4)},
]


@contextmanager
def namespace() -> Iterator[None]:
    name = f"weir-agent-test-{os.getpid()}-rules-r"
    netns.create(name)
    try:
        with netns.inside(name):
            yield
    finally:
        netns.remove(name)


def test_every_match_and_action_is_read_back_as_it_was_written() -> None:
    rules = [rule(f"m{number}", **said) for number, said in enumerate(MATCHES)]
    rules += [rule(f"a{number}", source=PREFIXES, **said) for number, said in enumerate(ACTIONS)]
    rules += [rule(f"b{number}", source_set="bad", **said) for number, said in enumerate(ACTIONS)]
    rules += [
        rule("c1", "return", "guests", protocol="tcp"),
        rule("c2", "accept", "output"),
        rule("c4", "notrack", "raw/prerouting", protocol="udp", ports=("53",)),
        rule("c5", "drop", "raw/prerouting", source_set="bad", log=True),
        rule("c6", "drop", "raw/prerouting", source_mac=PHONE, source=PREFIXES),
        rule("c7", "return", "guests", **but("source_set", source_set="bad")),
        rule("c8", "drop", "raw/prerouting", **but("in_interface", in_interface="wan0")),
        rule("c3", "drop", "input"),
    ]
    with namespace():
        sets, firewall = SetsBackend(), FirewallBackend()
        for count in range(len(rules), 0, -7):
            document = Document([*OBJECTS, *rules[:count]])
            filled = sets.diff(sets.read(), SETS.wanted(document))
            gone, filled.gone = filled.gone, []  # which rules name until they are others
            sets.apply(filled)
            sets.verify(filled)
            wanted = FirewallWanted(FIREWALL.wanted(document), ())
            difference = firewall.diff(firewall.read(), wanted)
            firewall.apply(difference)
            firewall.verify(difference)
            assert not firewall.diff(firewall.read(), wanted)
            sets.apply(SetsDifference(gone=gone))
            assert not sets.diff(sets.read(), SETS.wanted(document))
        assert nft.read_table() is not None


# -- packets ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), Firewall(masquerade=False), Set("seen", source="dynamic", timeout_s=600))
    netns.ip(rig.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])


@contextmanager
def having(rig: Rig, *objects: ConfigObject) -> Iterator[None]:
    rig.commit(*objects)
    try:
        yield
    finally:
        rig.commit(delete=[(item.kind, item.id) for item in reversed(objects)])


def pings(rig: Rig, count: int = 3, target: str = "203.0.113.1") -> int:
    """How many of so many are answered."""
    done = subprocess.run(
        ["ping", "-q", "-c", str(count), "-i", "0.01", "-W", "0.3", target],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=netns.entering(rig.client_ns),
    )
    return int(done.stdout.split(" received")[0].split()[-1])


def counted(rig: Rig, name: str) -> int:
    found = rig.agent.call("state", {"kind": "firewall-rule", "ids": [name]})["objects"]
    return int(found[name]["packets"])


def test_the_first_rule_that_decides_does_and_counts(rig: Rig) -> None:
    first = rule("first", "accept", source=("10.64.0.2/32",), protocol="icmp", position=1)
    with having(rig, first, rule("second", position=2, in_interface="lan0")):
        assert pings(rig) == 3
        assert (counted(rig, "first"), counted(rig, "second")) == (3, 0)
        rig.commit(rule("second", position=0, in_interface="lan0"))
        assert pings(rig) == 0
        assert (counted(rig, "first"), counted(rig, "second")) == (3, 3)


def test_a_counter_outlives_commits_restarts_and_changes_of_its_own_rule(rig: Rig) -> None:
    with having(rig, rule("kept", source=("10.64.0.2/32",))):
        assert pings(rig) == 0
        rig.commit(Firewall(masquerade=False, allowed_wan_tcp_ports=(22,)), rule("other", protocol="udp"))
        rig.commit(
            rule("kept", source=("10.64.0.2/32",), comment="still it"), delete=[("firewall-rule", "other")]
        )
        rig.kill_agent()
        rig.start_agent()
        assert counted(rig, "kept") == 3


def test_a_set_is_looked_up_once_by_each_length(rig: Rig) -> None:
    own = [Set("here"), SetEntry("h1", "here", "10.64.0.0/16"), SetEntry("h2", "here", "10.64.0.2/32")]
    with having(rig, *own, rule("by-set", source_set="here", log=True)):
        assert pings(rig) == 0
        assert counted(rig, "by-set") == 3, "it is in two lengths, and matches once"
        rig.commit(delete=[("set-entry", "h2")])
        assert pings(rig) == 0
        rig.commit(delete=[("set-entry", "h1")])
        assert pings(rig) == 3
        rig.commit(SetEntry("h1", "here", "10.64.0.2/32"))
        assert pings(rig) == 0


def test_a_host_is_known_by_its_hardware_address_whatever_its_address(rig: Rig) -> None:
    netns.ip(rig.client_ns, [f"link set c0 address {PHONE}"])
    with having(rig, rule("host", source_mac=PHONE)):
        assert pings(rig) == 0
        assert counted(rig, "host") == 3
        netns.ip(rig.client_ns, ["link set c0 address 02:00:00:00:00:08"])
        assert pings(rig) == 3
        assert counted(rig, "host") == 3


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (but("source", source=("10.64.0.2/32", "2001:db8::/32"), out_interface="wan0"), 3),
        (but("source", source=("10.64.0.3/32",)), 0),
        (but("source", source=("2001:db8::/32",)), 0),
        (but("destination", destination=("203.0.113.0/24",), in_interface="lan0"), 3),
        (but("destination", destination=("203.0.113.2/32",)), 0),
        (but("in_interface", in_interface="lan0", destination=("203.0.113.1/32",)), 3),
        (but("in_interface", in_interface="wan0"), 0),
        (but("out_interface", out_interface="wan0", source=("10.64.0.2/32",)), 3),
        (but("from_zone", from_zone="lan", to_zone="wan"), 3),
        (but("from_zone", from_zone="wan", to_zone="wan"), 0),
        (but("from_zone", from_zone="open", to_zone="wan"), 0),
        (but("to_zone", from_zone="lan", to_zone="wan"), 3),
        (but("protocol", protocol="icmp"), 3),
        (but("protocol", protocol="tcp-udp"), 0),
        (but("icmp_types", protocol="icmp", icmp_types=("echo-request", "echo-reply")), 3),
        (but("icmp_types", protocol="icmp", icmp_types=("packet-too-big",)), 0),
        (but("dscp", dscp=0), 3),
        (but("dscp", dscp=46), 0),
        (but("source_set", source_set="both", out_interface="wan0"), 3),
        (but("source_set", source_set="other"), 0),
        (but("destination_set", destination_set="seen"), 0),
        (but("source_set", source_set="far", out_interface="wan0"), 0),
        (but("source_set", source_set="near", out_interface="wan0"), 3),
    ],
)
def test_a_rule_about_all_but_something_drops_all_but_that(
    rig: Rig, said: dict[str, Any], answered: int
) -> None:
    sets = [
        *(Set("both"), SetEntry("b1", "both", "10.64.0.2/32"), SetEntry("b2", "both", "192.0.2.0/24")),
        *(Set("other"), SetEntry("o1", "other", "10.64.1.0/24"), SetEntry("o2", "other", "10.64.0.3/32")),
        *(Set("near", "interface"), SetEntry("n1", "near", "lan0")),
        *(Set("far", "interface"), SetEntry("f1", "far", "wan0")),
    ]
    with having(rig, *sets, rule("but", **said)):
        assert pings(rig) == answered
        assert bool(counted(rig, "but")) == (answered == 0)


def test_a_packet_goes_on_with_the_codepoint_that_a_rule_gave_it(rig: Rig) -> None:
    """To the rules behind it, and to who gets it."""
    with netns.inside(rig.internet):
        netns.run(["nft", "add table ip t; add chain ip t i { type filter hook input priority 0; }"])
        netns.run(["nft", "add rule ip t i icmp type echo-request ip dscp 46 counter"])
        rules = (
            rule("mark", "set-dscp", new_dscp=46, protocol="icmp", out_interface="wan0", position=1),
            rule("before", dscp=0, out_interface="wan0", protocol="icmp", position=2),
            rule("behind", "accept", dscp=46, out_interface="wan0", position=3),
        )
        try:
            with having(rig, *rules):
                assert pings(rig) == 3
                assert [counted(rig, name) for name in ("mark", "before", "behind")] == [3, 0, 3]
            assert "counter packets 3 " in netns.run(["nft", "list", "chain", "ip", "t", "i"])
        finally:
            netns.run(["nft", "delete", "table", "ip", "t"])


def test_a_jump_comes_back_and_a_return_too(rig: Rig) -> None:
    rules = (
        rule("go", "jump", jump_to="guests", position=1),
        rule("back", "return", "guests", protocol="icmp", position=1),
        rule("never", "drop", "guests", position=2),
        rule("after", "drop", position=2, destination=("203.0.113.1/32",)),
    )
    with having(rig, *rules):
        assert pings(rig) == 0
        assert (counted(rig, "back"), counted(rig, "never"), counted(rig, "after")) == (3, 0, 3)


def test_what_rules_learn_outlives_commits_and_can_be_matched(rig: Rig) -> None:
    with having(rig, rule("learn", "add-to-set", add_set="seen", protocol="icmp", position=1)):
        assert pings(rig) == 3
        with having(rig, rule("refuse", source_set="seen", position=2)):
            assert pings(rig) == 0
        rig.commit(Firewall(masquerade=False))
        assert "10.64.0.2" in rig.run("nft", "list", "set", "inet", "weir", "d4_600_65536_seen")


def test_a_rate_lets_so_many_pass(rig: Rig) -> None:
    slow = rule("some", "accept", protocol="icmp", in_interface="lan0", rate_per_s=1, burst=2, position=1)
    with having(rig, slow, rule("rest", protocol="icmp", in_interface="lan0", position=2)):
        assert 2 <= pings(rig, 10) <= 4


def test_rules_of_input_and_output_and_a_reject(rig: Rig) -> None:
    with having(rig, rule("in", "drop", "input", source=("10.64.0.2/32",), protocol="icmp")):
        assert pings(rig, target="10.64.0.1") == 0
    with having(rig, rule("out", "reject", "output", destination=("10.64.0.2/32",))):
        assert pings(rig, target="10.64.0.1") == 0
        assert counted(rig, "out") >= 3
    assert pings(rig, target="10.64.0.1") == 3


def test_a_change_of_one_rule_leaves_the_others_as_they_are(rig: Rig) -> None:
    def placed() -> dict[str, int]:
        with netns.inside(rig.router):
            table = nft.read_table()
        assert table is not None
        chain = table.chains["forward"]
        return dict(zip((comment for comment, _ in chain.rules), chain.handles, strict=True))

    rules = [
        rule(f"k{number}", "accept", protocol="udp", ports=(str(5000 + number),), position=number + 1)
        for number in range(40)
    ]
    with having(rig, *rules):
        before = placed()
        rig.commit(replace(rules[20], ports=("6000",)))
        after = placed()
        assert list(after) == list(before)
        assert {name for name in before if before[name] != after[name]} == {"k20"}
        rig.commit(replace(rules[0], position=100))
        assert list(placed())[-1] == "k0" or list(placed()).index("k0") > list(placed()).index("k39")


def test_what_somebody_does_to_a_rule_is_repaired(rig: Rig) -> None:
    with having(rig, rule("mine", source=("10.64.0.2/32",))):
        before = rig.run("nft", "-s", "list", "chain", "inet", "weir", "forward")
        rig.run("nft", "flush chain inet weir forward")
        until(
            "it is back", lambda: rig.run("nft", "-s", "list", "chain", "inet", "weir", "forward") == before
        )
        assert pings(rig) == 0


def test_a_rule_that_the_kernel_refuses_is_named_and_nothing_of_it_stays(rig: Rig) -> None:
    rules = [PacketRule("forward", "accept", f"good{n}", counter=f"r_good{n}") for n in range(20)]
    rules.insert(13, PacketRule("forward", "drop", "culprit", lookups=(Lookup("saddr", "nowhere", 4, 32),)))
    backend = FirewallBackend()
    with netns.inside(rig.internet):
        with pytest.raises(ApplyFailed, match="refuses the firewall rule culprit: "):
            backend.apply(backend.diff(backend.read(), FirewallWanted(tuple(rules), ())))
        assert nft.read_table() is None
