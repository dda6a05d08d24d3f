# SPDX-License-Identifier: Apache-2.0
"""Round trips of TCP that the programs saw in passing (datapath/bpf/round_trip.h): of ten minutes, by line.

The programs keep the last five of a line in a bounded table, and look at a line for one second in seventeen:
the table is read as often. A line's ten minutes are the geometric mean of the medians that were read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable
from weir.stats.bpf_maps import ArrayRows
from weir.stats.codes import DELAY_US, F32

READ_EVERY = 16
"""Seconds."""
_CHUNK_ROWS = 2048
U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


class RoundTripTable:
    """Behind a read-only descriptor, which `close` closes."""

    def __init__(self, answer: Mapping[str, Any], descriptor: int) -> None:
        """From the layout of the agent's answer to `counters_fd`; takes over the descriptor, also when it
        fails. Raises Unavailable."""
        self._descriptor = descriptor
        self._array: ArrayRows | None = None
        try:
            self._rows, stride = int(answer["rows"]), int(answer["stride"])
            self._line, self._updated = (int(answer["fields"][name][0]) for name in ("line", "updated"))
            self._samples_at, self._samples = int(answer["fields"]["samples"][0]), int(answer["samples"])
            self._unit_us = float(1 << int(answer["sample_shift"])) / 1000
        except (KeyError, TypeError, ValueError, IndexError) as error:
            self.close()
            raise Unavailable(f"the agent's layout of round trips is not understood: {error!r}") from error
        self._array = ArrayRows(descriptor, self._rows, stride, _CHUNK_ROWS)
        self._known = np.zeros((self._rows, 2), np.uint32)
        """Line and time of each row when it was read last."""
        self._is_known = False

    def new(self) -> tuple[I64, F32]:
        """The lines with samples that came since this was called last, and their medians in microseconds;
        none at first, since nobody knows how old those are. Raises Unavailable."""
        if self._array is None:
            raise Unavailable("the round trips are closed", code="no-counters")
        lines, medians = [], []
        for start in range(0, self._rows, _CHUNK_ROWS):
            end = min(start + _CHUNK_ROWS, self._rows)
            rows = self._array.read(start, end)
            now = np.stack([_words(rows, self._line), _words(rows, self._updated)], axis=1)
            fresh = np.flatnonzero((now != self._known[start:end]).any(axis=1) & (now[:, 0] > 0))
            self._known[start:end] = now
            width = self._samples * 2
            found = np.ascontiguousarray(rows[fresh, self._samples_at : self._samples_at + width])
            samples = found.view(np.uint16).astype(np.float32)
            there = self._is_known & (samples[:, 0] > 0)
            samples[samples == 0] = np.nan
            lines.append(now[fresh[there], 0].astype(np.int64))
            medians.append((np.nanmedian(samples[there], axis=1) * self._unit_us).astype(np.float32))
        self._is_known = True
        return np.concatenate(lines), np.concatenate(medians)

    def close(self) -> None:
        if self._array is not None:
            self._array.close()
        os.close(self._descriptor)


def _words(rows: U8, offset: int) -> npt.NDArray[np.uint32]:
    return np.ascontiguousarray(rows[:, offset : offset + 4]).view(np.uint32)[:, 0]


class StepTrips:
    """Of the ten minutes that have begun: six bytes for each queue. Not thread-safe."""

    def __init__(self) -> None:
        self._sums: npt.NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._counts: U8 = np.zeros(0, np.uint8)

    def deal(self, slots: int, changed: I64, sources: I64, targets: I64) -> None:
        """There are so many slots; the `changed` ones have another queue than before, that of `targets` was
        at `sources`."""
        self._sums, self._counts = (
            _dealt(held, slots, changed, sources, targets) for held in (self._sums, self._counts)
        )

    def add(self, lines: I64, medians_us: F32) -> None:
        """Each line once."""
        known = lines < len(self._sums)
        lines, codes = lines[known], DELAY_US.encode(medians_us[known])
        room = self._counts[lines] < 255
        self._counts[lines[room]] += np.uint8(1)
        self._sums[lines[room]] += codes[room].astype(np.uint16)

    def take(self) -> U8:
        """Codes (`weir.stats.codes.DELAY_US`) by [slot, direction], 0 where none was seen; and begin
        again."""
        found = mean_codes(self._sums, self._counts).reshape(-1, 2)
        self._sums, self._counts = np.zeros_like(self._sums), np.zeros_like(self._counts)
        return found


def mean_codes(sums: npt.NDArray[Any], counts: npt.NDArray[Any]) -> U8:
    """The mean of logarithms is that of a geometric mean; 0 where nothing was counted."""
    found: U8 = np.rint(sums / np.maximum(counts, 1)).astype(np.uint8)
    return found


def _dealt(held: npt.NDArray[Any], slots: int, changed: I64, sources: I64, targets: I64) -> npt.NDArray[Any]:
    pairs = held.reshape(-1, 2)
    found = np.zeros((slots, 2), held.dtype)
    common = min(slots, len(pairs))
    found[:common] = pairs[:common]
    found[changed] = 0
    found[targets] = pairs[sources]
    return found.reshape(-1)
