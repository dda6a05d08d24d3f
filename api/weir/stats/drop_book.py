# SPDX-License-Identifier: Apache-2.0
"""Who dropped how many packets in the last 24 hours, by the minute, from counters that only grow.

Readings are compared: nothing that was dropped between two of them is missed, however long they lie apart.
Of a minute, `MOST_OWNERS` are kept by name and the sum of the rest: at most 3 MB for the day.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MINUTES = 1440
MOST_OWNERS = 128
_WRAPS = 1 << 32


class Owner(NamedTuple):
    """Whose drops, and why. `way` is upload, download or "", `at` an interface or ""."""

    kind: str
    id: str
    reason: str
    way: str = ""
    at: str = ""


REST = Owner("", "", "rest")
"""Of all who are not kept by name."""


@dataclass(frozen=True, slots=True)
class Span:
    """Packets by owner, of the time between two readings (Unix seconds)."""

    began: float
    ended: float
    packets: Counter[Owner]


@dataclass(frozen=True, slots=True)
class _Minute:
    began: float
    ended: float
    owners: tuple[Owner, ...]
    counts: array[int]


class DropBook:
    """Not thread-safe."""

    def __init__(self) -> None:
        self._minutes: deque[_Minute] = deque(maxlen=MINUTES)
        self._now: Counter[Owner] = Counter()
        self._began = self.ended = 0.0
        self.total = 0
        """Since the first reading."""
        self._last: dict[Owner, int] = {}
        self._was_whole = False

    def take(
        self,
        counted: Mapping[Owner, int],
        within: Iterable[Owner],
        dropped: Mapping[Owner, int],
        now: float,
        *,
        is_whole: bool = True,
    ) -> None:
        """One reading of all counters. `counted` are totals, `dropped` what came since the last reading. What
        those of `within` counted, the qdisc of their interface has counted as well. `is_whole`: nothing that
        could be there is missing."""
        found = self._grown(counted, is_whole)
        for owner in within:
            root = Owner("interface", owner.at, "qdisc", at=owner.at)
            found[root] = max(found.get(root, 0) - found.get(owner, 0), 0)
        grown = 0
        for counts in (found, dropped):
            for owner, packets in counts.items():
                if packets > 0:
                    self._now[owner] += packets
                    grown += packets
        if not self.ended:
            self._began, self._now = now, Counter()
        else:
            self.total += grown
        self.ended = now
        if now - self._began >= 60:
            self._close()

    def _grown(self, counted: Mapping[Owner, int], is_whole: bool) -> dict[Owner, int]:
        """What each counter counted since it was read last. One that was not there began at zero, unless
        something could not be read then; one that is smaller was reset, unless it has 32 bits, which wrap."""
        found = {}
        for owner, packets in counted.items():
            before = self._last.get(owner)
            if before is None:
                found[owner] = packets if self._was_whole else 0
            elif packets >= before:
                found[owner] = packets - before
            else:
                wrapped = owner.reason in ("qdisc", "tree") and before - packets > _WRAPS // 2
                found[owner] = packets - before + _WRAPS if wrapped else packets
        self._last = dict(counted) if is_whole else {**self._last, **counted}
        self._was_whole = is_whole
        return found

    def _close(self) -> None:
        """The minute is over."""
        kept = self._now.most_common(MOST_OWNERS)
        rest = self._now.total() - sum(packets for _, packets in kept)
        if rest:
            kept.append((REST, rest))
        owners = tuple(owner for owner, _ in kept)
        counts = array("Q", (packets for _, packets in kept))
        self._minutes.append(_Minute(self._began, self.ended, owners, counts))
        self._began, self._now = self.ended, Counter()

    def since(self, from_s: float) -> Span | None:
        """What was dropped since then, as nearly as readings lie; None before the second reading."""
        if self.ended <= self._began and not self._minutes:
            return None
        packets = Counter(self._now)
        began = self._began
        for minute in reversed(self._minutes):
            if minute.ended <= from_s:
                break
            began = minute.began
            for owner, count in zip(minute.owners, minute.counts, strict=True):
                packets[owner] += count
        return Span(began, self.ended, packets)
