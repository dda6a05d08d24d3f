# SPDX-License-Identifier: Apache-2.0
"""Slots, clocks, time edges, interface targets and explanations, each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import patient
from weir.compiler import (
    ClockSpec,
    Compiled,
    SlotAllocation,
    class_key,
    compile_document,
    describe,
    explain,
    next_edge,
    nothing_compiled,
    recompiled,
    update,
)
from weir.compiler.clocks import clock_spec
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue, TimeWindow
from weir.model.problem import NotFound, Unsupported
from weir.parts.network import NETWORK

NOW = datetime(2026, 1, 5, 9, 0)
WORKDAYS = ("mon", "tue", "wed", "thu", "fri")


def compiled_of(*queues: Queue | Interface, allocation: SlotAllocation | None = None) -> Compiled:
    return compile_document(Document(queues), allocation or SlotAllocation(), NOW)


def test_neighbours_in_address_have_neighbouring_slots_below_each_parent() -> None:
    towers = [Queue(f"t{n}", f"t{n}", position=n) for n in range(2)]
    customers = [
        Queue(f"c{n}", f"c{n}", target=(f"10.0.{n // 4}.{n}",), parent=f"t{n // 4}", position=-n)
        for n in range(8)
    ]
    slots = compiled_of(*customers, *towers).slots()
    assert [slots[f"t{n}"] for n in range(2)] == [1, 2]
    assert [slots[f"c{n}"] for n in range(8)] == list(range(3, 11))


def changed(document: Document, old: Queue | None, new: Queue | None) -> list[Change]:
    item = new or old
    assert item is not None
    change = Change("queue", item.id, old, new)
    document.apply([change])
    return [change]


# --- slots ---


def test_slots_are_recovered_by_the_key_in_the_kernel() -> None:
    recovered = {5: class_key("acme"), 9: class_key("left-over")}
    compiled = compiled_of(
        Queue("acme", "acme", ("10.0.0.1/32",)),
        Queue("bob", "bob", ("10.0.0.2/32",)),
        allocation=SlotAllocation(100, recovered),
    )
    assert compiled.slots() == {"acme": 5, "bob": 10}


def test_a_freed_slot_is_the_last_to_be_used_again() -> None:
    acme = Queue("acme", "acme", ("10.0.0.1/32",))
    document = Document([acme])
    compiled = compile_document(document, SlotAllocation(4), NOW)
    compiled.accept(update(compiled, document, changed(document, acme, None)))
    slots = []
    for name in ("a", "b", "c"):
        queue = Queue(name, name, (f"10.0.1.{len(slots)}/32",))
        compiled.accept(update(compiled, document, changed(document, None, queue)))
        slots.append(compiled.slots()[name])
    assert slots == [2, 3, 1]
    with pytest.raises(Unsupported, match="holds 3 queues and is full"):
        update(compiled, document, changed(document, None, Queue("d", "d")))


def test_a_full_table_can_still_be_replaced_as_a_whole() -> None:
    document = Document(Queue(f"a{n}", f"a{n}", (f"10.0.0.{n}/32",)) for n in range(9))
    compiled = compile_document(document, SlotAllocation(10), NOW)
    fresh = Document(Queue(f"b{n}", f"b{n}", (f"10.0.0.{n}/32",)) for n in range(9))
    plan = recompiled(compiled, fresh, NOW)
    assert not plan.shaping.classes.removed, "each slot got a new owner"
    compiled.accept(plan)
    assert sorted(compiled.slots()) == [f"b{n}" for n in range(9)]
    assert sorted(compiled.slots().values()) == list(range(1, 10))


def test_a_plan_fits_only_the_state_it_was_made_from() -> None:
    acme = Queue("acme", "acme", ("10.0.0.1/32",))
    document = Document([acme])
    compiled = compile_document(document, SlotAllocation(), NOW)
    plan = update(compiled, document, changed(document, acme, replace(acme, target=("10.0.0.2/32",))))
    compiled.accept(plan)
    for stale in (plan, plan.inverse()):
        with pytest.raises(ValueError, match="not made from this state"):
            compiled.accept(stale)


# --- clocks ---


@pytest.mark.parametrize(
    ("rate_bps", "bucket_size_ms", "burst_bytes"),
    [
        (10_000_000, 100, 125_000),  # RouterOS' default bucket: 0.1 s of the rate
        (10_000_000, 10_000, 12_500_000),
        (10_000_000, 0, 25_000),  # 20 ms at least
        (64_000, 100, 6056),  # four frames at least
    ],
)
def test_a_bucket_is_its_time_at_the_rate_with_a_floor(
    rate_bps: int, bucket_size_ms: int, burst_bytes: int
) -> None:
    assert clock_spec(rate_bps, bucket_size_ms) == ClockSpec(rate_bps, burst_bytes)


def test_guarantee_and_priority_travel_with_the_clock() -> None:
    queue = Queue(
        "q", "q", max_limit_bps=Pair(9, 0), limit_at_bps=Pair(5, 6), priority=Pair(1, 2), target=("::/0",)
    )
    spec = compiled_of(queue).class_of("q")
    assert spec is not None
    assert spec.upload == ClockSpec(9, 6056, 5, 1)
    assert spec.download == ClockSpec(0, 0, 6, 2)


@pytest.mark.parametrize("burst", [(5, 9, 9), (10**7, 9, 9), (10**8, 0, 9), (10**8, 9, 0)])
def test_a_burst_that_cannot_happen_is_none(burst: tuple[int, int, int]) -> None:
    assert clock_spec(10**7, 100, burst=burst) == clock_spec(10**7, 100)


# --- time ---


def test_the_next_edge_is_the_first_of_all_windows() -> None:
    document = Document(
        [
            Queue("day", "day", time=TimeWindow(480, 1080, WORKDAYS)),
            Queue("noon", "noon", time=TimeWindow(720, 780, ("sun",))),
            Queue("off", "off", time=TimeWindow(600, 601, WORKDAYS), disabled=True),
        ]
    )
    assert next_edge(document, datetime(2026, 1, 5, 7, 59, 30)) == datetime(2026, 1, 5, 8, 0)
    assert next_edge(document, datetime(2026, 1, 5, 8, 0)) == datetime(2026, 1, 5, 18, 0)
    assert next_edge(document, datetime(2026, 1, 9, 18, 0)) == datetime(2026, 1, 11, 12, 0)


def test_a_window_that_never_closes_has_no_edge() -> None:
    assert (
        next_edge(Document([Queue("q", "q", time=TimeWindow(0, 1440, (*WORKDAYS, "sat", "sun")))]), NOW)
        is None
    )
    assert next_edge(Document([Queue("q", "q")]), NOW) is None


@patient
@given(
    st.integers(0, 7 * 1440 - 1),
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.sets(st.sampled_from(WORKDAYS), min_size=1),
)
def test_nothing_switches_before_the_next_edge(at: int, start: int, length: int, days: set[str]) -> None:
    window = TimeWindow(start, min(start + length, 1440), tuple(day for day in WORKDAYS if day in days))
    queue = Queue("q", "q", ("10.0.0.1/32",), time=window)
    document = Document([queue])
    now = datetime(2026, 1, 5 + at // 1440, at % 1440 // 60, at % 60)
    edge = next_edge(document, now)
    assert edge is not None and edge > now
    compiled = compile_document(document, SlotAllocation(), now)
    just_before = edge - timedelta(seconds=1)
    assert not update(compiled, document, [], just_before)
    assert update(compiled, document, [], edge)


# --- interface targets ---


def test_an_interface_target_gets_what_no_prefix_claims_and_the_first_queue_wins() -> None:
    lan = Interface("lan0", "lan")
    first, second = Queue("a", "a", ("lan0",), position=1), Queue("b", "b", ("lan0", "lan9"), position=2)
    document = Document([lan, first, second, Queue("kid", "kid", ("lan0",), parent="b")])
    compiled = compile_document(document, SlotAllocation(), NOW)
    ports = compiled.shaping.ports
    assert set(ports) == {"lan0"}
    assert ports["lan0"].interface_slot == compiled.slots()["a"]
    compiled.accept(update(compiled, document, changed(document, first, None)))
    assert compiled.shaping.ports["lan0"].interface_slot == compiled.slots()["kid"]


def test_a_disabled_interface_is_no_port_and_goes_down() -> None:
    compiled = compiled_of(Interface("lan0", "lan", ("10.0.0.1/24",), disabled=True))
    assert not compiled.shaping.ports
    assert compiled.of(NETWORK)["lan0"].up is False
    assert compiled.of(NETWORK)["lan0"].addresses == ()


# --- explain ---


def test_explain_says_where_each_prefix_went() -> None:
    document = Document(
        [
            Queue("net", "net", ("10.0.0.0/24",), position=1),
            Queue(
                "acme",
                "acme",
                ("10.0.0.5/32", "192.0.2.1/32"),
                position=2,
                max_limit_bps=Pair(10**7, 0),
                burst_limit_bps=Pair(2 * 10**7, 0),
                burst_threshold_bps=Pair(8 * 10**6, 0),
                burst_time_ms=Pair(16_000, 0),
                priority=Pair(3, 8),
            ),
        ]
    )
    compiled = compile_document(document, SlotAllocation(), NOW)
    explanation = explain(compiled, document, "acme")
    assert [(fate.prefix, fate.taken_by, fate.through) for fate in explanation.prefixes] == [
        ("10.0.0.5/32", "net", "10.0.0.0/24"),
        ("192.0.2.1/32", "acme", "192.0.2.1/32"),
    ]
    lines = {(line.field, line.asked): line.compiled for line in explanation.lines}
    assert lines["target", "10.0.0.5/32"] == "its packets go to queue net by 10.0.0.0/24"
    assert lines["max_limit_bps.upload", "10 Mbit/s"] == "10 Mbit/s, bucket 125000 bytes"
    assert lines["max_limit_bps.download", "unlimited"] == "unlimited, counted only"
    assert lines["burst_limit_bps.upload", "20 Mbit/s"] == (
        "20 Mbit/s while the average over 16s is below 8 Mbit/s"
    )
    assert lines["priority.upload", "3"] == "3"
    assert json.loads(json.dumps(explanation.to_json()))["slot"] == explanation.slot > 0


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        (Queue("q", "q", ("10.0.0.1/32",), disabled=True), "it is disabled"),
        (
            Queue("q", "q", ("10.0.0.1/32",), dst="192.0.2.0/24", parent="far"),
            "its dst 192.0.2.0/24 has nothing",
        ),
        (
            Queue("q", "q", ("10.0.0.1/32",), time=TimeWindow(0, 60, ("sun",))),
            "it is outside its time window",
        ),
        (Queue("q", "q", ("10.0.0.1/32",), parent="p"), "its parent 'shut' is disabled"),
        (Queue("q", "q"), "it has no target and no children"),
    ],
)
def test_explain_says_why_a_queue_takes_nothing(queue: Queue, why: str) -> None:
    document = Document([Queue("p", "shut", disabled=True), Queue("far", "far", dst="2001:db8::/32"), queue])
    explanation = explain(compile_document(document, SlotAllocation(), NOW), document, "q")
    assert (explanation.inactive_because or "").startswith(why)


@pytest.mark.parametrize(
    ("others", "target", "meanwhile"),
    [
        pytest.param([], "10.0.0.1/32", "its packets are in no queue, so no queue limits them", id="nobody"),
        pytest.param(
            [Queue("p", "site A")],
            "10.0.0.1/32",
            "its packets go to 'site A'",
            id="its parent without target",
        ),
        pytest.param(
            [Queue("p", "site A"), Queue("net", "the next match", ("10.0.0.0/24",), parent="p")],
            "10.0.0.1/32",
            "its packets go to 'the next match'",
            id="the next in the list",
        ),
        pytest.param([Queue("p", "site A")], "eth1", "its packets go to 'site A'", id="an interface"),
        pytest.param(
            [Queue("top", "everything"), Queue("p", "site A", parent="top", disabled=True)],
            "10.0.0.1/32",
            "its packets go to 'everything'",
            id="the nearest above that is in force",
        ),
    ],
)
@pytest.mark.parametrize("closed", [{"disabled": True}, {"time": TimeWindow(0, 60, ("sun",))}])
def test_a_queue_that_is_not_in_force_leaves_its_packets_to_the_next_match_or_its_parent(
    others: list[Queue], target: str, meanwhile: str, closed: dict[str, Any]
) -> None:
    parent = "p" if any(other.id == "p" for other in others) else None
    queue = Queue("q", "q", (target,), parent=parent, **closed)
    document = Document([Interface("eth1"), *others, queue])
    explanation = explain(compile_document(document, SlotAllocation(), NOW), document, "q")
    assert explanation.meanwhile == meanwhile
    assert explanation.to_json()["meanwhile"] == meanwhile


def test_explain_names_an_unknown_queue() -> None:
    with pytest.raises(NotFound, match="'gone'"):
        explain(compiled_of(), Document(), "gone")


# --- plans ---


def always_made() -> int:
    """What a router without any configuration has, too."""
    return recompiled(nothing_compiled(SlotAllocation(), NOW), Document(), NOW).counts().added


def test_a_first_plan_makes_everything_and_a_second_nothing() -> None:
    document = Document(Queue(f"q{n}", f"q{n}", (f"10.0.0.{n}/32",)) for n in range(3))
    compiled = nothing_compiled(SlotAllocation(), NOW)
    plan = recompiled(compiled, document, NOW)
    assert plan.counts() == (6 + always_made(), 0, 0)
    compiled.accept(plan)
    again = recompiled(compiled, document, NOW)
    assert not again
    assert describe(again) == []


def test_a_long_plan_is_described_in_part() -> None:
    document = Document(Queue(f"q{n}", f"q{n}", (f"10.0.0.{n}/32",)) for n in range(20))
    lines = describe(recompiled(nothing_compiled(SlotAllocation(), NOW), document, NOW), limit=5)
    assert len(lines) == 6
    assert lines[-1] == f"... in all {40 + always_made()} added 0 changed 0 removed"


def test_a_dst_wider_than_its_parents_counts_as_the_parents() -> None:
    compiled = compiled_of(
        Queue("q1", "far", ("10.0.0.0/24",), dst="192.0.2.0/24"),
        Queue("q2", "kid", ("10.0.0.1/32",), parent="q1", dst="192.0.0.0/16"),
    )
    assert compiled.tables.dst["q2"] == "192.0.2.0/24"
