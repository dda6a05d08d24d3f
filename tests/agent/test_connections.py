# SPDX-License-Identifier: Apache-2.0
"""The table of tracked connections under attack: bounded by source, and by what the queue lets out."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.new_flows import (
    ATTACKER,
    BYSTANDER,
    NEW_BYTES,
    SERVER,
    SERVER6,
    answer_all,
    answered,
    flooded,
    flows,
    opens,
    send6,
    tracked,
    tracked_of,
)
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters import connection_limits, conntrack, nft
from weir.agent.connections import Connections
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.http.health import connection_checks
from weir.kinds.firewall import Firewall
from weir.model.objects import Pair, Queue
from weir.model.problem import ApplyFailed
from weir.parts.rule import PacketRule

TUNING = Path(__file__).parents[2] / "board" / "tuning.toml"
LIMIT_BPS = 500_000
CONNTRACK_MAX = "/proc/sys/net/netfilter/nf_conntrack_max"
OPEN = Firewall(connections_per_source=0)


def queue(name: str, *targets: str) -> Queue:
    return Queue(name, name, targets, max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--tuning", str(TUNING)) as made:
        addresses = ("203.0.113.2/24", "2001:db8:100::2/64")
        made.commit(
            lan(), wan(addresses=addresses), OPEN, queue("attacker", ATTACKER), queue("bystander", BYSTANDER)
        )
        netns.ip(made.client_ns, [f"addr add {BYSTANDER}/24 dev c0"])
        netns.ip(made.internet, [f"addr add {SERVER6}/64 dev i0 nodad"])
        until("the server answers", lambda: opens(made))
        yield made


@pytest.fixture(autouse=True)
def empty_table(rig: Rig) -> None:
    rig.run("conntrack", "-F")


@contextmanager
def firewall(rig: Rig, policy: Firewall) -> Iterator[None]:
    rig.commit(policy)
    try:
        yield
    finally:
        rig.commit(OPEN)


def test_new_connections_of_a_full_queue_make_no_entry(rig: Rig) -> None:
    seconds = 4.0
    sent = flows(rig, ATTACKER, seconds)
    fits = LIMIT_BPS / 8 / NEW_BYTES * seconds
    assert sent > 2.5 * fits
    assert 0.3 * fits < tracked(rig) < 2.0 * fits
    explained = rig.explain("attacker")
    assert any("while the upload was full" in line["kernel"] for line in explained["lines"])


def test_a_source_has_no_more_connections_than_it_may_and_others_open_theirs(rig: Rig) -> None:
    with firewall(rig, Firewall(connections_per_source=500)), flooded(rig, ATTACKER):
        until("the bound is reached", lambda: tracked_of(rig, ATTACKER) >= 500)
        for _ in range(20):
            assert opens(rig, BYSTANDER)
            assert tracked_of(rig, ATTACKER) <= 510
        assert not opens(rig, ATTACKER)


def test_a_larger_bound_is_counted_in_parts_and_never_exceeded(rig: Rig) -> None:
    with firewall(rig, Firewall(connections_per_source=2048)):
        with flooded(rig, ATTACKER):
            until("the bound is near", lambda: tracked_of(rig, ATTACKER) > 0.85 * 2048)
            for _ in range(20):
                assert opens(rig, BYSTANDER)
                assert tracked_of(rig, ATTACKER) <= 2048
        rig.run("conntrack", "-D", "-s", ATTACKER)
        until("who has none any more opens some", lambda: opens(rig, ATTACKER))


def test_who_goes_on_beyond_the_bound_is_remembered_for_a_second(rig: Rig) -> None:
    """So a part that is full is walked once a second, and not for each packet."""
    with firewall(rig, Firewall(connections_per_source=1024)):
        flows(rig, ATTACKER, 1.0, 10_000)
        full = ["nft", "list", "set", "inet", connection_limits.TABLE, "full_connections4"]
        assert rig.run(*full).count(f'"lan0" . {ATTACKER} . ') == 4
        until("it is forgotten", lambda: ATTACKER not in rig.run(*full))


def test_an_ipv6_network_is_one_source_and_four_of_them_a_larger_one(rig: Rig) -> None:
    with firewall(rig, Firewall(connections_per_source=100)):
        send6(rig, [f"2001:db8:64:1::{host + 1:x}" for host in range(300)])
        assert 95 <= tracked(rig) <= 105, "one /64"
        send6(
            rig, [f"2001:db8:64:{number:x}::{host + 1:x}" for number in range(2, 12) for host in range(100)]
        )
        assert 380 <= tracked(rig) <= 405, "ten more in the same /56"
        before = tracked(rig)
        send6(rig, [f"2001:db8:64:100::{host + 1:x}" for host in range(100)])
        assert tracked(rig) > before + 80, "the next /56 is somebody else's"


def test_many_parallel_connections_of_a_customer_are_not_broken(rig: Rig) -> None:
    """Peers that answer, 2,000 of them, opened as fast as the customer's queue allows."""
    with firewall(rig, Firewall()), bound(rig.internet, SERVER) as server:
        port = server.getsockname()[1]
        answering = threading.Thread(target=answer_all, args=(server,), daemon=True)
        answering.start()
        clients = [bound(rig.client_ns, ATTACKER) for _ in range(2000)]
        try:
            waiting = set(clients)
            deadline = time.monotonic() + 60
            for client in clients:
                client.connect((SERVER, port))
                client.setblocking(False)
            while waiting and time.monotonic() < deadline:
                for client in list(waiting):
                    client.send(b"hello")
                    time.sleep(0.001)
                waiting -= {client for client in waiting if answered(client)}
            assert not waiting, f"{len(waiting)} of 2,000 got no answer"
            assert tracked_of(rig, ATTACKER) >= 2000
        finally:
            for client in clients:
                client.close()


