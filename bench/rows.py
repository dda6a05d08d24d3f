# SPDX-License-Identifier: Apache-2.0
"""One measured figure, its file and its line in docs/benchmarks.md."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from lab import plan

OUT = plan.BUILD / "bench"
TABLE = plan.ROOT / "docs" / "benchmarks.md"
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Row:
    """`must` is what a release has to reach, `aim` what we would like; `better` says which way is good."""

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
    def of(
        cls,
        id: str,
        what: str,
        unit: str,
        values: Sequence[float],
        *,
        must: float,
        aim: float,
        better: Better,
    ) -> Row:
        """The row of several rounds of one measurement."""
        numbers = (statistics.median(values), min(values), max(values))
        median, least, most = (_rounded(number) for number in numbers)
        return cls(id, what, unit, median, least, most, len(values), must, aim, better)

    @property
    def reaches_must(self) -> bool:
        return self.median >= self.must if self.better == "higher" else self.median <= self.must

    @property
    def reaches_aim(self) -> bool:
        return self.median >= self.aim if self.better == "higher" else self.median <= self.aim


def _rounded(value: float) -> float:
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
        sign = ">=" if row.better == "higher" else "<="
        verdict = "aim" if row.reaches_aim else "must" if row.reaches_must else "**misses**"
        lines.append(
            f"| `{row.id}` | {row.what} | {row.unit} | {row.median:g} | {row.min:g} | {row.max:g} "
            f"| {row.rounds} | {sign} {row.must:g} | {sign} {row.aim:g} | {verdict} |"
        )
    return "\n".join(lines) + "\n"
