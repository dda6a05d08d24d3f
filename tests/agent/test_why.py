# SPDX-License-Identifier: Apache-2.0
"""Why a customer is slow, with packets: a router in namespaces whose customers are at a limit, below a full
parent, idle, or gone. The API's own sampler measures, the agent tells the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from lab import netns
from tests.agent.meter import metered
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.accounts.principal import Principal
from weir.diagnosis.judged import Judged
from weir.diagnosis.line import Answer
from weir.http.context import Context
from weir.model.objects import Pair, Queue

M = 1_000_000
BY = Principal(0, "test", "admin", "local", "test", "test", 0)
OF_THE_MACHINE = ("core-busy", "core-drops", "router-finding", "memory-low")
"""What the cores do is the whole machine's, which tests share; all of it ranks behind what is made here."""
ANSWER_S = 2.0


def customer(name: str, address: str, limit_bps: int, parent: str | None = None) -> Queue:
    return Queue(name, name, (f"{address}/32",), parent=parent, max_limit_bps=Pair(limit_bps, limit_bps))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "0.5") as made:
        made.run("ip", "addr", "add", "10.64.0.3/24", "dev", "c0", namespace=made.client_ns)
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        made.commit(
            lan(),
            wan(),
            customer("bound", "10.64.0.2", M),
            Queue("tower", "tower", max_limit_bps=Pair(2 * M, 2 * M)),
            customer("small", "10.64.0.4", 50 * M, "tower"),
            customer("large", "10.64.0.3", 50 * M, "tower"),
            customer("gone", "10.64.0.99", 50 * M),
        )
        yield made


def asked(parts: Context, queue_id: str | None = None, address: str | None = None) -> Answer:
    return parts.service.why.line(BY, parts.stats, queue_id, address, "203.0.113.1").answer


def at(answer: Answer, place: str) -> Judged:
    return next(item for item in answer.line if item.place == place)


def lost(answer: Answer, way: str, where: str) -> dict[str, float]:
    """The figures of the packets that are lost there, by name."""
    (found,) = (loss for loss in answer.losses if (loss.way, loss.where) == (way, where))
    return {number.name: number.value for number in found.numbers}


def culprit(parts: Context, queue_id: str) -> Callable[[], str]:
    def code() -> str:
        found = asked(parts, queue_id).culprit
        return found.code if found else ""

    return code


def test_a_customer_that_sends_above_the_limit_is_the_culprit(rig: Rig, parts: Context) -> None:
    with metered(rig, 5 * M) as meter:
        code, here = culprit(parts, "bound"), lambda: lost(asked(parts, "bound"), "upload", "here")
        until("the queue is found full", lambda: code() == "queue-full")
        meter.watch(2.0)
        begun_s = time.monotonic()
        answer = asked(parts, address="10.64.0.2")
        assert time.monotonic() - begun_s < ANSWER_S
        # Once there are a few samples of the queue.
        until("the reasons of its drops are known", lambda: here().get("over_limit_ps", 0.0) > 50)
    assert answer.culprit is not None and answer.culprit.subject == "bound"
    numbers = {number.name: number.value for number in answer.culprit.numbers}
    assert 0.9 <= numbers["upload_used_share"] <= 1.15
    assert numbers["upload_drops_ps"] > 50
    assert at(answer, "access").subject == "lan0" and at(answer, "uplink").subject == "wan0"
    assert at(answer, "device").state == "clear"
    assert lost(answer, "upload", "here")["dropped_share"] > 0.5
    assert not lost(answer, "upload", "before")


def test_a_full_tower_is_the_culprit_and_its_busy_customer_is_named(rig: Rig, parts: Context) -> None:
    with metered(rig, 10 * M, near="10.64.0.3"):
        code = culprit(parts, "small")
        until("the tower is found full", lambda: code() == "parent-full")
        answer = asked(parts, "small")
    assert "large takes" in answer.sentence, answer.sentence


def test_an_idle_customer_sent_nothing_and_its_queue_is_ruled_out(parts: Context) -> None:
    until("it was measured for long enough", lambda: culprit(parts, "small")() == "nothing-came", 60)
    answer = asked(parts, "small")
    assert at(answer, "queue").state == "clear"
    assert at(answer, "access").state == "clear"


def test_a_customer_within_the_limit_is_not_held_back_by_this_router(rig: Rig, parts: Context) -> None:
    with metered(rig, M // 3) as meter:
        meter.watch(12.0)
        answer = asked(parts, "bound")
    assert answer.culprit is None or answer.culprit.code in OF_THE_MACHINE
    for place in ("device", "access", "queue", "uplink"):
        assert at(answer, place).state == "clear", at(answer, place)
    assert at(answer, "internet").state == "unknown", "UDP has no round trip"


def test_a_customer_who_does_not_answer_is_found_by_arp(rig: Rig, parts: Context) -> None:
    rig.run("sh", "-c", "ping -c1 -W1 10.64.0.99 || true")
    until("it is given up", lambda: culprit(parts, "gone")() == "device-silent")
    assert "10.64.0.99 does not answer on lan0" in asked(parts, "gone").sentence


def test_an_address_in_no_queue_is_told_so(parts: Context) -> None:
    answer = asked(parts, address="10.64.0.77")
    assert at(answer, "queue").sentence == "No queue limits 10.64.0.77."
    assert at(answer, "queue").state == "clear"


def test_an_address_that_was_heard_of_is_where_it_was_heard_of(rig: Rig, parts: Context) -> None:
    rig.run("ip", "neigh", "add", "192.0.2.55", "lladdr", "02:00:00:00:00:55", "dev", "lan0")
    answer = asked(parts, address="192.0.2.55")
    assert at(answer, "access").subject == "lan0", "no route leads there by lan0"
    device = at(answer, "device")
    assert (device.state, device.subject) == ("unknown", "192.0.2.55")
    assert "permanent neighbor entry" in device.sentence


def test_a_cable_that_is_pulled_is_the_culprit(rig: Rig, parts: Context) -> None:
    netns.ip(rig.client_ns, ["link set c0 down"])
    try:
        until("the port is found down", lambda: culprit(parts, "bound")() == "access-down")
    finally:
        netns.ip(rig.client_ns, ["link set c0 up"])


def test_round_trips_are_read_from_the_agents_own_table(parts: Context) -> None:
    """Through a descriptor that may only read; what cannot be read is not asked for again."""
    parts.stats.tick()
    counters = parts.stats._counters
    assert counters is not None
    for _ in range(2):
        counters.round_trips()
        assert counters._trips is not None
