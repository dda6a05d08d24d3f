# SPDX-License-Identifier: Apache-2.0
"""What two looks at a system say in figures, and what they do not say."""

from __future__ import annotations

import pytest

from weir.diagnosis.figures import FIGURES, LOOKS, OVERVIEW, Looked, grown, in_figures
from weir.diagnosis.sample import Chain, Core, Port, Sample, Socket, Table

SAMPLE = Sample(
    10.0,
    0,
    cores=(Core(1000, 1, 2, 30, 100), Core(5, 0, 0, 0, 100)),
    ports={"eth0": Port(4, "mq", 7_000, 3), "br0": Port(1, "noqueue", 0, 0)},
    neighbours={"neighbours-v4": Table(12, 1024, 0), "neighbours-v6": Table(3, 1024, None)},
    connections={"connections": Table(400, 65_536, 2)},
    stalled_us={"frr.service": 1_000_000},
    woken_late_s=0.002,
    grace_s=0.01,
    sockets=(Socket("0.0.0.0:67", 3), Socket("0.0.0.0:53", 4)),
    overflows=5,
    chains=(Chain("*:80", 2, 0), Chain("*:22", 1, 0)),
)


def test_a_sample_has_figures_as_they_are_and_counters() -> None:
    found = in_figures(SAMPLE)
    assert found.gauges == {
        "neighbours-v4": 12, "neighbours-v6": 3, "connections": 400, "woken-late": 0.002,
        "grace-period": 0.01, "listeners": 2,
    }  # fmt: skip
    assert found.counters == {
        "core-packets/0": 1000, "core-backlog-drops/0": 1, "core-squeezed/0": 2,
        "core-packets/1": 5, "core-backlog-drops/1": 0, "core-squeezed/1": 0,
        "neighbours-v4-refused": 0, "connections-refused": 2, "stalled/frr.service": 1_000_000,
        "overruns/eth0": 3, "socket-drops": 7, "listen-overflows": 5,
    }  # fmt: skip


def test_what_was_not_looked_at_is_in_no_figure() -> None:
    found = in_figures(Sample(10.0, 0, unseen={"cores": "no /proc"}))
    assert (found.gauges, found.counters, found.unseen) == ({}, {}, {"cores": "no /proc"})


def test_rates_and_sums_are_what_counters_grew() -> None:
    before = Looked(10.0, {}, {"core-packets/0": 1000, "stalled/a": 0, "socket-drops": 7}, {})
    now = Looked(15.0, {}, {"core-packets/0": 1500, "stalled/a": 2_500_000, "socket-drops": 9}, {})
    found = dict(grown(before, now))
    assert found == {"core-packets/0": 100, "stalled/a": pytest.approx(0.5), "socket-drops": 2}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"socket-drops": 9}),
        ({"socket-drops": 10}, {"socket-drops": 9}),
        ({"core-packets/0": 1}, {"core-packets/0": 500, "core-packets/1": 5}),
        ({"of-another-release": 1}, {"of-another-release": 2}),
    ],
    ids=["new", "began again", "another number of cores", "unknown"],
)
def test_a_counter_that_cannot_be_compared_says_nothing(before: dict[str, int], now: dict[str, int]) -> None:
    assert list(grown(Looked(10.0, {}, before, {}), Looked(15.0, {}, now, {}))) == []


def test_every_figure_of_a_look_is_declared_and_those_of_a_subject_are_not_in_the_overview() -> None:
    found = in_figures(SAMPLE)
    assert {key.partition("/")[0] for key in (*found.gauges, *found.counters)} <= set(FIGURES)
    assert {name for names in LOOKS.values() for name in names} <= set(FIGURES)
    assert set(OVERVIEW).isdisjoint({"core", "stalled", "overruns"})
