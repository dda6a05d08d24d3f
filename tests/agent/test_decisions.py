# SPDX-License-Identifier: Apache-2.0
"""Which rule is said to decide is the one whose counter the kernel raises, in random firewalls."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.ends import INSIDE, OUTSIDE, ROUTER_IN, ROUTER_OUT, three_ends
from tests.polling import until
from weir.adapters import nft
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.sets import SetsBackend
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import NAT_STATES, NEGATABLE, FirewallRule
from weir.kinds.nat_rule import NEGATABLE as NEGATABLE_OF_NAT
from weir.kinds.nat_rule import NatRule
from weir.kinds.service import Service
from weir.kinds.sets import Set, SetEntry
from weir.kinds.source_limit import OVER, WITHIN, SourceLimit
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, TimeWindow
from weir.parts.decision import Members, Packet, Rules, Verdict, Walk, redirected, source_behind
from weir.parts.firewall import FIREWALL
from weir.parts.sets import SETS

CONFIGURATIONS = int(os.environ.get("WEIR_FIREWALLS", "12"))
"""500 take about ten minutes."""
PACKETS = 40
PORTS = (53, 80, 443, 5060, 8080)
CODEPOINTS = (0, 46)
FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ece": 64, "cwr": 128}
OPENING = (("syn",), ("syn", "ece", "cwr"), ("ack",), ("ack", "psh"))
"""What connection tracking takes for the first segment of a connection."""
TURNED_ROUND = {
    *(
        "sources",
        "destinations",
        "in_interfaces",
        "out_interfaces",
        "source_mac",
        "protocol",
        "ports",
        "dscp",
    ),
    *(f"set of {what}" for what in ("saddr", "daddr", "dport", "ether", "iifname")),
}
"""What rules that match look at, and a packet has otherwise."""
LOOKED_AT = {"source_ports", "flags", "flags_unset", "dscp", "ct_nat", "source_mac"}
"""What rules that match look at."""
AT = datetime(2026, 11, 27, 20, 30)
"""A Friday."""
MACS = {"lan0": "02:00:5e:10:00:07", "wan0": "02:00:5e:10:00:08"}
"""Of the hosts behind them."""
OPEN, CLOSED = TimeWindow(20 * 60, 24 * 60, ("fri",)), TimeWindow(8 * 60, 18 * 60, ("fri", "sat"))
INTERFACES = (
    Interface("lan0", "lan", ("10.64.0.1/16",)),
    Interface("wan0", "wan", ("203.0.113.2/24",)),
)
FIXED: tuple[ConfigObject, ...] = (
    Service("web", ("80", "443"), "tcp-udp"),
    Service("sip", ("5060-5061",), "udp"),
    Set("many"),
    Set("none"),
    Set("ports", "port"),
    SetEntry("p1", "ports", "50-60"),
    SetEntry("p2", "ports", "8080"),
    Set("sides", "interface"),
    SetEntry("i1", "sides", "lan0"),
    Set("hosts", "mac"),
    SetEntry("m1", "hosts", MACS["wan0"]),
)


@pytest.fixture
def router() -> Iterator[tuple[str, str, str]]:
    with three_ends("decide") as names:
        yield names


def some(rng: random.Random, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rng.sample(items, rng.randint(1, 2)))


def random_detail(rng: random.Random) -> dict[str, Any]:
    """Of what few rules look at, alone."""
    one, other = rng.sample(("syn", "ack", "psh", "ece"), 2)
    found: list[dict[str, Any]] = [
        {"protocol": "tcp-udp", "source_ports": (rng.choice(("20000-29999", "1-20300")),)},
        {"protocol": "tcp", "tcp_flags": (one,)},
        {"protocol": "tcp", "tcp_flags_unset": (one, other)},
        {"protocol": "tcp", "tcp_flags": (one,), "tcp_flags_unset": (other,)},
        {"dscp": rng.choice(CODEPOINTS)},
        {"ct_nat": rng.choice(NAT_STATES[1:])},
        {"source_mac": rng.choice(sorted(MACS.values()))},
        {"source_set": "hosts"},
    ]
    return rng.choice(found)


def random_match(rng: random.Random) -> dict[str, Any]:
    said: dict[str, Any] = random_detail(rng) if rng.random() < 0.35 else {}
    if said:
        return said
    if rng.random() < 0.4:
        said["source"] = some(rng, ("10.64.0.0/16", "10.64.1.0/24", "10.64.2.77/32", "203.0.113.128/25"))
    elif rng.random() < 0.3:
        said["source_set"] = rng.choice(("many", "none", "sides"))
    if rng.random() < 0.3:
        said["destination"] = some(rng, ("203.0.113.0/24", "203.0.113.1/32", "10.64.0.0/24", "2001:db8::/32"))
    elif rng.random() < 0.2:
        said["destination_set"] = "many"
    match rng.randrange(6):
        case 0:
            said |= {"protocol": "udp", "ports": some(rng, ("53", "80-443", "5060"))}
        case 1:
            said |= {"protocol": rng.choice(("udp", "tcp", "tcp-udp", "icmp"))}
        case 2:
            said |= {"service": rng.choice(("web", "sip"))}
        case 3:
            said |= {"protocol": "tcp-udp", "port_set": "ports"}
    if rng.random() < 0.2:
        said["ct_state"] = tuple(rng.sample(("new", "established", "invalid"), 2))
    if rng.random() < 0.15:
        said["log"] = True
    if rng.random() < 0.3:
        said["time"] = rng.choice((OPEN, CLOSED))
    if rng.random() < 0.2:
        said["family"] = rng.choice(("ipv4", "ipv6"))
    return said


def turned(rng: random.Random, said: dict[str, Any], of: tuple[str, ...] = NEGATABLE) -> dict[str, Any]:
    """The same, with some of it turned round now and then."""
    can_be = [name for name in of if said.get(name)]
    with_protocol = ("ports", "port_set", "source_ports", "tcp_flags", "tcp_flags_unset", "to_port")
    if any(said.get(name) for name in with_protocol):
        can_be = [name for name in can_be if name != "protocol"]
    if not can_be or rng.random() < 0.5:
        return said
    return {**said, "negated": tuple(rng.sample(can_be, rng.randint(1, len(can_be))))}


def by_zones(said: dict[str, Any]) -> dict[str, Any]:
    """The same match, with the zones of the interfaces in the place of these."""
    zones = {"in_interface": "from_zone", "out_interface": "to_zone"}
    of = {item.id: item.role for item in INTERFACES}
    return {zones.get(name, name): of[value] if name in zones else value for name, value in said.items()}


def random_rule(rng: random.Random, number: int) -> FirewallRule:
    chain = rng.choice(("forward", "forward", "input", "one", "two"))
    said = random_match(rng)
    action = rng.choice(("accept", "drop", "drop", "reject", "jump", "return"))
    if action == "jump":
        said["jump_to"] = "two" if chain == "one" else "one"
        action = "drop" if chain == "two" else "jump"
    if action != "jump":
        said.pop("jump_to", None)
    if action == "return":
        said = {
            key: value for key, value in said.items() if key not in ("source_set", "destination_set", "log")
        }
    if rng.random() < 0.2:  # nobody comes near it
        match = OVER if action in ("drop", "reject") else WITHIN
        said["source_limit"] = SourceLimit(match, rate=1_000_000, burst=100_000)
    if chain in ("forward", "input") and rng.random() < 0.3:
        said["in_interface"] = rng.choice(("lan0", "wan0"))
    if chain == "forward" and rng.random() < 0.2:
        said["out_interface"] = rng.choice(("lan0", "wan0"))
    said = said if number % 2 else by_zones(said)
    return FirewallRule(f"r{number}", chain, action, number, **turned(rng, said))


def random_raw(rng: random.Random, name: str, chain: str = "raw/prerouting") -> FirewallRule:
    """For the chain that packets meet first, or the one to which it leads."""
    said = random_match(rng)
    kept = {key: value for key, value in said.items() if key not in ("ct_state", "ct_nat")}
    if rng.random() < 0.5:
        kept["in_interface"] = rng.choice(("lan0", "wan0"))
    action = rng.choice(("accept", "drop", "notrack", "return" if chain == "early" else "jump"))
    if action == "return":
        for field in ("source_set", "destination_set", "log"):
            kept.pop(field, None)
    if action == "jump":
        kept["jump_to"] = "early"
    return FirewallRule(name, chain, action, **turned(rng, kept))


def random_nat(rng: random.Random, number: int) -> NatRule:
    said = {
        key: value
        for key, value in random_match(rng).items()
        if key in ("source", "source_mac", "destination", "time")
    }
    mac = said.pop("source_mac", None)
    for key in {"source", "destination"} & said.keys():
        said[key] = tuple(text for text in said[key] if ":" not in text)
    ports = {"protocol": "udp", "ports": (str(rng.choice(PORTS)),)}
    made: dict[str, Any]
    match rng.randrange(5):
        case 0:
            made = {"type": "none", **said}
        case 1:
            made = {"type": "source", "to_address": "203.0.113.2/32", **said}
        case 2:
            made = {"type": "redirect", "to_port": rng.choice((None, 53)), "source_mac": mac, **ports, **said}
        case _:
            to_port = rng.choice((None, 5060))
            made = {"type": "destination", "to_address": "10.64.0.2/32", "to_port": to_port, **ports, **said}
            made |= {"source_mac": mac, "allow": rng.random() < 0.7, "hairpin": rng.random() < 0.5}
    return NatRule(f"n{number}", position=number, **turned(rng, made, NEGATABLE_OF_NAT))


def random_firewall(rng: random.Random) -> Document:
    entries = [
        SetEntry(f"e{n}", "many", text)
        for n, text in enumerate(some(rng, ("10.64.1.0/24", "203.0.113.1/32", "10.64.0.0/16")))
    ]
    policy = Firewall(
        masquerade=rng.random() < 0.5,
        drop_new_from_wan=rng.random() < 0.6,
        allow_ping_from_wan=rng.random() < 0.5,
        allowed_wan_tcp_ports=(443,),
        connections_per_source=0,
    )
    rules = [random_raw(rng, f"w{number}") for number in range(rng.randint(0, 3))]
    rules += [random_raw(rng, f"v{number}", "early") for number in range(rng.randint(0, 2))]
    rules += [random_rule(rng, number) for number in range(rng.randint(3, 14))]
    nats = [random_nat(rng, number) for number in range(rng.randint(0, 4))]
    return Document([*INTERFACES, *FIXED, *entries, policy, *rules, *nats])


def in_force(document: Document) -> None:
    sets, firewall = SetsBackend(), FirewallBackend()
    filled = sets.diff(sets.read(), SETS.wanted(document))
    if filled:
        sets.apply(filled)
    wanted = FirewallWanted(FIREWALL.wanted(document), (), frozenset({CLOSED}))
    difference = firewall.diff(firewall.read(), wanted)
    if difference:
        firewall.apply(difference)


def foreseen(rules: Rules, packet: Packet, walk: Walk) -> tuple[Verdict, str, int, str]:
    """Verdict, destination, port, and the source that the destination sees ("" = any)."""
    dropped, packet = rules.before_tracking(packet, walk)
    is_tracked = packet.state != "untracked"
    met = rules.decide("prerouting", packet, walk) if is_tracked and dropped is None else None
    own = ROUTER_IN if "lan0" in packet.in_names else ROUTER_OUT
    behind = packet if met is None else redirected(packet, met, own)
    if not behind.to_router:
        out = "lan0" if behind.destination.startswith("10.64.") else "wan0"
        behind = replace(behind, out_names=frozenset((out,)))
    if dropped is not None:
        return "drop", "", 0, ""
    found = rules.decide("input" if behind.to_router else "forward", behind, walk)
    verdict: Verdict = "accept" if found is None else found.verdict  # type: ignore[assignment]
    source = packet.source
    if verdict == "accept" and not behind.to_router and is_tracked:
        source = source_behind(behind, rules.decide("postrouting", behind, walk))
    return verdict, behind.destination, behind.port, source


def listeners(namespace: str, addresses: tuple[str, ...]) -> dict[tuple[str, int], socket.socket]:
    """By address and UDP port; port 0 hears all of TCP."""
    made = {(address, port): bound(namespace, address, port) for address in addresses for port in PORTS}
    made |= {(address, 0): raw(namespace, address) for address in addresses}
    for one in made.values():
        one.setblocking(False)
    return made


def raw(namespace: str, address: str) -> socket.socket:
    """A socket for segments of TCP."""
    with netns.inside(namespace):
        own = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    own.bind((address, 0))
    return own


def segment(packet: Packet, words: bytes) -> bytes:
    """Whose sum is right: connection tracking looks."""
    flags = sum(FLAGS[name] for name in packet.flags or ())
    head = struct.pack("!HHIIBBHHH", packet.source_port, packet.port, 7, 7, 5 << 4, flags, 64_240, 0, 0)
    ends = b"".join(socket.inet_aton(each) for each in (packet.source, packet.destination))
    data = head + words.ljust(len(words) + len(words) % 2)
    pseudo = ends + struct.pack("!HH", socket.IPPROTO_TCP, len(data))
    total = sum(struct.unpack(f"!{(len(pseudo) + len(data)) // 2}H", pseudo + data))
    total = (total & 0xFFFF) + (total >> 16)
    return data[:16] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + data[18:]


def arrived(heard: dict[tuple[str, int], socket.socket]) -> dict[bytes, tuple[str, int, str]]:
    """By a packet's words where it came out, and from whom."""
    found = {}
    for (address, port), one in heard.items():
        with suppress(BlockingIOError):
            while True:
                data, peer = one.recvfrom(100)
                if not port and len(data) > 40:
                    found[data[40:].rstrip()] = (address, int.from_bytes(data[22:24], "big"), peer[0])
                elif port:
                    found[data] = (address, port, peer[0])
    return found


