# SPDX-License-Identifier: Apache-2.0
"""Every figure that a release is judged by has its demand, and a group that measures it."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import pytest

from bench import document, likeness, rates
from bench.demands import DEMANDS, RELEASE
from bench.groups import GROUPS
from bench.lock import ELSEWHERE, machines
from bench.rows import Row, bounds_of_median, demand_of, table

REQUIRED = """
paced-4096x3 0.85 0.97
paced-4096x3-vs-htb 2.0 3
paced-4096x3-nat-vs-htb 1.5 2
fast-4096x3 2.3 3.5
fast-100kx3-vs-4096 0.80 0.95
fast-vs-xdp-forward 0.75 1.0
torch-fast 0.95 0.98
paced-100kx3 0.75 0.90
overload 0.90 1.0
random-dst-fast 0.90 0.97
random-dst-kernel 0.90 0.97
lookup-v4-ns 30 10
lookup-v6-ns 60 30
lookup-v4-mb 40 10
kernel-bytes-per-queue 512 256
apply-10k 20 1
apply-one 0.1 0.01
insn-paced 1.15 1.08
insn-fast 0.55 0.45
import-10k-report 3
import-10k-commit 3
import-100k-report 40
import-100k-commit 40
change-one-p50 15
change-one-p99 60
list-100-p99 30
sse-20-core 0.1
rss-100k 400
rollback-100k-late 2 0.5
diff-50k-first 3 1
diff-50k-page 0.3 0.1
import-100k-peak 350 250
commit-50k-peak 350 250
change-during-50k-p99 3 0.5
set-100k-load 6 3
set-entry-one 30 10
rule-one 100 30
rule-one-2k 50 15
route-one 60 20
bgp-neighbor-one 2000 500
unlimited-worst 2 0.3
damaged-database-loaded 0 0
damaged-copy-loaded 0 0
store-growth 2000 500
unlike-frames 0 0
"""
"""The figures that were asked for, with what they must reach and, where one was set, the aim."""

CPUS = os.cpu_count() or 1
HIGHER_IS_BETTER = ("paced", "fast", "overload", "random", "tcp-goodput", "torch")


@pytest.mark.parametrize("line", REQUIRED.split("\n")[1:-1])
def test_a_required_figure_has_the_demand_that_was_made(line: str) -> None:
    id, must, *aim = line.split()
    demand = RELEASE[id]
    assert demand.must == float(must)
    assert not aim or demand.aim == float(aim[0])
    assert demand.better == ("higher" if id.startswith(HIGHER_IS_BETTER) else "lower")


def test_rates_are_demanded_at_every_speed_that_is_measured() -> None:
    wanted = {f"rate-error-{shaper}-{mbit}" for shaper, speeds in rates.UDP_MBIT.items() for mbit in speeds}
    goodput = {
        id: 0.97 if shaper == "edt" else 0.90 for shaper in rates.TRANSFERS for id in rates.tcp_ids(shaper)
    }
    required = {line.split()[0] for line in REQUIRED.split("\n")[1:-1]}
    assert set(RELEASE) - required == wanted | goodput.keys()
    assert all(RELEASE[id].must == 0.01 for id in wanted)
    assert {id: RELEASE[id].must for id in goodput} == goodput


def test_each_demand_belongs_to_one_group() -> None:
    declared = sorted(id for group in GROUPS.values() for id in group.ids)
    assert declared == sorted(DEMANDS)


def test_an_aim_is_at_least_as_good_as_its_must() -> None:
    for id, demand in DEMANDS.items():
        assert demand.aim >= demand.must if demand.better == "higher" else demand.aim <= demand.must, id


def test_a_row_misses_by_its_median_and_a_peer_never_does() -> None:
    row = Row.of("overload", "what", "ratio", [0.95, 0.85, 0.80])
    assert (row.median, row.min, row.max, row.rounds) == (0.85, 0.80, 0.95, 3)
    assert not row.reaches_must
    assert "**misses**" in table([row])
    peer = Row.of("peer-htb", "what", "ratio", [0.2], better="higher")
    assert peer.reaches_must
    assert table([peer]).splitlines()[-1].endswith("| 1 | | | |")


def test_a_row_without_a_demand_has_to_say_what_is_better() -> None:
    with pytest.raises(ValueError, match="peer-htb"):
        demand_of("peer-htb")


def test_the_comparison_of_frames_is_read_from_what_pytest_says() -> None:
    first = "1000 frames, 287 by XDP, 583 with an effect, 0 unlike\n"
    said = f"{first}.250 frames, 17 by XDP, 147 with an effect, 2 unlike\n"
    assert likeness.told(said) == (1250, 304, 2)
    with pytest.raises(ValueError, match="did not end"):
        likeness.told(first)


def test_every_row_of_the_document_has_its_figures_and_belongs_to_a_table() -> None:
    """Rows are put in by hand where only a part was measured again."""
    lines = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    assert len(rows) > 100
    for cells in rows:
        assert len(cells) == 10, cells
        # What one path takes longer than another may be less than nothing.
        least = -100 if cells[0].strip().endswith("-ns`") else 0
        assert all(float(cell) >= least for cell in cells[3:7]), cells
    ids = [cells[0].strip(" `") for cells in rows]
    assert len(ids) == len(set(ids))


def test_bounds_hold_the_median_as_often_as_they_say() -> None:
    """Of 41 values the 14th and the 28th: ranks of the sign test, from its table for 5 %."""
    assert bounds_of_median(range(1, 42)) == (14, 28)
    assert bounds_of_median([3.0, 1.0, 2.0]) == (1.0, 3.0), "three tell nothing"
    chance = random.Random(7)
    held = 0
    for _ in range(2000):
        least, most = bounds_of_median([chance.expovariate(1.0) for _ in range(41)])
        held += least <= math.log(2) <= most
    assert 0.95 <= held / 2000 <= 0.99


def test_the_model_of_many_cores_is_near_what_was_measured_on_two() -> None:
    """The fast machine of the table: 6.1 Mp/s unshaped, .764 of it with 4,096 queues, .539 with 100,000, and
    HTB at a sixth of the former. HTB's lock is at its ceiling already, so more cores change nothing."""
    _, fast = ELSEWHERE
    measured = (6.1, 6.1 * 0.764, 6.1 * 0.539, 6.1 * 0.764 / 5.99)
    assert fast.mpps(2) == pytest.approx(measured, rel=0.01)
    unshaped, edt, _, htb = fast.mpps(48)
    assert unshaped == pytest.approx(24 * measured[0], rel=0.01)
    assert htb == fast.mpps(2)[3]
    assert edt / unshaped == pytest.approx(0.764, rel=0.01)