def test_a_change_of_the_firewall_forgets_nobodys_connections(rig: Rig) -> None:
    policy = Firewall(connections_per_source=200)
    with firewall(rig, policy):
        flows(rig, ATTACKER, 1.0, 2000)
        assert 195 <= tracked_of(rig, ATTACKER) <= 205
        rig.commit(replace(policy, allow_ping_from_wan=False))
        flows(rig, ATTACKER, 0.3, 2000)
        assert tracked_of(rig, ATTACKER) <= 205


def test_the_router_says_who_fills_the_table_and_who_was_refused(rig: Rig) -> None:
    with firewall(rig, Firewall(connections_per_source=300)):
        until("nobody is named of those refused before", lambda: "warning" not in check(rig))
        flows(rig, ATTACKER, 1.0, 2000)
        most = Connections(lambda: "", tuple)
        with netns.inside(rig.router):
            assert conntrack.fill() == (tracked(rig), int(rig.run("cat", CONNTRACK_MAX)))
            most.look()
            refused = connection_limits.refused()
            assert conntrack.holders(1) == [(ATTACKER, tracked_of(rig, ATTACKER))]
        assert refused.latest[0][:2] == ("lan0", ATTACKER)
        assert refused.sources == sum(packets for _, _, packets in refused.latest) > 100
        until("the router says so", lambda: f"{ATTACKER} (lan0) had as many" in check(rig))


def check(rig: Rig) -> str:
    (found,) = connection_checks(rig.status()["connections"])
    return f"{found['state']}: {found['message']}"


def test_a_table_that_is_nearly_full_names_those_who_fill_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Connections(lambda: "", tuple)
    monkeypatch.setattr(conntrack, "fill", lambda: (900, 1000))
    monkeypatch.setattr(conntrack, "holders", lambda most: [(ATTACKER, 870)])
    monkeypatch.setattr(connection_limits, "refused", lambda: connection_limits.NOTHING_REFUSED)
    (before,) = connection_checks(found.to_json())
    found.look()
    (after,) = connection_checks(found.to_json())
    assert before["message"].endswith("who has most is being counted.")
    assert after == {
        "id": "connections",
        "state": "warning",
        "message": f"900 of 1,000 tracked connections are in use; most have {ATTACKER} (870).",
    }


def test_a_kernel_that_cannot_count_has_the_rest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = connection_limits.expected

    def without_counting(limits: connection_limits.Limits) -> str:
        if limits.connections:
            raise ApplyFailed("nft: Could not process rule: No such file or directory")
        return real(limits)

    rules = (
        PacketRule("forward", "drop", "new", ("wan0",), ct_states=("new",)),
        PacketRule("sources", "bound", "each", outside=("wan0",), connections=7),
    )
    with netns_of_its_own():
        monkeypatch.setattr(connection_limits, "expected", without_counting)
        backend = FirewallBackend()
        difference = backend.diff(backend.read(), FirewallWanted(rules, ()))
        backend.apply(difference)
        backend.verify(difference)
        assert not backend.diff(backend.read(), FirewallWanted(rules, ()))
        assert "ct count" not in connection_limits.held(nft.ruleset())
        assert "No such file" in backend.uncounted_reason


@contextmanager
def netns_of_its_own() -> Iterator[None]:
    name = f"weir-agent-test-{os.getpid()}-count-r"
    netns.create(name)
    try:
        with netns.inside(name):
            yield
    finally:
        netns.remove(name)


def limits_of(rig: Rig) -> str:
    with netns.inside(rig.router):
        return connection_limits.held(nft.ruleset())


def test_a_table_that_somebody_changed_is_repaired_and_costs_no_fast_path(rig: Rig) -> None:
    with firewall(rig, Firewall()):
        before = limits_of(rig)
        rig.run("nft", "flush", "chain", "inet", connection_limits.TABLE, "bounded")
        until("it is as before", lambda: limits_of(rig) == before)
        rig.run("nft", "delete", "table", "inet", connection_limits.TABLE)
        until("it is there again", lambda: limits_of(rig) == before)
        with netns.inside(rig.router):
            assert nft.foreign_forwarding_chain() == ""


def test_an_answered_udp_flow_outlives_the_pause_between_keepalives(rig: Rig) -> None:
    """What is answered within two seconds is no stream to the kernel yet; WireGuard is silent for 25 s."""
    assert opens(rig, BYSTANDER)
    (entry,) = rig.run("conntrack", "-L", "-s", BYSTANDER).splitlines()
    assert int(entry.split()[2]) > 25


def test_what_nobody_answers_is_forgotten_soon(rig: Rig) -> None:
    flows(rig, ATTACKER, 0.2, 100)
    left_s = [int(line.split()[2]) for line in rig.run("conntrack", "-L", "-s", ATTACKER).splitlines()]
    assert left_s
    assert max(left_s) <= 30
    timeouts = {
        "tcp_timeout_syn_sent": 20,
        "tcp_timeout_syn_recv": 30,
        "icmp_timeout": 10,
        "generic_timeout": 60,
    }
    for name, seconds in timeouts.items():
        assert rig.run("sysctl", "-n", f"net.netfilter.nf_conntrack_{name}").strip() == str(seconds)
