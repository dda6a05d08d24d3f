# SPDX-License-Identifier: Apache-2.0
"""Ancestors charged ahead by every CPU: nothing is lost, and no packet starts much earlier or later."""

from __future__ import annotations

import os
import random
import threading
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datapath import packets as p
from tests.datapath.clock_model import AHEAD_NS, TICKS_PER_NS, Line, ModelLine, Shim, cost_of
from tests.datapath.loaded import DOWNLOAD, POLICE_BURST_NS, SECOND_NS, Loaded

LEAF, PARENT = 1, 2
START_NS = 1 << 40
LAG_NS = 1_000_000
DURATION_NS = 400_000_000
PLACES = 1024


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    return Shim(tmp_path_factory.mktemp("quantum"))


def place_of(line: int) -> int:
    return (line * 0x9E3779B1 & 0xFFFFFFFF) // (2**32 // PLACES)


arrivals = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 300_000), st.integers(40, 9000)), min_size=1, max_size=100
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([10**8, 10**9, 10**10, 10**11]), st.integers(0, 10**7), arrivals)
def test_starts_stay_near_those_of_one_queue(
    shim: Shim, rate_bps: int, burst_ns: int, packets: list[tuple[int, int, int]]
) -> None:
    """Eight CPUs share a parent: each packet leaves as from one queue, give or take what is prepaid and may
    have been for a millisecond, and no CPU's packets overtake each other."""
    burst_ns = burst_ns // 16 * 16
    model = ModelLine(rate_bps, burst_ns, 0)
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(rate_bps, burst_ns, 60 * SECOND_NS)])
    now_ns, last_tk = START_NS, [0] * 8
    for number, (cpu, gap_ns, size_bytes) in enumerate(packets):
        now_ns += gap_ns
        result, departure_tk = shim.packet(LEAF, now_ns * TICKS_PER_NS, size_bytes, cpu=cpu)
        assert result == 0
        assert departure_tk >= last_tk[cpu]
        last_tk[cpu] = departure_tk
        expected_ns = max(model.charge(now_ns, size_bytes, 0), Fraction(now_ns))
        difference_ns = Fraction(departure_tk, TICKS_PER_NS) - expected_ns
        rounding_ns = number + 1
        assert -LAG_NS - 8 * AHEAD_NS - rounding_ns <= difference_ns <= 8 * AHEAD_NS + rounding_ns


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([10**8, 10**9, 10**10]), arrivals)
def test_exactly_what_was_sent_is_charged(
    shim: Shim, rate_bps: int, packets: list[tuple[int, int, int]]
) -> None:
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(rate_bps, 0, 60 * SECOND_NS)])
    begin_tk = (START_NS + 10 * SECOND_NS) * TICKS_PER_NS
    shim.lines[PARENT].clock_tk = begin_tk
    sent_tk = 0
    for cpu, gap_ns, size_bytes in packets:
        assert shim.packet(LEAF, (START_NS + gap_ns) * TICKS_PER_NS, size_bytes, cpu=cpu)[0] == 0
        sent_tk += (cost_of(rate_bps) * size_bytes + 32768) // 65536
    assert shim.lines[PARENT].clock_tk - begin_tk - shim.prepaid_tk(PARENT) == sent_tk


@pytest.mark.parametrize("rate_bps", [2 * 10**9, 10**10, 10**11])
def test_what_is_dropped_early_puts_no_start_back(shim: Shim, rate_bps: int) -> None:
    """A packet that gets its charge back leaves no trace: starts on one processor never go back, and exactly
    what was sent is charged."""
    drawn = random.Random(rate_bps)
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(rate_bps, 0, 60 * SECOND_NS)])
    begin_tk = (START_NS + 10 * SECOND_NS) * TICKS_PER_NS
    shim.lines[PARENT].clock_tk = begin_tk
    sent_tk, last_tk = 0, [0] * 3
    for _ in range(20_000):
        cpu, size_bytes = drawn.randrange(3), drawn.choice((64, 576, 1500))
        result, departure_tk = shim.packet(LEAF, START_NS * TICKS_PER_NS, size_bytes, cpu=cpu)
        assert result == 0
        if drawn.random() < 0.3:
            shim.refund(LEAF, size_bytes, cpu=cpu)
            continue
        assert departure_tk >= last_tk[cpu]
        last_tk[cpu] = departure_tk
        sent_tk += (cost_of(rate_bps) * size_bytes + 32768) // 65536
    assert shim.lines[PARENT].clock_tk - begin_tk - shim.prepaid_tk(PARENT) == sent_tk