def quiet(far: str, device: str, mac: str) -> None:
    """Hosts with this MAC that say nothing of themselves."""
    netns.ip(far, [f"link set {device} address {mac}"])
    with netns.inside(far):  # they know nothing of the connections, and would end them
        netns.run(["nft", "add table ip t; add chain ip t o { type filter hook output priority 0; }"])
        netns.run(["nft", "add rule ip t o tcp flags rst drop"])
        # What hosts say of themselves by IPv6 comes when it likes, and the chain raw counts it.
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")


def test_the_rule_that_is_said_to_decide_decides(router: tuple[str, str, str]) -> None:
    own, inside, outside = router
    quiet(inside, "c0", MACS["lan0"])
    quiet(outside, "i0", MACS["wan0"])
    heard = {
        **listeners(inside, INSIDE),
        **listeners(outside, OUTSIDE),
        **listeners(own, (ROUTER_IN, ROUTER_OUT)),
    }
    seed = int(os.environ.get("WEIR_SEED", "40"))  # so few firewalls of it have all that rules look at
    verdicts: dict[str, int] = {}
    met, round_about = set[str](), set[str]()
    for number in range(CONFIGURATIONS):
        rng = random.Random(seed * 100_000 + number)
        document = random_firewall(rng)
        with netns.inside(own):
            netns.run(["nft", "flush", "ruleset"])
            in_force(document)
        rules = Rules(FIREWALL.wanted(document), Members.of(document))
        expected: dict[bytes, tuple[str, int, str]] = {}
        counts: dict[str, int] = {}
        for each in range(PACKETS):
            words = f"{number} {each}".encode()
            packet = send(rng, inside, outside, words)
            walk = Walk()
            verdict, destination, port, source = foreseen(rules, packet, walk)
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
            if verdict == "accept" and not (source in INSIDE and destination in INSIDE):
                # A host takes no packet from an address of its own, as the one inside would be.
                expected[words] = destination, port, source
            for rule in walk.matched:
                counts[rule.counter] = counts.get(rule.counter, 0) + 1
                met |= {field for field in LOOKED_AT if getattr(rule, field) not in ((), "", None)}
                round_about |= {*rule.negated, *(f"set of {at.what}" for at in rule.lookups if at.negated)}
        seen: dict[bytes, tuple[str, int, str]] = {}

        def all_there() -> bool:
            seen.update(arrived(heard))  # noqa: B023
            return seen.keys() >= expected.keys()  # noqa: B023

        with suppress(AssertionError):
            until("what is let pass arrives", all_there, 2.0)
        for words, (destination, port, source) in expected.items():
            assert words in seen, (number, words, "does not arrive")
            assert seen[words][:2] == (destination, port), (number, words)
            assert source in ("", seen[words][2]), (number, words, source, seen[words])
        assert seen.keys() == expected.keys(), (number, "arrives though it is refused")
        with netns.inside(own):
            told = {
                item["counter"]["name"]: item["counter"]["packets"]
                for item in nft.of_table(nft.TABLE, nft.counted_ruleset())
                if "counter" in item and item["counter"]["packets"]
            }
        filters = {name: count for name, count in told.items() if name.startswith("r_")}
        assert filters == {name: count for name, count in counts.items() if name.startswith("r_")}, number
    assert met == LOOKED_AT
    assert round_about >= TURNED_ROUND
    assert min(verdicts.get(verdict, 0) for verdict in ("accept", "drop", "reject")) > CONFIGURATIONS


