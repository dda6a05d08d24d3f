# SPDX-License-Identifier: Apache-2.0
"""The clock's arithmetic against a model in exact fractions, and no lost charge on several CPUs."""

from __future__ import annotations

import threading
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.clock_model import AHEAD_NS, LEVELS, TICKS_PER_NS, Line, ModelLine, Shim, cost_of
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, Loaded


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    return Shim(tmp_path_factory.mktemp("clock"))


FAST_BPS = 10**6
"""Ancestors above it may be charged ahead."""

quanta = st.integers(0, 10_000_000).map(lambda quanta: quanta * 16)
model_lines = st.builds(ModelLine, st.sampled_from([0, 100, 64_000, 10**7, 10**9, 10**11]), quanta, quanta)
arrivals = st.lists(st.tuples(st.integers(0, 10**8), st.integers(1, 65535)), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(model_lines, min_size=1, max_size=LEVELS),
    arrivals,
    st.booleans(),
    st.sampled_from([0, 20_000_000]),
)
def test_departures_and_drops_are_those_of_the_model(
    shim: Shim,
    chain: list[ModelLine],
    packets: list[tuple[int, int]],
    police: bool,
    burst_min_ns: int,
) -> None:
    shim.reset()
    shim.chain(chain)
    now_ns, charged = 1 << 40, 0
    for gap_ns, size_bytes in packets:
        now_ns += gap_ns
        result, departure_tk = shim.packet(
            1, now_ns * 16, size_bytes, burst_min_ns=burst_min_ns, police=police
        )
        # One rounding to half a tick a packet and the cost's own rounding: stay clear of the edge.
        margin_ns = Fraction(1 + charged, 16) + Fraction(charged * 65535, 65536 * 16)
        if any(line.rate_bps >= FAST_BPS for line in chain[1:]):
            margin_ns += AHEAD_NS
        nearest = (
            min(
                abs(line.clock_ns - now_ns - (0 if police else line.limit_ns))
                for line in chain
                if line.rate_bps
            )
            if any(line.rate_bps for line in chain)
            else margin_ns + 1
        )
        over = [line.over(now_ns, police) for line in chain]
        if nearest <= margin_ns:
            return
        assert result == (0 if not any(over) else 1 if over.index(True) == 0 else 2)
        if any(over):
            continue
        charged += 1
        starts = [line.charge(now_ns, size_bytes, burst_min_ns) for line in chain]
        departure_ns = max(Fraction(now_ns), *starts)
        assert abs(Fraction(departure_tk, 16) - departure_ns) <= margin_ns + 1


@pytest.mark.parametrize("rate_bps", [10**6, 10**7, 10**8, 10**9, 10**10, 10**11])
@pytest.mark.parametrize("size_bytes", [64, 576, 1500])
def test_rates_are_exact_to_a_thousandth(shim: Shim, rate_bps: int, size_bytes: int) -> None:
    shim.reset()
    shim.lines[1] = Line(0, cost_of(rate_bps), 0, 0xFFFFFFFF, 0, 0)
    now_tk = 1 << 50
    for _ in range(1000):
        assert shim.packet(1, now_tk, size_bytes)[0] == 0
    took_s = Fraction(shim.lines[1].clock_tk - now_tk, TICKS_PER_NS * SECOND_NS)
    error = abs(Fraction(1000 * size_bytes * 8) / took_s / rate_bps - 1)
    # At 100 Gbit/s a 64-byte packet is 82 ticks; rounding to the nearest is at most half of one.
    assert error <= Fraction(1, 1000) + (Fraction(1, 160) if rate_bps == 10**11 else 0)


def test_no_charge_is_lost_when_cpus_charge_one_parent(loaded: Loaded) -> None:
    """Two customers of one parent from two threads: the parent's clock moves by every packet that is sent,
    and not by those that are dropped early, whose charge is taken back."""
    rounds, repeat, size_bytes = 40, 2000, 100
    loaded.mode("edt")
    loaded.limit(1, 80_000_000_000, limit_ns=60 * SECOND_NS)
    for slot in (2, 3):
        loaded.limit(slot, 80_000_000_000, limit_ns=60 * SECOND_NS, parent=1)
        loaded.classify(4, p.value4(f"10.0.0.{slot}"), 32, slot)
    start_tk = (time.monotonic_ns() + SECOND_NS) * TICKS_PER_NS
    for slot in (1, 2, 3):
        loaded.set_clock_tk(slot, DOWNLOAD, start_tk)

    def send(slot: int) -> None:
        frame = p.frame4("192.0.2.1", f"10.0.0.{slot}", size_bytes)
        for _ in range(rounds):
            assert loaded.egress(frame, repeat=repeat).verdict in {NEXT, DROP}

    threads = [threading.Thread(target=send, args=(slot,)) for slot in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    each = rounds * repeat
    per_packet_tk = size_bytes * TICKS_PER_NS // 10  # 10 bytes per ns
    sent = {slot: loaded.counters(slot, DOWNLOAD)["packets"] for slot in (2, 3)}
    for slot in (2, 3):
        counters = loaded.counters(slot, DOWNLOAD)
        assert counters["packets"] + counters["drop_packets"] == each
        assert counters["bytes"] == sent[slot] * size_bytes
        assert loaded.clock_tk(slot, DOWNLOAD) - start_tk == sent[slot] * per_packet_tk
    charged_tk = loaded.clock_tk(1, DOWNLOAD) - start_tk - loaded.prepaid_tk(1, DOWNLOAD)
    assert charged_tk == (sent[2] + sent[3]) * per_packet_tk