def test_a_policed_parent_passes_its_rate_with_48_processors(shim: Shim) -> None:
    """Twice the rate is offered, half of it by one CPU and the rest by 48 at random."""
    rate_bps, size_bytes, duration_ns, bucket_ns = 2 * 10**9, 200, 200_000_000, 20_000_000
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(rate_bps, 0, 0)])
    gap_ns = size_bytes * 8 * SECOND_NS // rate_bps // 2
    chooser, sent_bytes = random.Random(1), 0
    for now_ns in range(START_NS, START_NS + duration_ns, gap_ns):
        cpu = chooser.choice((0, chooser.randrange(48)))
        result, _ = shim.packet(
            LEAF, now_ns * TICKS_PER_NS, size_bytes, police=True, burst_min_ns=bucket_ns, cpu=cpu
        )
        sent_bytes += size_bytes if result == 0 else 0
    wanted = Fraction(rate_bps * (duration_ns + bucket_ns), 8 * SECOND_NS)
    prepaid = Fraction(rate_bps * shim.prepaid_tk(PARENT), 8 * SECOND_NS * TICKS_PER_NS)
    assert sent_bytes + prepaid == pytest.approx(float(wanted), rel=1e-4)


def test_a_processor_that_was_silent_starts_at_most_a_millisecond_early(shim: Shim) -> None:
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(10**10, 0, 60 * SECOND_NS)])
    now_tk = START_NS * TICKS_PER_NS
    shim.packet(LEAF, now_tk, 100, cpu=1)
    for _ in range(100_000):
        _, last_tk = shim.packet(LEAF, now_tk, 1000, cpu=0)
    assert last_tk - now_tk > 50 * LAG_NS * TICKS_PER_NS, "a backlog of more than 50 ms"
    _, departure_tk = shim.packet(LEAF, now_tk, 100, cpu=1)
    assert last_tk - (LAG_NS + AHEAD_NS) * TICKS_PER_NS <= departure_tk <= last_tk


def test_a_new_class_finds_nothing_prepaid(shim: Shim) -> None:
    shim.reset()
    for age in (7, 8):
        shim.lines[LEAF] = Line(0, 0, 0, 0, PARENT, 0)
        shim.lines[PARENT] = Line(0, cost_of(10**9), 0, 2**32 - 1, 0, 0, flags=age << 8)
        assert shim.prepaid_tk(PARENT) == 0
        shim.packet(LEAF, (START_NS + age) * TICKS_PER_NS, 100)
        assert 0 < shim.prepaid_tk(PARENT) <= AHEAD_NS * TICKS_PER_NS


def test_a_line_whose_place_is_taken_is_charged_packet_by_packet(shim: Shim) -> None:
    other = next(line for line in range(3, 4096) if place_of(line) == place_of(PARENT))
    shim.reset()
    shim.chain([ModelLine(0, 0, 0), ModelLine(10**9, 0, SECOND_NS)], first=LEAF)
    now_tk = START_NS * TICKS_PER_NS
    shim.packet(LEAF, now_tk, 100)
    shim.chain([ModelLine(0, 0, 0), ModelLine(10**9, 0, SECOND_NS)], first=other - 1)
    for _ in range(100):
        shim.packet(other - 1, now_tk, 125)
    assert shim.lines[other].clock_tk - now_tk == 100 * 1000 * TICKS_PER_NS
    assert shim.prepaid_tk(PARENT) > 0, "the first one's is untouched"
    shim.packet(other - 1, now_tk + 2 * SECOND_NS * TICKS_PER_NS, 125)
    assert shim.prepaid_tk(other) > 0, "which was not used for long"


def flood(loaded: Loaded, slots: range) -> tuple[int, int]:
    """(bytes let through, ns it took) of packets to all slots from a thread pinned to each CPU."""
    frames = [p.frame4("192.0.2.1", f"10.0.0.{slot}", 100) for slot in slots]
    before = sum(loaded.counters(slot, DOWNLOAD)["bytes"] for slot in slots)
    begun_ns = time.monotonic_ns()

    def send(cpu: int) -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_RR, os.sched_param(1))
        while time.monotonic_ns() < begun_ns + DURATION_NS:
            for frame in frames:
                loaded.egress(frame, repeat=50)

    threads = [threading.Thread(target=send, args=(cpu,)) for cpu in os.sched_getaffinity(0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_ns = time.monotonic_ns() - begun_ns
    return sum(loaded.counters(slot, DOWNLOAD)["bytes"] for slot in slots) - before, took_ns


def test_a_parent_of_many_passes_its_rate_on_all_processors(loaded: Loaded) -> None:
    """Real programs; 32 customers offer far more than the parent's rate. A machine that lets all threads
    wait for longer than the burst loses what could have passed meanwhile: the best of three counts."""
    rate_bps, slots = 400_000_000, range(2, 34)
    loaded.mode("police")
    loaded.limit(1, rate_bps, limit_ns=0)
    for slot in slots:
        loaded.limit(slot, 100_000_000_000, limit_ns=0, parent=1)
        loaded.classify(4, p.value4(f"10.0.0.{slot}"), 32, slot)
    shares = []
    flood(loaded, slots)  # takes what the bucket holds
    for _ in range(3):
        sent_bytes, took_ns = flood(loaded, slots)
        extra_ns = POLICE_BURST_NS + len(os.sched_getaffinity(0)) * AHEAD_NS
        assert sent_bytes * 8 * SECOND_NS <= rate_bps * (took_ns + extra_ns)
        shares.append(sent_bytes * 8 * SECOND_NS / (rate_bps * took_ns))
    assert max(shares) >= 0.99