_flows = iter(range(20_000, 60_000))


def send(rng: random.Random, inside: str, outside: str, words: bytes) -> Packet:
    """One of a new connection, from either side."""
    if rng.random() < 0.6:
        name, device, source = inside, "lan0", rng.choice(INSIDE)
        destination = rng.choice((*OUTSIDE[:2], ROUTER_IN, ROUTER_OUT))
    else:
        name, device, source = outside, "wan0", rng.choice(OUTSIDE[:2])
        destination = rng.choice((*INSIDE, ROUTER_OUT, ROUTER_OUT))
    is_tcp = rng.random() < 0.4
    packet = Packet(
        4,
        source,
        destination,
        "tcp" if is_tcp else "udp",
        rng.choice(PORTS),
        in_names=frozenset((device,)),
        mac=MACS[device],
        to_router=destination in (ROUTER_IN, ROUTER_OUT),
        source_port=next(_flows),
        dscp=rng.choice(CODEPOINTS),
        flags=frozenset(rng.choice(OPENING)) if is_tcp else None,
        at=AT,
    )
    if is_tcp:
        sender, data = raw(name, source), segment(packet, words)
    else:
        sender, data = bound(name, source, packet.source_port), words
    with sender, suppress(OSError):
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, packet.dscp << 2)
        sender.sendto(data, (destination, 0 if is_tcp else packet.port))
    return packet