def test_a_machine_without_all_measurements_is_not_in_the_model() -> None:
    rows = [
        Row.of("unshaped-mpps", "", "Mp/s", [2.0], "higher"),
        Row.of("paced-4096x3-ns", "", "ns", [100.0], "lower"),
        Row.of("paced-100kx3-ns", "", "ns", [300.0], "lower"),
    ]
    assert machines(rows) == list(ELSEWHERE)
    here = machines([*rows, Row.of("peer-htb", "", "ratio", [0.4], "higher")])[-1]
    assert (here.unshaped, here.edt, here.edt_100k) == (pytest.approx(CPUS * 500), 100, 300)
    assert here.htb == pytest.approx(1250), "0.8 Mp/s is one packet in 1,250 ns"


def test_what_is_counted_comes_before_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "benchmarks.md"
    monkeypatch.setattr(document, "PAGE", page)
    timed = Row.of("paced-4096x3", "what", "ratio", [0.9])
    counted = Row.of("lines-paced-100k", "what", "lines", [2.0])
    notes = {"paced": document.Measured("paced", "2026-11-30 05:19", 45, 1.0, "AMD EPYC")}
    document.write({"paced": [timed], "touched": [counted]}, notes, [])
    text = page.read_text()
    order = [
        "Counted: the same on every machine",
        "`lines-paced-100k`",
        "Measured on one machine",
        "`paced-4096x3`",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "| paced | 2026-11-30 05:19 | 45 s | 1.0 | AMD EPYC |" in text
