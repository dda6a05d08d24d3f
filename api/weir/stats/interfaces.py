# SPDX-License-Identifier: Apache-2.0
"""The past of the interfaces: two minutes and an hour in memory, by second and minute; 30 days in an archive.

A column is one direction of one interface: rx as the interface receives, tx as it sends.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.stats.archive import DAY, MONTH, WEEK, Archive, Level
from weir.stats.codes import F32, PACKETS_PS, RATE_BPS
from weir.stats.history import SECONDS, Ring
from weir.stats.hour import MINUTES
from weir.stats.samples import FIGURES, KEPT, Records, encode

WAYS = ("rx", "tx")
MAX_INTERFACES = 1024
RECORD = np.dtype([("rate", "<u2"), ("drops", "u1")])
ARCHIVED = {"24h": DAY, "7d": WEEK, "30d": MONTH}
GROUPS = 4
"""Rows of a step in the archive: 1,024 interfaces take 20 kB each ten minutes, under 10 MB in 30 days."""
Json = dict[str, Any]
log = logging.getLogger("weir.stats")


class InterfaceHistory:
    """Not thread-safe. An interface that is gone keeps its past until its place is needed."""

    def __init__(self, archive: Archive | None = None) -> None:
        self._archive = archive
        self._step_sums: F32 = np.zeros((2, 0), np.float32)
        self._step_samples: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._columns: dict[str, int] = {}
        self._seconds, self._hour = Ring(SECONDS, RECORD), Ring(MINUTES, RECORD)
        self._sums: F32 = np.zeros((2, 0), np.float32)
        self._samples: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._second = self._minute = 0

    def push(self, rates: Mapping[str, Mapping[str, float]], now: float) -> None:
        """One sample of every interface; `rates` as `stats/interfaces` shows them, `now` in Unix seconds."""
        self._make_room(rates)
        figures = np.zeros((2, len(self._columns) * 2), np.float32)
        seen = np.zeros(len(self._columns) * 2, bool)
        for name, found in rates.items():
            column = self._columns.get(name)
            if column is not None:
                seen[column : column + 2] = True
                for way, side in enumerate(WAYS):
                    figures[:, column + way] = found[f"{side}_bps"], found[f"{side}_drops_ps"]
        second, minute = int(now), int(now // 60)
        if self._minute and minute != self._minute:
            self._end_minute(minute)
        if self._second:
            self._seconds.skip(second - self._second - 1)
        self._seconds.push(_records(figures, seen))
        self._sums = self._sums + figures
        self._samples = self._samples + seen
        self._second, self._minute = second, minute

    def _make_room(self, rates: Mapping[str, Any]) -> None:
        for name in rates:
            if name not in self._columns and (column := self._free_column(rates)) is not None:
                self._columns[name] = column
        columns = len(self._columns) * 2
        if columns != self._sums.shape[1]:
            self._seconds.resize(columns)
            self._hour.resize(columns)
            new = columns - self._sums.shape[1]
            self._sums, self._step_sums = (
                np.pad(sums, ((0, 0), (0, new))) for sums in (self._sums, self._step_sums)
            )
            self._samples, self._step_samples = (
                np.pad(samples, (0, new)) for samples in (self._samples, self._step_samples)
            )

    def _free_column(self, rates: Mapping[str, Any]) -> int | None:
        """A new place, or, when all are taken, that of the interface that is gone and was there first."""
        if len(self._columns) < MAX_INTERFACES:
            return len(self._columns) * 2
        gone = next((name for name in self._columns if name not in rates), None)
        if gone is None:
            return None
        column = self._columns.pop(gone)
        columns = np.arange(column, column + 2)
        self._seconds.clear(columns)
        self._hour.clear(columns)
        for sums, samples in ((self._sums, self._samples), (self._step_sums, self._step_samples)):
            sums[:, columns] = 0
            samples[columns] = 0
        return column

    def _end_minute(self, minute: int) -> None:
        means = (self._sums / np.maximum(self._samples, 1)).astype(np.float32)
        self._hour.push(_records(means, self._samples > 0))
        self._hour.skip(minute - self._minute - 1)
        self._step_sums = self._step_sums + self._sums
        self._step_samples = self._step_samples + self._samples
        self._sums, self._samples = np.zeros_like(self._sums), np.zeros_like(self._samples)
        step = self._minute * 60 // DAY.step_s
        if step != minute * 60 // DAY.step_s:
            self._end_step(step)

    def _end_step(self, step: int) -> None:
        """Keep the ten minutes that ended, as far as they were measured."""
        means = self._step_sums / np.maximum(self._step_samples, 1)
        seen = self._step_samples > 0
        self._step_sums, self._step_samples = np.zeros_like(means), np.zeros_like(self._step_samples)
        if self._archive is None:
            return
        figures = np.zeros((len(FIGURES), len(seen)), np.float32)
        figures[:2] = means
        records = encode(figures)
        records[~seen] = 0
        keys = np.zeros(len(seen) // 2, np.uint64)
        for name, column in self._columns.items():
            keys[column // 2] = key_of(name)
        _written(self._archive, lambda archive: archive.write(step, keys, records.reshape(-1, 2)))
        threading.Thread(
            target=_written,
            args=(self._archive, lambda archive: archive.fold(step)),
            name="weir-interfaces",
            daemon=True,
        ).start()

    def recent(self, name: str, window: str) -> Json | None:
        """Samples of a window, the oldest first; None for an interface that was never seen."""
        column = self._columns.get(name)
        if (level := ARCHIVED.get(window)) is not None:
            return self._archived(name, level, column is not None)
        if column is None:
            return None
        if window == "2m":
            ring, start, step_s = self._seconds, float(self._second - SECONDS + 1), 1
        else:
            ring, start, step_s = self._hour, (self._minute - MINUTES) * 60.0, 60
        found: Json = {"start": start, "step_s": step_s}
        for way, side in enumerate(WAYS):
            found[side] = _decoded(ring.column(column + way))
        return found

    def _archived(self, name: str, level: Level, is_known: bool) -> Json | None:
        """Also of an interface that was there before the last start and is not any more."""
        newest = self._second // level.step_s - 1
        ways = np.zeros((level.steps, 2), KEPT)
        if self._archive is not None:
            ways = self._archive.read(key_of(name), newest, level)
        if not is_known and not ways["rate"].any():
            return None
        start = (newest - level.steps + 1) * float(level.step_s)
        return {
            "start": start,
            "step_s": level.step_s,
            "rx": _decoded(ways[:, 0]),
            "tx": _decoded(ways[:, 1]),
        }


def key_of(name: str) -> int:
    """The same after each start, which Python's own hash is not."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _written(archive: Archive, write: Callable[[Archive], None]) -> None:
    try:
        write(archive)
    except sqlite3.Error as error:
        log.warning("the past of the interfaces cannot be written: %s", error)


def _decoded(records: Records) -> Json:
    return {
        "rate_bps": RATE_BPS.decode(records["rate"]),
        "drops_ps": PACKETS_PS.decode(records["drops"]),
    }


def _records(figures: F32, seen: npt.NDArray[np.bool_]) -> Records:
    """Rates and drops; 0, no sample, where nothing was seen."""
    records = np.zeros(len(seen), RECORD)
    records["rate"], records["drops"] = RATE_BPS.encode(figures[0]), PACKETS_PS.encode(figures[1])
    records[~seen] = 0
    return records
