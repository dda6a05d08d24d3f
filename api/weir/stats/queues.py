# SPDX-License-Identifier: Apache-2.0
"""Everything known about queues over time: which slot is whose, rates, history. No I/O but the archive.

Thread-safe: one sampler writes, requests read. Times are Unix seconds.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.row_table import IdPlaces
from weir.stats.absent import NO_CLASS, UNMEASURED, Absent
from weir.stats.archive import DAY, MONTH, WEEK, Archive, Level
from weir.stats.codes import F32
from weir.stats.drop_book import Owner
from weir.stats.history import SECONDS, SecondHistory
from weir.stats.hour import MINUTES, Hour
from weir.stats.layout import COUNTERS, U32, U64, Counters
from weir.stats.rates import ANCESTOR, BYTES, DROPS, EARLY, RateTable
from weir.stats.round_trips import READ_EVERY, StepTrips
from weir.stats.rows import rows
from weir.stats.samples import KEPT, RECORD, Records, decode
from weir.stats.tree_drops import Reading

I64 = npt.NDArray[np.int64]
log = logging.getLogger("weir.stats")
ORDERS = {
    "rate_upload": ("rate", 0),
    "rate_download": ("rate", 1),
    "rate_total": ("rate", None),
    "drops": ("drops", None),
    "minute_rate_upload": ("minute", 0),
    "minute_rate_download": ("minute", 1),
}
EVERYTHING = Absent()
"""No column is without values."""
ARCHIVED = {"24h": DAY, "7d": WEEK, "30d": MONTH}
BUSIEST_WATCHED = 512
WATCH_TICKS = 5
SPARE_SLOTS = 1024
"""What is kept by line grows by so many slots at once."""
MOST_LATE = 4096
CATCH_UP_S = 5.0
"""Samples that come later than this are not made up for by others that follow at once."""
Json = dict[str, Any]


class SampledLock:
    """Of the one who samples and of those who read: who has to wait for it sets `wanted`, for the sampler to
    hurry. A thread may take it more than once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.wanted = threading.Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.wanted.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class QueueFigures:
    def __init__(self, archive: Archive | None = None) -> None:
        self.lock = SampledLock()
        self._archive = archive
        self._rates = RateTable()
        self._hour = Hour()
        self._seconds = SecondHistory()
        self._trips = StepTrips()
        self._id_of: list[str | None] = []
        """By slot."""
        self._places = IdPlaces()
        self._late: dict[str, int] = {}
        """The slots of queues that came after `_places` was made."""
        self._slots: I64 = np.zeros(0, np.int64)
        self._keys: U64 = np.zeros(0, np.uint64)
        self._minute = 0
        self._ticks = 0
        self._newest_s = 0.0
        """Of which second the newest of `_seconds` is, if all samples came in time."""
        self._drops_taken: tuple[I64, U64, U64] | None = None
        """Lines with drops when these were taken last, their drops, and the keys of the slots then."""
        self.at = 0.0

    # --- writing: the sampler ---

    def set_slots(self, slots: Mapping[str, int], counters: Counters) -> None:
        """Follow a change of classes."""
        highest = max(slots.values(), default=0)
        lines = min((highest + 1) * 2, counters.layout.lines)
        keys, parents = counters.read_classes(lines)
        with self.lock:
            # The ids that the document holds as well, instead of 100,000 copies.
            fitting = {sys.intern(name): slot for name, slot in slots.items() if 0 < slot * 2 < lines}
            self._id_of = [None] * (lines // 2)
            for name, slot in fitting.items():
                self._id_of[slot] = name
            self._places, self._late = IdPlaces(self._id_of), {}
            self._follow(keys[::2].copy(), parents)
            self._slots = np.fromiter(fitting.values(), np.int64, len(fitting))
            self._watch_all()

    def change_slots(self, slots: Mapping[str, int], removed: Iterable[str], counters: Counters) -> None:
        """As `set_slots`, where these came or moved, and these are gone: their keys alone are read."""
        highest = min(max(slots.values(), default=0), counters.layout.lines // 2 - 1)
        size = len(self._id_of)
        if highest >= size:  # not for each new queue: all arrays follow
            size = min((highest // SPARE_SLOTS + 1) * SPARE_SLOTS, counters.layout.lines // 2)
        parents = counters.read_parents(size * 2)
        with self.lock:
            left = [slot for name in (*removed, *slots) if (slot := self._slot(name))]
            taken = {name: slot for name, slot in slots.items() if 0 < slot < size}
            keys = _fitted(self._keys, size)
            for slot in {*left, *taken.values()}:
                keys[slot] = counters.read_key(slot * 2)
            self._rename(size, left, taken)
            self._follow(keys, parents)
            self._watch_all()

    def _rename(self, size: int, left: Iterable[int], taken: Mapping[str, int]) -> None:
        """Whose slots are whose: those that queues left, and those that are taken now. A name that `_places`
        finds no more in its slot counts as gone."""
        self._id_of.extend([None] * (size - len(self._id_of)))
        has_queue = np.zeros(size, bool)
        has_queue[self._slots] = True
        for slot in left:
            self._late.pop(self._id_of[slot] or "", None)
            self._id_of[slot], has_queue[slot] = None, False
        for name, slot in taken.items():
            self._late.pop(self._id_of[slot] or "", None)
            self._id_of[slot], has_queue[slot] = sys.intern(name), True
            self._late[name] = slot
        if len(self._late) > MOST_LATE:
            self._places, self._late = IdPlaces(self._id_of), {}
        self._slots = np.flatnonzero(has_queue)

    def _watch_all(self) -> None:
        if len(self._slots) <= self._seconds.capacity:
            self._seconds.watch(self._slots.tolist())

    def _follow(self, keys: U64, parents: U32) -> None:
        """History moves with its queue's key when slots were dealt again."""
        renewed = keys != _fitted(self._keys, len(keys))
        changed = np.flatnonzero(renewed)
        there = np.flatnonzero(np.isin(self._keys, keys[changed]) & (self._keys != 0))
        held = {int(self._keys[slot]): slot for slot in there}
        moves = [(held[int(keys[slot])], slot) for slot in changed if int(keys[slot]) in held]
        sources, targets = np.array(moves, np.int64).reshape(-1, 2).T
        self._hour.deal(len(keys), changed, sources, targets, self._minute)
        self._trips.deal(len(keys), changed, sources, targets)
        self._seconds.forget(int(slot) for slot in changed)
        self._rates.resize(parents, np.repeat(renewed, 2))
        self._keys = keys

    def forget_readings(self) -> None:
        with self.lock:
            self._rates.forget_readings()

    def note_tree_drops(self, readings: Iterable[Reading], clock_s: float) -> None:
        """What the queues of HTB classes have dropped, as the next samples have it."""
        with self.lock:
            self._rates.tree.take(readings, clock_s)

    def forget_tree_drops(self) -> None:
        """There is no tree, or it could not be read."""
        with self.lock:
            self._rates.tree.forget()

    def sample(self, counters: Counters, now: float, elapsed_s: float) -> None:
        """Take one sample; `elapsed_s` since the one before. It rests between its pieces until somebody wants
        to read."""
        with self.lock:
            self.lock.wanted.clear()
            self._rates.sample(counters, elapsed_s, self.lock.wanted.wait)
            self.at = now
            figures = self._rates.second()
            if self._ticks % WATCH_TICKS == 0:
                self._watch_busiest(figures[0])
            if self._ticks % READ_EVERY == 0:
                self._trips.add(*counters.round_trips())
            self._ticks += 1
            self._seconds.skip(self._missed_s(now))
            self._seconds.push(figures, self._rates.measured)
            minute = int(now // 60)
            step = self._end_minute(minute) if minute != self._minute else None
        if step is not None and self._archive is not None:
            self._write_step(self._archive, step)

    def _missed_s(self, now: float) -> int:
        """How many seconds before this sample have none, and will have none."""
        late_s = now - self._newest_s - 1
        if abs(late_s) > CATCH_UP_S and (late_s < 0 or not self._newest_s):
            self._newest_s = now  # the first one, or the clock was set back
            return 0
        missed = max(math.ceil(late_s - CATCH_UP_S), 0)
        self._newest_s += 1 + missed
        return missed

    def _watch_busiest(self, rates: F32) -> None:
        if len(self._slots) > self._seconds.capacity:
            self._seconds.watch(self._busiest(rates[1::2][self._slots], BUSIEST_WATCHED))

    def _busiest(self, values: F32, count: int) -> list[int]:
        found: list[int] = self._slots[_top(values, count)].tolist()
        return found

    def _end_minute(self, minute: int) -> int | None:
        """Keep the minute that ended; every tenth ends a step of the archive as well: its number."""
        before, self._minute = self._minute, minute
        if before:
            self._hour.push(before, self._rates.minute_means())
        self._rates.begin_minute()
        step = minute * 60 // DAY.step_s - 1
        return step if before and step >= before * 60 // DAY.step_s and len(self._slots) else None

    def _write_step(self, archive: Archive, step: int) -> None:
        """By the thread that writes, so without the lock."""
        minutes = DAY.step_s // 60
        means = self._hour.means(range(step * minutes, (step + 1) * minutes))
        trips = self._trips.take()
        archive.write(step, self._keys[self._slots], means[self._slots], trips[self._slots])
        threading.Thread(target=_fold, args=(archive, step), name="weir-archive", daemon=True).start()

    def _slot(self, queue_id: str) -> int:
        """0 for a queue without a class."""
        return self._late.get(queue_id) or max(self._places.find(queue_id), 0)

    # --- reading: requests ---

    def watch(self, ids: Sequence[str]) -> None:
        """Somebody looks at these queues: keep their seconds."""
        with self.lock:
            self._seconds.watch(slot for slot in map(self._slot, ids) if slot)

    def ranking(self, by: str, count: int) -> list[str]:
        """The ids of the busiest queues with traffic (or drops), the busiest first."""
        with self.lock:
            values = self._figure(by)
            top = _top(values, count)
            busiest = self._slots[top[values[top] > 0]].tolist()
            return [name for slot in busiest if (name := self._id_of[slot]) is not None]

    def ranking_by_load(self, counters: Counters, count: int) -> list[str]:
        """The ids of the queues that use most of their limit, in the direction where that is more."""
        limits = counters.read_limits(self._rates.lines)
        with self.lock:
            lines = min(len(limits), self._rates.lines)
            used = np.zeros(self._rates.lines, np.float32)
            rates = self._rates.per_s[BYTES][:lines] * np.float32(8)
            np.divide(rates, limits[:lines], out=used[:lines], where=limits[:lines] > 0, casting="unsafe")
            share = used.reshape(-1, 2)[self._slots].max(axis=1, initial=0)
            busiest = self._busiest(share, count)
            named = ((slot, self._id_of[slot]) for slot in busiest)
            return [name for slot, name in named if name is not None and used[slot * 2 : slot * 2 + 2].any()]

    def largest(self, ids: Sequence[str], direction: int) -> tuple[str, float] | None:
        """The queue of these that has most of a direction now, and its rate in bit/s; None: none has any."""
        with self.lock:
            slots = np.array([self._slot(name) for name in ids], np.int64)
            if not len(slots) or not self._rates.lines:
                return None
            rates = self._rates.per_s[BYTES][slots * 2 + direction] * np.float32(8)
            rates[slots == 0] = 0
            top = int(rates.argmax())
            return (ids[top], float(rates[top])) if rates[top] > 0 else None

    def coverage(self) -> tuple[int, int]:
        """How many queues have a rate, and how many have a class."""
        with self.lock:
            return int(self._rates.measured[self._slots * 2].sum()), len(self._slots)

    def _figure(self, by: str) -> F32:
        what, direction = ORDERS[by]
        if what == "minute":
            values = self._rates.minute(slice(None))
        else:
            values = self._rates.per_s[BYTES if what == "rate" else DROPS]
        pairs = values.reshape(-1, 2)[self._slots]
        found: F32 = pairs.sum(axis=1) if direction is None else pairs[:, direction]
        return found

    def figures(self, ids: Sequence[str], absent: Absent = EVERYTHING) -> list[Json]:
        """The rows of `stats/queues`, in the order asked. `absent`: columns without values, and why."""
        with self.lock:
            known = [self._slot(name) for name in ids]
            if not self._rates.lines:
                return rows(ids, known, np.zeros((len(COUNTERS) + 4, len(ids) * 2)), absent, known)
            lines = _lines(np.array(known, np.int64))
            parts = [
                self._rates.per_s[:, lines],
                self._rates.minute(lines)[np.newaxis] * np.float32(8),
                self._rates.cumulative(BYTES)[lines][np.newaxis],
                self._rates.cumulative(DROPS)[lines][np.newaxis],
                self._rates.worst_us[lines][np.newaxis],
            ]
            measured = self._rates.measured[np.array(known, np.int64) * 2].tolist()
        return rows(ids, known, np.concatenate(parts, dtype=np.float64), absent, measured)

    def take_drops(self) -> dict[Owner, int]:
        """Packets that each queue dropped since this was called last, by reason; nothing at first."""
        with self.lock:
            if not self.at:
                return {}
            now, keys = self._rates.own((DROPS, ANCESTOR, EARLY)), self._keys
            before = now
            if self._drops_taken is not None:
                lines, known, their_keys = self._drops_taken
                there = lines < len(now)
                lines, known = lines[there], known[there]
                same = their_keys[lines // 2] == keys[lines // 2]
                before = np.zeros_like(now)
                before[lines[same]] = known[same]
            dropping = np.flatnonzero(now.any(axis=1))
            self._drops_taken = dropping, now[dropping], keys
            grown = np.where(now[:, :1] < before[:, :1], now, now - before)
            grown[:, 1:] &= np.uint64(0xFFFF_FFFF)  # counters of 32 bits
            return self._drops_by_owner(grown)

    def _drops_by_owner(self, grown: U64) -> dict[Owner, int]:
        found: dict[Owner, int] = {}
        for line in np.flatnonzero(grown[:, 0]).tolist():
            queue_id = self._id_of[line // 2]
            total, above, early = grown[line].tolist()
            parts = (("early", early), ("above", above), ("limit", max(total - early - above, 0)))
            for reason, packets in parts if queue_id is not None else ():
                if packets:
                    way = "download" if line % 2 else "upload"
                    found[Owner("queue", queue_id or "", reason, way)] = packets
        return found

    def unmeasured(self, queue_id: str) -> str:
        """Why a queue has no figures; "" where it has."""
        with self.lock:
            slot = self._slot(queue_id)
            is_measured = bool(self._rates.lines) and bool(self._rates.measured[slot * 2])
        return NO_CLASS if not slot else "" if is_measured else UNMEASURED

    def recent(self, queue_id: str, window: str) -> Json:
        """A queue's samples, the oldest first, without its limits."""
        with self.lock:
            slot = self._slot(queue_id)
            self._seconds.watch([slot] if slot else [])
            if window == "2m":
                return _samples(self.at - SECONDS + 1, 1, self._two_minutes(slot))
            if window == "1h":
                newest = self._minute - 1
                ways = self._hour.read(slot, newest) if slot else np.zeros((MINUTES, 2), RECORD)
                return _samples((self._minute - MINUTES) * 60.0, 60, ways)
            return self._archived(slot, ARCHIVED[window])

    def _two_minutes(self, slot: int) -> Records:
        place, ring = self._seconds.place(slot) if slot else None, self._seconds.ring
        if place is None or place * 2 + 1 >= ring.columns:
            return np.zeros((SECONDS, 2), RECORD)
        return np.stack([ring.column(place * 2), ring.column(place * 2 + 1)], axis=1)

    def _archived(self, slot: int, level: Level) -> Json:
        newest = int(self.at // level.step_s) - 1
        if self._archive is None or not slot:
            ways = np.zeros((level.steps, 2), KEPT)
        else:
            ways = self._archive.read(int(self._keys[slot]), newest, level)
        return _samples((newest - level.steps + 1) * float(level.step_s), level.step_s, ways)


def _fold(archive: Archive, step: int) -> None:
    """Beside the sampler, which has to be on time."""
    try:
        archive.fold(step)
    except sqlite3.Error as error:
        log.warning("the hours of the statistics cannot be written: %s", error)


def _top(values: F32, count: int) -> I64:
    """Where the largest values are, the largest first; all others are only divided from them."""
    count = min(count, len(values))
    if not count:
        return np.zeros(0, np.int64)
    top = np.argpartition(-values, count - 1)[:count]
    found: I64 = top[np.argsort(-values[top], kind="stable")]
    return found


def _fitted(keys: U64, slots: int) -> U64:
    found = np.zeros(slots, np.uint64)
    common = min(slots, len(keys))
    found[:common] = keys[:common]
    return found


def _lines(slots: I64) -> I64:
    """The two lines of each slot, upload first."""
    found: I64 = np.repeat(slots * 2, 2) + np.tile(np.array([0, 1]), len(slots))
    return found


def _samples(start: float, step_s: int, ways: Records) -> Json:
    """The JSON of [sample, direction]."""
    return {"start": start, "step_s": step_s, "upload": decode(ways[:, 0]), "download": decode(ways[:, 1])}
