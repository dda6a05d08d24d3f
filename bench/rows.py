# SPDX-License-Identifier: Apache-2.0
"""One measured figure, its file and its line in docs/benchmarks.md."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.demands import DEMANDS, Better, Demand
from lab import plan

OUT = plan.BUILD / "bench"
ANYTHING = {"higher": 0.0, "lower": 1e9}
"""The `must` and `aim` in the file of a row of which nothing is demanded."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure and what is demanded of it (`bench.demands`)."""

    id: str
    what: str
    unit: str
    median: float
    min: float
    max: float
    rounds: int
    must: float
    aim: float
    better: Better

    @classmethod
    def of(cls, id: str, what: str, unit: str, values: Sequence[float], better: Better | None = None) -> Row:
        """The row of several rounds of one measurement; `better` is needed where nothing is demanded."""
        median, least, most = (round_4(f(values)) for f in (statistics.median, min, max))
        demand = demand_of(id, better)
        return cls(id, what, unit, median, least, most, len(values), demand.must, demand.aim, demand.better)

    @property
    def demanded(self) -> bool:
        return self.id in DEMANDS

    @property
    def reaches_must(self) -> bool:
        return self.median >= self.must if self.better == "higher" else self.median <= self.must

    @property
    def reaches_aim(self) -> bool:
        return self.median >= self.aim if self.better == "higher" else self.median <= self.aim


def demand_of(id: str, better: Better | None = None) -> Demand:
    """What is demanded of a row; of others anything will do, and `better` says which way is good."""
    if id in DEMANDS:
        return DEMANDS[id]
    if better is None:
        raise ValueError(f"bench: nothing is demanded of {id}, and it does not say what is better")
    return Demand(ANYTHING[better], ANYTHING[better], better)


def bounds_of_median(values: Sequence[float], doubt: float = 0.05) -> tuple[float, float]:
    """Between which the median of all such values is, but for a doubt. Whatever their distribution: each is
    below the median as often as a coin shows heads (order statistics). Few values may not tell: then it is
    the least and the most of them."""
    ordered, count = sorted(values), len(values)
    below, outside = 0, 1.0  # chances, of 2 ** count, that so few values or fewer are below the median
    while below < count // 2 and 2 * outside / 2**count <= doubt:
        below += 1
        outside += math.comb(count, below)
    place = max(below - 1, 0)
    return ordered[place], ordered[-1 - place]


def round_4(value: float) -> float:
    """Four significant digits: more would pretend a precision that no round repeats."""
    return float(f"{value:.4g}")


def write(name: str, rows: Sequence[Row], folder: Path = OUT) -> None:
    """Write build/bench/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(row) for row in rows], indent=1)
    (folder / f"{name}.json").write_text(text + "\n")


def read(path: Path) -> list[Row]:
    return [Row(**fields) for fields in json.loads(path.read_text())]


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| id | what | unit | median | min | max | rounds | must | aim | |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        lines.append(
            f"| `{row.id}` | {row.what} | {row.unit} | {row.median:g} | {row.min:g} | {row.max:g} "
            f"| {row.rounds} | {verdict(row)} |"
        )
    return "\n".join(lines) + "\n"


def verdict(row: Row) -> str:
    """The last three columns: must, aim, and which of them the median reaches."""
    if not row.demanded:
        return "| |"
    sign = ">=" if row.better == "higher" else "<="
    reached = "aim" if row.reaches_aim else "must" if row.reaches_must else "**misses**"
    return f"{sign} {row.must:g} | {sign} {row.aim:g} | {reached}"
