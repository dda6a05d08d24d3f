# SPDX-License-Identifier: Apache-2.0
"""Rates of all lines from two readings of the counters, added up over the tree of classes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from weir.stats.layout import CHUNK_LINES, COUNTERS, U32, U64, Counters
from weir.stats.tree_drops import TreeDrops

Number = TypeVar("Number", bound=np.generic)
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
BUCKET_S = 10
BUCKETS = 6
BYTES, PACKETS, DROPS, MARKS, FAST_BYTES, DELAY_US, ANCESTOR, EARLY = range(len(COUNTERS))
SAMPLED = (BYTES, DROPS, MARKS, EARLY, ANCESTOR)
"""What `weir.stats.samples.FIGURES` has, and the worst delay."""
_BACKWARDS = np.uint64(1 << 63)
_SHORT = np.uint64(0xFFFF_FFFF)
_REST = 2.0
"""So many times as long as a piece of a reading took, nothing is read before the next: who asks for a page
meanwhile waits for one piece, not for all. Without a stream from the kernel 100,000 queues take 160 ms."""
_MOST_REST_S = 0.3
"""Of one reading."""
_LEAST_S = 0.05
"""Of the time between two readings of a piece: less says nothing of a rate."""


@dataclass(frozen=True, slots=True)
class Level:
    """The lines of one depth, sorted by parent: `children[starts[i]:starts[i+1]]` belong to `parents[i]`."""

    children: I64
    starts: I64
    parents: I64


def levels_of(parents: U32) -> list[Level]:
    """The levels of a forest, the deepest first. A parent of 0 is none; a cycle is cut after 16 levels."""
    lines = np.arange(len(parents))
    depth = np.zeros(len(parents), np.int8)
    above = parents.astype(np.int64)
    above[above >= len(parents)] = 0
    parent = above.copy()
    for _ in range(16):
        alive = above > 0
        if not alive.any():
            break
        depth[alive] += 1
        above[alive] = parent[above[alive]]
    levels = []
    for wanted in range(int(depth.max(initial=0)), 0, -1):
        children = lines[depth == wanted]
        if len(children):
            children = children[np.argsort(parent[children], kind="stable")]
            owners, starts = np.unique(parent[children], return_index=True)
            levels.append(Level(children, starts, owners))
    return levels


class RateTable:
    """Figures of the last second and of the last minute for every line.

    `per_s[figure, line]`: bytes, packets, drops, marks, fast bytes per second; `DELAY_US` is the sum of
    delays per second, to be divided by packets. All sizes follow `resize`.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.per_s: F32 = np.zeros((len(COUNTERS), 0), np.float32)
        self._last: U64 = np.zeros((0, len(COUNTERS)), np.uint64)
        self._fresh = np.ones(0, bool)
        self.measured = np.zeros(0, bool)
        """Lines that were read twice: of the others no rate is known."""
        self._buckets: F32 = np.zeros((BUCKETS, 0), np.float32)
        self._bucket_s = np.zeros(BUCKETS)
        self._bucket = 0
        self._levels: list[Level] = []
        self.worst_us: F32 = np.zeros(0, np.float32)
        self._minute: F32 = np.zeros((len(SAMPLED) + 1, 0), np.float32)
        self._minute_s = 0.0
        self._cumulative: dict[int, npt.NDArray[np.float64]] = {}
        self.tree = TreeDrops()
        self._late_s: dict[int, float] = {}
        """By a piece's first line: how long after the first piece it was read last."""

    def resize(self, parents: U32, renewed: npt.NDArray[np.bool_]) -> None:
        """Follow a change of classes: `renewed` lines start from nothing."""
        lines = len(parents)
        if lines != self.lines:
            self.per_s = _widened(self.per_s, lines)
            self._buckets = _widened(self._buckets, lines)
            self._last = np.ascontiguousarray(_widened(self._last.T, lines).T)
            fresh = np.ones(lines, bool)
            fresh[: min(lines, self.lines)] = self._fresh[: min(lines, self.lines)]
            self._fresh = fresh
            self.lines = lines
        self.worst_us = _widened(self.worst_us, lines)
        self.measured = _widened(self.measured, lines) & ~renewed
        self._minute = _widened(self._minute, lines)
        self._fresh |= renewed
        self._buckets[:, renewed] = 0
        self._minute[:, renewed] = 0
        self._levels = levels_of(parents)
        self._cumulative.clear()
        self.tree.forget()

    def forget_readings(self) -> None:
        """The next reading is a first one (the agent was away, or the maps are others)."""
        self._fresh[:] = True
        self.measured[:] = False

    def sample(
        self,
        counters: Counters,
        elapsed_s: float,
        rest: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the counters; `elapsed_s` is the time since the last reading began. `rest` is called between
        pieces with the seconds that nothing is to be read."""
        self._cumulative.clear()
        left_s = _MOST_REST_S
        begun_s = piece_s = clock()
        for start in range(0, self.lines, CHUNK_LINES):
            late_s = piece_s - begun_s
            later_s = late_s - self._late_s.get(start, late_s)
            self._late_s[start] = late_s
            self._read_piece(counters, start, max(elapsed_s + later_s, _LEAST_S))
            if start + CHUNK_LINES < self.lines:
                rest_s = min((clock() - piece_s) * _REST, left_s)
                left_s -= rest_s
                rest(rest_s)
            piece_s = clock()
        counters.rest()
        self.measured = ~self._fresh
        self._fresh[:] = False
        self._take_out_tree_drops()
        for level in self._levels:
            for figure in self.per_s:
                figure[level.parents] += np.add.reduceat(figure[level.children], level.starts)
        worst_us = counters.worst_us(self.lines)
        if worst_us is not None:
            self._note_delays(worst_us)
        self._fill_bucket(elapsed_s)
        self._add_to_minute(elapsed_s)

    def _read_piece(self, counters: Counters, start: int, elapsed_s: float) -> None:
        """What each line of the piece from `start` on did in the `elapsed_s` since it was read last."""
        end = min(start + CHUNK_LINES, self.lines)
        now = counters.read(start, end)
        delta = now - self._last[start:end]
        self._last[start:end] = now
        reset = delta[:, PACKETS] >= _BACKWARDS
        if reset.any():
            delta[reset] = now[reset]
        delta[:, [ANCESTOR, EARLY]] &= _SHORT  # counters of 32 bits
        delta[self._fresh[start:end]] = 0
        np.multiply(delta.T, np.float32(1 / elapsed_s), out=self.per_s[:, start:end], casting="unsafe")

    def _take_out_tree_drops(self) -> None:
        """What the queue of an HTB class dropped did not pass, though it was counted before. Its bytes are
        not known: those of as many packets of the mean size."""
        known = self.tree.lines < self.lines
        lines, dropped = self.tree.lines[known], self.tree.per_s[known]
        counted = self.per_s[PACKETS, lines]
        share = np.minimum(dropped / np.maximum(counted, np.float32(1e-9)), np.float32(1))
        self.per_s[BYTES, lines] *= 1 - share
        self.per_s[PACKETS, lines] *= 1 - share
        self.per_s[DROPS, lines] += dropped

    def _note_delays(self, worst: F32) -> None:
        """A parent's is the longest below it: all that is above a packet's class delays the packet."""
        self.worst_us = worst
        for level in self._levels:
            below = np.maximum.reduceat(worst[level.children], level.starts)
            worst[level.parents] = np.maximum(worst[level.parents], below)

    def _fill_bucket(self, elapsed_s: float) -> None:
        if self._bucket_s[self._bucket] >= BUCKET_S:
            self._bucket = (self._bucket + 1) % BUCKETS
            self._bucket_s[self._bucket] = 0
            self._buckets[self._bucket] = 0
        span = np.float32(elapsed_s)
        self._bucket_s[self._bucket] += elapsed_s
        self._buckets[self._bucket] += self.per_s[BYTES] * span

    def minute(self, lines: I64 | slice) -> F32:
        """Bytes per second over the last minute (50 to 60 s) of some lines."""
        span = max(float(self._bucket_s.sum()), 1e-3)
        found: F32 = self._buckets[:, lines].sum(axis=0) * np.float32(1.0 / span)
        return found

    def second(self) -> tuple[F32, ...]:
        """The last second of all lines, as `weir.stats.samples.FIGURES`."""
        rate, *others = (self.per_s[figure] for figure in SAMPLED)
        return (rate * np.float32(8), *others, self.worst_us)

    def _add_to_minute(self, elapsed_s: float) -> None:
        for sum_, figure in zip(self._minute, SAMPLED, strict=False):
            sum_ += self.per_s[figure] * np.float32(elapsed_s)
        np.maximum(self._minute[-1], self.worst_us, out=self._minute[-1])
        self._minute_s += elapsed_s

    def minute_means(self) -> F32:
        """Means since `begin_minute`, and the longest wait: [figure, line] as `weir.stats.samples.FIGURES`.

        The array is the table's own; `begin_minute` has to follow.
        """
        self._minute[:-1] *= np.float32(1 / max(self._minute_s, 1e-3))
        self._minute[0] *= np.float32(8)
        return self._minute

    def begin_minute(self) -> None:
        self._minute[:] = 0
        self._minute_s = 0.0

    def own(self, figures: tuple[int, ...]) -> U64:
        """Counters of every line alone, [line, figure], as they were read last."""
        found: U64 = self._last[:, figures]
        return found

    def cumulative(self, figure: int) -> npt.NDArray[np.float64]:
        """A counter of every line with those below it added; computed at most once per reading."""
        found = self._cumulative.get(figure)
        if found is None:
            found = self._last[:, figure].astype(np.float64)
            if figure == DROPS:
                known = self.tree.lines < self.lines
                found[self.tree.lines[known]] += self.tree.totals[known]
            for level in self._levels:
                found[level.parents] += np.add.reduceat(found[level.children], level.starts)
            self._cumulative[figure] = found
        return found


def _widened(array: npt.NDArray[Number], lines: int) -> npt.NDArray[Number]:
    """The array with its last axis cut or extended by zeros."""
    found = np.zeros((*array.shape[:-1], lines), array.dtype)
    common = min(lines, array.shape[-1])
    found[..., :common] = array[..., :common]
    return found
