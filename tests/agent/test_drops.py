# SPDX-License-Identifier: Apache-2.0
"""What was sent is what arrived and what the router says it dropped, to the packet (docs/adr/0211)."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.accounts.principal import Principal
from weir.http.context import Context
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.model.objects import Pair, Queue
from weir.model.problem import Unavailable

BY = Principal(0, "test", "admin", "local", "test", "test", 0)
M = 1_000_000
FAR = "203.0.113.1"
PAYLOAD = bytes(200)
AT_LIMIT, BELOW, PLAIN, SCANNER = "10.64.0.2", "10.64.0.3", "10.64.0.4", "10.64.0.5"
COUNT = "add table ip seen; add chain ip seen i { type filter hook prerouting priority -400; };"
COUNT += "add rule ip seen i ip protocol udp counter"


def customer(name: str, address: str, limit_bps: int, parent: str | None = None) -> Queue:
    return Queue(name, name, (f"{address}/32",), parent=parent, max_limit_bps=Pair(limit_bps, limit_bps))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        for address in (BELOW, PLAIN, SCANNER):
            netns.ip(made.client_ns, [f"addr add {address}/24 dev c0"])
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        for namespace in (made.client_ns, made.internet):
            made.run("nft", COUNT, namespace=namespace)
        yield made


def configure(rig: Rig, shaper: str) -> None:
    rig.commit(
        lan(shaper=shaper),
        wan(shaper=shaper),
        Firewall(),
        customer("limited", AT_LIMIT, 2 * M),
        Queue("tower", "tower", max_limit_bps=Pair(2 * M, 2 * M)),
        customer("below", BELOW, 100 * M, "tower"),
        customer("plain", PLAIN, 900 * M),
        BoundedSource("scan", f"{SCANNER}/32", packets_per_second=10, burst=10),
        FirewallRule("no-games", "forward", "drop", protocol="udp", ports=("9001",)),
        FirewallRule("no-chat", "forward", "reject", protocol="udp", ports=("9002",)),
    )


def arrived(rig: Rig) -> int:
    """UDP packets that came to both ends since the rig began."""
    found = 0
    for namespace in (rig.client_ns, rig.internet):
        listed = json.loads(rig.run("nft", "-j", "list", "table", "ip", "seen", namespace=namespace))
        (rule,) = (item["rule"] for item in listed["nftables"] if "rule" in item)
        found += sum(item["counter"]["packets"] for item in rule["expr"] if "counter" in item)
    return found


def send(namespace: str, source: str, to: str, port: int, packets: int, ttl: int = 64) -> int:
    with bound(namespace, source) as link:
        link.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        sent = 0
        for _ in range(packets):
            try:
                link.sendto(PAYLOAD, (to, port))
            except OSError:  # an ICMP error of one before
                continue
            sent += 1
        return sent


def offered(rig: Rig) -> int:
    """Everything that makes a packet end here: queues at their limit and below a full parent, rules, the
    policy, a TTL that is over, no route, a bounded source; and packets that pass."""
    near = rig.client_ns
    return (
        send(near, AT_LIMIT, FAR, 9000, 3000)
        + send(near, BELOW, FAR, 9000, 3000)
        + send(near, PLAIN, FAR, 9000, 300)
        + send(near, PLAIN, FAR, 9001, 120)
        + send(near, PLAIN, FAR, 9002, 80)
        + send(near, PLAIN, FAR, 9000, 40, ttl=1)
        + send(near, PLAIN, "198.51.100.7", 9000, 30)
        + send(near, SCANNER, FAR, 9000, 400)
        + send(rig.internet, FAR, "203.0.113.2", 9000, 70)
        + send(rig.internet, FAR, AT_LIMIT, 9000, 90)
    )


def dropped(parts: Context) -> Counter[tuple[str, str, str]]:
    """By kind, id and reason, since the first reading."""
    found = parts.stats.drops.since(1440)
    assert found["unseen"] == [] and found["rest_packets"] == 0
    counted: Counter[tuple[str, str, str]] = Counter()
    for item in found["items"]:
        counted[item["kind"], item["id"], item["reason"]] += item["packets"]
    return counted


def sampled(parts: Context) -> None:
    """The queues' counters are read once a second."""
    now = time.time()
    until("queues are sampled", lambda: parts.stats.queues(())["at"] > now)


def is_told(parts: Context) -> bool:
    try:
        dropped(parts)
    except Unavailable:
        return False
    return True


def waiting(rig: Rig) -> bool:
    return any(item.get("backlog") for item in rig.json("tc", "-s", "-j", "qdisc", "show"))


def counted(parts: Context) -> dict[tuple[str, str], int | None]:
    """Packets by chain and the first words of each rule."""
    found = parts.service.decisions.ruleset(BY)
    assert found.uncounted == ""
    return {(rule.chain, rule.decider.text.partition(":")[2].strip()): rule.packets for rule in found.rules}


def test_rules_that_nobody_typed_count_what_they_let_pass(rig: Rig, parts: Context) -> None:
    configure(rig, "police")
    inside, asked = (
        ("forward", "answers to what was asked inside"),
        ("input", "answers to what the router asked"),
    )
    leaves = ("postrouting", "IPv4 leaves with the WAN's address")
    before = counted(parts)
    rig.run("ping", "-c4", "-i0.2", "-W2", "-I", PLAIN, FAR, namespace=rig.client_ns)
    rig.run("ping", "-c3", "-i0.2", "-W2", FAR)
    after = counted(parts)
    passed = {rule: (after[rule] or 0) - (before[rule] or 0) for rule in (inside, asked, leaves)}
    assert passed == {inside: 4, asked: 3, leaves: 2}


@pytest.mark.parametrize("shaper", ["police", "htb"])
def test_sent_is_received_and_dropped(rig: Rig, parts: Context, shaper: str) -> None:
    configure(rig, shaper)
    until("two readings", lambda: is_told(parts))
    for address in (AT_LIMIT, BELOW, PLAIN):  # neighbors are known then
        rig.run("ping", "-c1", "-W2", "-I", address, FAR, namespace=rig.client_ns)
    sampled(parts)
    before, came = dropped(parts), arrived(rig)
    sent = offered(rig)
    until("nothing waits any more", lambda: not waiting(rig))
    sampled(parts)
    got, lost = arrived(rig) - came, dropped(parts) - before
    assert sent == got + lost.total()
    assert lost["firewall-rule", "no-games", "drop"] == 120
    assert lost["firewall-rule", "no-chat", "reject"] == 80
    assert lost["firewall", "firewall", "f_wan_router"] == 70
    assert lost["firewall", "firewall", "f_wan_through"] == 90
    assert lost["bounded-source", "scan", "bounded"] > 250
    assert lost["router", "router", "header"] == 40
    assert lost["router", "router", "no-route"] == 30
    reasons = ("tree",) if shaper == "htb" else ("limit", "above")
    for queue_id, reason in zip(("limited", "below"), reasons * 2, strict=False):
        assert lost["queue", queue_id, reason] > 1000, lost
    assert not any(kind == "queue" and name == "plain" for kind, name, _ in lost)
