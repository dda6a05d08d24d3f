# SPDX-License-Identifier: Apache-2.0
"""The system's own figures of the last 24 hours by the minute (docs/adr/0225). The statistics' thread calls
`tick`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weir.diagnosis.figures import FIGURES, LOOKS, OVERVIEW, Looked, figure_of, grown
from weir.model.problem import Problem
from weir.service.lazy import once
from weir.service.router_state import Router
from weir.stats.figure_file import FigureFile
from weir.stats.figures import FigureBook, Series
from weir.wire.client import AgentClient

Json = dict[str, Any]
LOOK_S = 5.0
"""As often as the agent looks."""
APART_S = 15.0
"""Looks that are farther apart say nothing of one minute."""
READINGS_APART_S = 150.0
"""The same of readings of all that drops, which are a minute apart."""
_DIGITS = 5
"""Of the fraction: figures are shares, seconds or counts."""


class FigureService:
    """Reading is thread-safe."""

    def __init__(
        self,
        agent: AgentClient,
        path: Path | None,
        dropped: Callable[[], tuple[float, int]],
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """In memory without a path. `dropped` gives when all that drops was read last (Unix seconds; 0:
        never), and how many packets were dropped by then. `wall` gives Unix seconds, `clock` monotonic
        ones."""
        self._agent = agent
        self._dropped = dropped
        self._wall = wall
        self._clock = clock
        self._book = once(lambda: _book(path))
        self._looked: Looked | None = None
        self._due = clock()
        self._reading = (0.0, 0)
        self._seen_at = 0.0
        self._unseen: dict[str, str] = {}

    def tick(self, router: Router) -> None:
        """Take in what is known of this second. Once a second."""
        if router.lost_at is not None:
            self._looked = None
            self._book().take(self._wall(), {})
            return
        found: dict[str, float] = {}
        most: dict[str, float] = {}
        if router.measured and router.at != self._seen_at:
            self._seen_at = router.at
            found, most = _of_router(router)
        found.update(self._of_drops())
        if self._clock() >= self._due:
            self._due = self._clock() + LOOK_S
            found.update(self._of_look())
        self._book().take(self._wall(), found, most)

    def close(self) -> None:
        self._book().close()

    def _of_drops(self) -> Iterator[tuple[str, float]]:
        (before_s, before), now = self._reading, self._dropped()
        self._reading = now
        if before_s and 0 < now[0] - before_s <= READINGS_APART_S:
            yield "dropped", float(now[1] - before)

    def _of_look(self) -> Iterator[tuple[str, float]]:
        try:
            look = self._agent.call("figures")["look"]
        except Problem:
            self._looked = None
            return  # the figures say already that the agent is away
        if look is None:
            return
        before, now = self._looked, Looked(**look)
        self._looked, self._unseen = now, dict(now.unseen)
        if before is not None and before.clock_s == now.clock_s:
            return
        yield from now.gauges.items()
        if before is not None and now.clock_s - before.clock_s <= APART_S:
            yield from grown(before, now)

    def answer(self, names: Sequence[str] | None, minutes: int) -> Json:
        """The answer of `diagnosis/figures`: of the figures with these names, without them of those that have
        one line each."""
        wanted = tuple(dict.fromkeys(names or OVERVIEW))
        first, series = self._book().read(wanted, minutes, self._wall())
        series.sort(key=lambda one: (wanted.index(one.key.partition("/")[0]), _order(one.key)))
        return {
            "start": first * 60,
            "step_s": 60,
            "minutes": minutes,
            "items": [_told(one) for one in series],
            "unseen": [
                {"id": name, "reason": why}
                for look, why in self._unseen.items()
                for name in LOOKS.get(look, ())
                if why and name in wanted
            ],
            "problems": self._book().problems,
        }


def path_beside(statistics: Path | None) -> Path | None:
    """`weir-statistics.db` -> `weir-statistics-figures.db` in the same folder."""
    return None if statistics is None else statistics.with_name(f"{statistics.stem}-figures.db")


def _book(path: Path | None) -> FigureBook:
    return FigureBook(FigureFile(path), (name for name, figure in FIGURES.items() if figure.kind == "sum"))


def _of_router(router: Router) -> tuple[dict[str, float], dict[str, float]]:
    """What the agent says each second, and the most of what is a mean."""
    system = router.system()
    cores, total_bytes = system["cpu_busy"], system["memory_total_bytes"]
    found = {"load": system["load_1m"]}
    most = {}
    if total_bytes:
        found["memory"] = 1 - system["memory_available_bytes"] / total_bytes
    if cores:
        found["cores"], most["cores"] = sum(cores) / len(cores), max(cores)
    for name, shares in (("core", cores), ("core-softirq", router.interrupts())):
        found.update({f"{name}/{number}": share for number, share in enumerate(shares)})
    return found, most


def _order(key: str) -> tuple[int, str]:
    """Cores by their number."""
    subject = key.partition("/")[2]
    return (int(subject), "") if subject.isdigit() else (0, subject)


def _told(one: Series) -> Json:
    figure, (name, _, subject) = figure_of(one.key), one.key.partition("/")
    is_sum = figure.kind == "sum"
    return {
        "figure": name,
        "subject": subject or None,
        "text": figure.text,
        "unit": figure.unit,
        "of": figure.of or None,
        "adds_up": is_sum,
        "values": _rounded(one.values),
        "most": None if is_sum else _rounded(one.most),
    }


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, _DIGITS) for value in values]
