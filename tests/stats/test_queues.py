# SPDX-License-Identifier: Apache-2.0
"""Rates and history from counters: exact sums, resets, slot reuse, restarts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.queue_rig import DOWN, UP, Rig
from weir.model.problem import Unavailable
from weir.stats import queues
from weir.stats.history import SecondHistory
from weir.stats.layout import Layout
from weir.stats.queues import QueueFigures
from weir.stats.rates import levels_of
from weir.stats.samples import FIGURES


@pytest.fixture(params=[False, True], ids=["all", "changes"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    found = Rig(by_changes=request.param)
    yield found
    found.counters.close()
    found.maps.close()


def test_the_first_sample_of_a_class_is_no_rate(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.maps.count("a", UP, bytes=10**9, packets=10**6)
    rig.follow()
    rig.second()
    assert rig.rate("a") == (0, 0)


def test_a_queue_is_known_when_it_was_read_twice(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.maps.place("b", 2)
    rig.follow()
    assert rig.figures.coverage() == (0, 2)
    rig.second()
    assert rig.figures.coverage() == (0, 2)
    rig.second()
    rig.maps.place("c", 3)
    rig.follow()
    rig.second()
    assert rig.figures.coverage() == (2, 3)
    assert [row["live"] for row in rig.figures.figures(["a", "b", "c"])] == [True, True, False]
    rig.figures.forget_readings()
    assert rig.figures.coverage() == (0, 3)


def test_the_worst_delay_is_that_of_the_last_second_and_of_all_below(rig: Rig) -> None:
    rig.maps.place("tower", 1)
    rig.maps.place("a", 2, parent=1)
    rig.maps.place("b", 3, parent=1)
    rig.follow()
    rig.second()
    rig.maps.wait("a", DOWN, worst_us=4000, before_us=15_000)
    rig.maps.wait("b", DOWN, worst_us=90_000, age_s=10)
    rig.maps.wait("b", UP, worst_us=700)
    for name in ("a", "b", "tower"):
        rig.maps.count(name, DOWN, bytes=100, packets=1)
    rig.second()
    a, b, tower = (row["worst_delay_us"] for row in rig.figures.figures(["a", "b", "tower"]))
    assert a == {"upload": 0, "download": 15_000}
    assert b == {"upload": 700, "download": 0}
    assert tower == {"upload": 700, "download": 15_000}


def test_rates_are_bits_of_the_last_second_by_direction(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()
    rig.maps.count("a", UP, bytes=1250, packets=2)
    rig.maps.count("a", DOWN, bytes=62_500, packets=100, drop_packets=7, fast_bytes=62_500, delay_us=50)
    rig.second()
    row = rig.figures.figures(["a"])[0]
    assert row["rate_bps"] == {"upload": 10_000, "download": 1_000_000}
    assert row["drops_ps"] == {"upload": 0, "download": 7}
    assert row["bytes"] == {"upload": 1250, "download": 125_000}
    assert row["delay_us"]["download"] == 0.5
    assert row["fast_share"] == pytest.approx(62_500 / 126_250, abs=1e-4)
    assert row["live"] is True
    rig.second(2.0)
    assert rig.rate("a") == (0, 0)


def test_a_parent_is_the_sum_of_what_is_below_it(rig: Rig) -> None:
    rig.maps.place("root", 5)
    rig.maps.place("site", 9, parent=5)
    rig.maps.place("leaf", 2, parent=9)
    rig.maps.place("other", 3, parent=5)
    rig.follow()
    rig.second()
    for name in ("root", "site", "leaf", "other"):
        rig.maps.count(name, DOWN, bytes=1000, packets=1)
    rig.second()
    assert [rig.rate(name)[1] for name in ("leaf", "site", "other", "root")] == [8000, 16000, 8000, 32000]
    assert rig.figures.figures(["root"])[0]["bytes"]["download"] == 4000


def test_a_counter_that_went_back_counts_from_zero(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.maps.count("a", UP, bytes=10_000, packets=10)
    rig.follow()
    rig.second()
    rig.maps.clear(2)
    rig.maps.count("a", UP, bytes=500, packets=1)
    rig.second()
    assert rig.rate("a")[0] == 4000


def test_a_reused_slot_inherits_neither_rate_nor_history(rig: Rig) -> None:
    rig.maps.place("old", 1)
    rig.follow()
    rig.second()
    rig.maps.count("old", UP, bytes=10**6, packets=10)
    rig.second(60)
    rig.second(60)
    rig.maps.free("old")
    rig.maps.place("new", 1)
    rig.maps.count("new", UP, bytes=10**7, packets=10)
    rig.follow()
    rig.second()
    assert rig.rate("new") == (0, 0)
    assert rig.figures.figures(["old"])[0]["live"] is False
    assert not any(rig.figures.recent("new", "1h")["upload"]["rate_bps"])


def test_history_follows_a_queue_to_another_slot(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()
    rig.maps.count("a", DOWN, bytes=750_000_000, packets=10)
    rig.second(60)
    rig.second(60)
    before = rig.figures.recent("a", "1h")["download"]["rate_bps"]
    assert max(value or 0 for value in before) > 0
    rig.maps.free("a")
    rig.maps.place("b", 1)
    rig.maps.place("a", 40)
    rig.follow()
    assert rig.figures.recent("a", "1h")["download"]["rate_bps"] == before


def test_history_says_marks_waits_and_why_packets_were_dropped(rig: Rig) -> None:
    """In all windows; a parent has what is below it: the sum, and the longest wait."""
    rig.maps.place("tower", 1)
    rig.maps.place("a", 2, parent=1)
    rig.maps.place("b", 3, parent=1)
    rig.follow()
    rig.second()
    for _ in range(60):
        rig.maps.count("a", DOWN, bytes=100, packets=1, mark_packets=8)
        rig.maps.count("a", DOWN, drop_packets=15, ancestor_drop_packets=3, early_packets=6)
        rig.maps.count("b", DOWN, bytes=100, packets=1, drop_packets=15)
        rig.maps.wait("a", DOWN, worst_us=40_000)
        rig.second()
    rig.second(10)
    rig.second(60)
    for window, newest in (("2m", -66), ("1h", -2)):
        a, tower = (rig.figures.recent(name, window)["download"] for name in ("a", "tower"))
        figures = [a[name][newest] for name in FIGURES[1:]]
        if window == "2m":
            assert figures == pytest.approx([15, 8, 6, 3, 40_000], rel=0.05)
            assert tower["drops_ps"][newest] == pytest.approx(30, rel=0.05)
            assert tower["early_drops_ps"][newest] == pytest.approx(6, rel=0.05)
        else:
            assert figures == pytest.approx([15 * 6 / 7, 8 * 6 / 7, 6 * 6 / 7, 3 * 6 / 7, 40_000], rel=0.2)
        assert tower["worst_delay_us"][newest] == pytest.approx(40_000, rel=0.04)
    assert set(a) == {*FIGURES, "round_trip_us"}


def test_counters_of_32_bits_may_wrap(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.maps.count("a", UP, early_packets=2**32 - 4)
    rig.follow()
    rig.second()
    rig.maps.clear_word("early_packets", 2)
    rig.maps.count("a", UP, bytes=1, packets=1, drop_packets=8, early_packets=4)
    rig.second()
    assert rig.figures.recent("a", "2m")["upload"]["early_drops_ps"][-1] == pytest.approx(8, rel=0.05)


def test_what_an_htb_class_drops_is_a_drop_and_did_not_pass(rig: Rig) -> None:
    """Counted packets are what was handed to the tree; its counters have 32 bits, for each port."""
    rig.maps.place("tower", 1)
    rig.maps.place("a", 2, parent=1)
    rig.follow()
    rig.second()
    rig.figures.note_tree_drops([("lan0", 2, DOWN, 2**32 - 10)], 100.0)
    rig.maps.count("a", DOWN, bytes=100_000, packets=100)
    rig.second()
    assert rig.rate("a") == (0, 800_000), "what was dropped before the first reading is of no second"
    rig.figures.note_tree_drops([("lan0", 2, DOWN, 10), ("lan1", 2, DOWN, 5)], 101.0)
    rig.maps.count("a", DOWN, bytes=100_000, packets=100)
    rig.second()
    for name in ("a", "tower"):
        row = rig.figures.figures([name])[0]
        assert row["rate_bps"]["download"] == 600_000 and row["packets_ps"]["download"] == 75
        assert row["drops_ps"] == {"upload": 0, "download": 25}
        assert row["drops"]["download"] == 2**32 + 15
    rig.maps.place("b", 3)
    rig.follow()
    assert rig.figures.figures(["a"])[0]["drops"]["download"] == 0, "slots may be others' now"


def test_two_minutes_are_kept_by_the_second(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()
    for step in range(1, 4):
        rig.maps.count("a", UP, bytes=125 * step, packets=1)
        rig.second()
    recent = rig.figures.recent("a", "2m")
    assert recent["step_s"] == 1
    assert recent["start"] == rig.now - 119
    assert recent["upload"]["rate_bps"][-3:] == pytest.approx([1000, 2000, 3000], rel=5e-4)
    assert recent["upload"]["rate_bps"][0] is None


def test_seconds_without_a_sample_and_those_before_a_second_reading_stay_empty(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()

    def carried(seconds: float, catching_up: int = 0) -> None:
        rig.now += seconds
        for _ in range(1 + catching_up):
            rig.maps.count("a", UP, bytes=125, packets=1)
            rig.figures.sample(rig.counters, rig.now, 1.0)

    def recent(count: int) -> list[bool]:
        return [rate is not None for rate in rig.figures.recent("a", "2m")["upload"]["rate_bps"][-count:]]

    carried(1)
    assert recent(3) == [False, False, True], "the first reading is no rate"
    carried(4, catching_up=3)
    assert recent(5) == [True] * 5, "late ones are made up for"
    rig.figures.forget_readings()
    carried(30, catching_up=5)
    assert recent(31) == [True] + [False] * 25 + [True] * 5
    assert rig.figures.recent("a", "2m")["start"] == rig.now - 119


def test_the_minute_is_the_mean_of_the_last_sixty_seconds(rig: Rig) -> None:
    rig.maps.place("a", 1)
    rig.follow()
    rig.second()
    for second in range(120):
        rig.maps.count("a", UP, bytes=125 if second < 60 else 1250, packets=1)
        rig.second()
    assert rig.figures.figures(["a"])[0]["minute_rate_bps"]["upload"] == pytest.approx(10_000, rel=0.01)


def test_the_ranking_is_by_the_figure_asked_for(rig: Rig) -> None:
    for slot, name in enumerate(("a", "b", "c", "idle"), 1):
        rig.maps.place(name, slot)
    rig.follow()
    rig.second()
    for name, up, down in (("a", 3, 1), ("b", 2, 2), ("c", 1, 9)):
        rig.maps.count(name, UP, bytes=up, packets=1)
        rig.maps.count(name, DOWN, bytes=down, packets=1)
    rig.second()
    assert rig.figures.ranking("rate_upload", 10) == ["a", "b", "c"]
    assert rig.figures.ranking("rate_download", 2) == ["c", "b"]
    assert rig.figures.ranking("drops", 10) == []


def test_the_ranking_by_load_is_by_the_share_of_the_limit(rig: Rig) -> None:
    """A small queue that is full comes before a large one with more traffic; without a limit none is full."""
    for slot, name in enumerate(("large", "small", "up", "endless", "idle"), 1):
        rig.maps.place(name, slot)
    rig.maps.limits_bps[2:8] = [10**8, 10**8, 10**6, 2 * 10**6, 10**6, 10**9]
    rig.maps.limits_bps[10:12] = 10**6
    rig.follow()
    rig.second()
    rig.maps.count("large", DOWN, bytes=5 * 10**6, packets=5000)  # 40 %
    rig.maps.count("small", DOWN, bytes=240_000, packets=200)  # 96 %
    rig.maps.count("up", UP, bytes=100_000, packets=100)  # 80 %
    rig.maps.count("endless", DOWN, bytes=10**8, packets=10**5)
    rig.second()
    assert rig.figures.ranking_by_load(rig.counters, 10) == ["small", "up", "large"]
    rig.maps.limits_bps[3] = 10**7  # no queue got another slot: the limit is read when it is asked for
    assert rig.figures.ranking_by_load(rig.counters, 2) == ["large", "small"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 30)), max_size=4), max_size=8))
def test_what_changed_says_the_same_as_all(steps: list[list[tuple[str, int]]]) -> None:
    """A queue goes to a slot, or away (0); a slot in use is left alone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(queues, "SPARE_SLOTS", 4)
        patched.setattr(queues, "MOST_LATE", 3)
        by_changes, whole = Rig(by_changes=True), QueueFigures()
        maps = by_changes.maps
        maps.place("parent", 3)
        for step in [[], *steps]:
            for name, slot in step:
                if name in maps.slots:
                    maps.free(name)
                if slot and slot not in maps.slots.values():
                    maps.place(name, slot, parent=3)
            by_changes.follow()
            whole.set_slots(maps.slots, by_changes.counters)
            for name in maps.slots:
                maps.count(name, UP, bytes=1000 * len(name), packets=1)
            for _ in range(2):
                by_changes.second()
                whole.sample(by_changes.counters, by_changes.now, 1.0)
            every = [*"abcdefg", "parent", "nobody"]
            assert by_changes.figures.figures(every) == whole.figures(every)
            ranked = [found.ranking("rate_upload", 9) for found in (by_changes.figures, whole)]
            assert set(ranked[0]) == set(ranked[1])
            assert by_changes.figures.coverage() == whole.coverage()
        by_changes.counters.close()
        maps.close()


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_any_parents_give_levels_that_end(parents: list[int]) -> None:
    levels = levels_of(np.array(parents, np.uint32))
    assert len(levels) <= 16


def test_the_seconds_forget_who_was_not_asked_for_the_longest() -> None:
    seconds = SecondHistory(slots=4)
    seconds.watch([1, 2, 3, 4])
    seconds.watch([1])
    seconds.watch([5])
    assert seconds.place(2) is None
    assert None not in (seconds.place(1), seconds.place(5))


@pytest.mark.parametrize(
    "answer", [{}, {"lines": 4}, {"lines": "x", "stride": 64, "details": {}, "class": {}}]
)
def test_a_layout_that_is_not_understood_is_a_problem(answer: dict[str, object]) -> None:
    with pytest.raises(Unavailable):
        Layout.read(answer)
