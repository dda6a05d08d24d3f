# SPDX-License-Identifier: Apache-2.0
"""What the sampler computes with: counters in mapped memory, rates and history.

`weir.service.stats` imports this when the agent first answers. It brings numpy, a sixth of what a start of
the API imports, and the sign-in page would wait for that too.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

from weir.model.problem import Unavailable
from weir.stats.archive import Archive
from weir.stats.delays import Delays
from weir.stats.interfaces import GROUPS, InterfaceHistory
from weir.stats.layout import CHUNK_LINES, Counters, Layout, close_descriptors
from weir.stats.queues import QueueFigures
from weir.stats.readings import Readings
from weir.stats.round_trips import RoundTripTable

__all__ = ["counters_of", "interface_history", "queue_figures"]

log = logging.getLogger("weir.stats")
Json = dict[str, Any]


def queue_figures(archive_path: Path | None) -> QueueFigures:
    """Without an archive the day is empty. A database that cannot be written is reported in the log."""
    if archive_path is None:
        return QueueFigures(None)
    try:
        return QueueFigures(Archive(archive_path))
    except (sqlite3.Error, OSError) as error:
        log.warning("statistics of the day are not kept: %s: %s", archive_path, error)
        return QueueFigures(None)


def interface_history(archive_path: Path | None) -> InterfaceHistory:
    """Without an archive the past ends after an hour. What cannot be written is reported in the log."""
    if archive_path is None:
        return InterfaceHistory()
    try:
        return InterfaceHistory(Archive(archive_path, GROUPS, keeps_idle=True))
    except (sqlite3.Error, OSError) as error:
        log.warning("the past of the interfaces is not kept: %s: %s", archive_path, error)
        return InterfaceHistory()


def counters_of(layout: Json, descriptors: list[int]) -> Counters:
    """The agent's maps, which own the descriptors then. Raises Unavailable, with nothing left open."""
    if len(descriptors) not in (4, 5):
        close_descriptors(descriptors)
        raise Unavailable("the agent gave no counters", code="no-counters")
    try:
        found = Layout.read(layout)
    except Unavailable:
        close_descriptors(descriptors)
        raise
    delays = _delays(layout, descriptors)
    trips = _round_trips(layout, descriptors[3])
    readings = _readings(layout, descriptors[4:])
    return Counters(found, descriptors[0], descriptors[1], delays, readings, trips)


def _delays(layout: Json, descriptors: list[int]) -> Delays:
    try:
        return Delays(layout.get("delays", {}), descriptors[2])
    except Unavailable:
        close_descriptors([*descriptors[:2], *descriptors[3:]])
        raise


def _round_trips(layout: Json, descriptor: int) -> RoundTripTable | None:
    """Without them the past has no round trips, and all else is measured."""
    try:
        return RoundTripTable(layout.get("round_trips", {}), descriptor)
    except Unavailable as problem:
        log.warning("%s", problem.message)
        return None


def _readings(layout: Json, links: list[int]) -> Readings | None:
    """Where the agent's kernel has it; without it counters are looked up."""
    try:
        return Readings(layout.get("readings", {}), links[0], CHUNK_LINES) if links else None
    except Unavailable as problem:
        log.warning("%s", problem.message)
        return None
