# SPDX-License-Identifier: Apache-2.0
"""Figures of queues over maps, with a clock of their own."""

from __future__ import annotations

from tests.stats.maps import Maps
from weir.stats.archive import Archive
from weir.stats.delays import Delays
from weir.stats.layout import Counters, Layout
from weir.stats.queues import QueueFigures
from weir.stats.round_trips import RoundTripTable

NOON = 1_700_000_000 // 600 * 600.0
UP, DOWN = 0, 1


class Rig:
    """Figures over maps, with a clock of its own."""

    def __init__(self, archive: Archive | None = None, slots: int = 64, *, by_changes: bool = False) -> None:
        """`by_changes`: after the first time figures are told what has changed alone."""
        self.maps = Maps(slots)
        self._told: dict[str, int] | None = None if by_changes else {}
        layout, (details, classes, waits, trips) = self.maps.layout(), self.maps.duplicates()
        self.counters = Counters(
            Layout.read(layout),
            details,
            classes,
            Delays(layout["delays"], waits),
            trips=RoundTripTable(layout["round_trips"], trips),
        )
        self.figures = QueueFigures(archive)
        self.now = NOON

    def follow(self) -> None:
        told, slots = self._told, dict(self.maps.slots)
        if not told:
            self.figures.set_slots(slots, self.counters)
        else:
            self.figures.change_slots(dict(slots.items() - told.items()), told.keys() - slots, self.counters)
        self._told = slots if told is None or told else told

    def second(self, seconds: float = 1.0) -> None:
        self.now += seconds
        self.figures.sample(self.counters, self.now, seconds)

    def rate(self, name: str) -> tuple[float, float]:
        row = self.figures.figures([name])[0]
        return row["rate_bps"]["upload"], row["rate_bps"]["download"]
