# SPDX-License-Identifier: Apache-2.0
"""The datapath's classes and prefixes: stores into mapped kernel memory, read back from there.

Order: classes, then the prefixes that point at them, then what nothing points at any more is cleared.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar, Protocol

from weir.adapters.class_lines import ClassLines
from weir.adapters.datapath_packed import PackedClasses, PackedPrefixes
from weir.adapters.datapath_records import ClassRecord, FarEntry, LineRecord
from weir.adapters.tc import HTB_MAJOR, HTB_OWN, MAX_HTB_SLOT
from weir.backends.backend import Topic, refuse, step
from weir.backends.subqueues import subqueues_of
from weir.compiler import PACKET_BYTES, ClassSpec, ClockSpec, PrefixEntry, PrefixKey, Shaping, ShapingDelta
from weir.model.problem import NotFound
from weir.parts.delta import Step

BACKLOG_NS = 50_000_000
BACKLOG_PACKETS = 16
BACKLOG_MAX_NS = 5_000_000_000
"""A class may hold 50 ms of its rate, at least 16 full packets, or what its queue type says; at most 5 s
(half of fq's horizon)."""


class Tables(Protocol):
    """The part of `Datapath` that this backend writes and reads."""

    def write_classes(self, classes: Iterable[tuple[int, ClassRecord]]) -> None: ...
    def clear_class(self, slot: int) -> None: ...
    def store_classes(self, packed: PackedClasses) -> None: ...
    def store_prefixes(self, packed: PackedPrefixes) -> None: ...
    def read_prefixes(self) -> Mapping[Any, int]: ...
    def prefixes(self) -> Iterator[tuple[Any, int]]: ...
    def change_prefixes(
        self,
        add: Iterable[tuple[int, int, int, int, int]] = (),
        remove: Iterable[tuple[int, int, int, int]] = (),
    ) -> None: ...
    def change_far(self, add: Iterable[FarEntry] = (), remove: Iterable[FarEntry] = ()) -> None: ...
    def read_far(self) -> list[FarEntry]: ...
    def lookup(self, domain: int, family: int, address: int) -> int: ...
    def rest(self) -> None: ...


def record_of(spec: ClassSpec) -> ClassRecord:
    """What the kernel holds for a class, rounded as the kernel rounds it."""
    classid = HTB_MAJOR << 16 | HTB_OWN | spec.slot if spec.slot <= MAX_HTB_SLOT else 0
    return ClassRecord(
        spec.key,
        spec.parent_slot,
        _line(spec.upload, classid),
        _line(spec.download, classid),
        spec.total_slot,
        bool(spec.far),
    )


def far_of(spec: ClassSpec) -> list[FarEntry]:
    """The far ends of a fork as the kernel holds them."""
    return [FarEntry(spec.slot, *entry) for entry in spec.far]


def _line(clock: ClockSpec, classid: int) -> LineRecord:
    burst_ns, limit_ns = _times(clock.rate_bps, clock.burst_bytes, clock.waiting.backlog_bytes)
    return LineRecord(
        *(clock.rate_bps, burst_ns, limit_ns, classid, clock.guarantee_bps, clock.priority),
        subqueues_of(clock.waiting),
    )


@lru_cache(maxsize=1 << 12)
def _times(rate_bps: int, burst_bytes: int, backlog_bytes: int | None) -> tuple[int, int]:
    """Credit and backlog in ns as the kernel rounds them; most queues share a handful of rates."""
    limit_ns = 0
    if rate_bps and backlog_bytes is not None:
        limit_ns = min(backlog_bytes * 8_000_000_000 // rate_bps, BACKLOG_MAX_NS)
    elif rate_bps:
        packets_ns = BACKLOG_PACKETS * PACKET_BYTES * 8_000_000_000 // rate_bps
        limit_ns = min(max(BACKLOG_NS, packets_ns), BACKLOG_MAX_NS)
    line = LineRecord.of(rate_bps, burst_bytes, limit_ns)
    return line.burst_ns, line.limit_ns


@dataclass(frozen=True, slots=True)
class TablesState:
    """Read when it is looked at: at no time do the objects of 100,000 classes exist at once."""

    lines: ClassLines
    prefixes: Callable[[], Iterator[tuple[Any, int]]]
    far: Callable[[], list[FarEntry]]


@dataclass(slots=True)
class TablesDifference:
    """`write` has parents before children; `set` and `unset` are one change of the lookup tables."""

    write: list[ClassSpec] = field(default_factory=list)
    set: list[PrefixEntry] = field(default_factory=list)
    unset: list[PrefixKey] = field(default_factory=list)
    clear: list[int] = field(default_factory=list)
    set_far: list[FarEntry] = field(default_factory=list)
    unset_far: list[FarEntry] = field(default_factory=list)
    """Far ends are there before their fork and go after it."""

    @classmethod
    def of(cls, delta: ShapingDelta) -> TablesDifference:
        """What a plan asks of the tables."""
        return cls(
            [new for _, new in delta.classes.set],
            delta.prefixes.to_set(),
            delta.prefixes.to_remove(),
            [spec.slot for spec in delta.classes.removed],
            [entry for _, new in delta.classes.set for entry in far_of(new)],
            [entry for spec in delta.classes.removed for entry in far_of(spec)],
        )

    def __bool__(self) -> bool:
        return bool(self.write or self.set or self.unset or self.clear or self.set_far or self.unset_far)

    def steps(self) -> Iterator[Step]:
        return chain(
            (step("shaping", "change", "class", f"slot {s.slot} class {s.id}") for s in self.write),
            (step("shaping", "change", "prefix", f"{_text(p)} -> slot {p[4]}") for p in self.set),
            (step("shaping", "remove", "prefix", _text(key)) for key in self.unset),
            (step("shaping", "remove", "class", f"slot {slot}") for slot in self.clear),
            (step("shaping", "change", "far end", _far_text(entry)) for entry in self.set_far),
            (step("shaping", "remove", "far end", _far_text(entry)) for entry in self.unset_far),
        )


@dataclass(frozen=True, slots=True)
class PackedTables:
    """What a plan asks of the tables, ready to be stored: nothing is compiled or packed any more."""

    classes: PackedClasses
    prefixes: PackedPrefixes
    clear: Sequence[int]
    set_far: Sequence[FarEntry]
    unset_far: Sequence[FarEntry]

    @classmethod
    def of(cls, delta: ShapingDelta) -> PackedTables:
        classes = delta.classes
        return cls(
            PackedClasses.of((new.slot, record_of(new)) for _, new in classes.set),
            PackedPrefixes.of(delta.prefixes.to_set(), delta.prefixes.to_remove()),
            array("I", (spec.slot for spec in classes.removed)),
            [entry for _, new in classes.set for entry in far_of(new)],
            [entry for spec in classes.removed for entry in far_of(spec)],
        )


class TablesBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("hooks",))
    is_scanned_apart: ClassVar[bool] = True

    def __init__(self, datapath: Tables, lines: ClassLines) -> None:
        self._datapath = datapath
        self._lines = lines

    def read(self) -> TablesState:
        return TablesState(self._lines, self._datapath.prefixes, self._datapath.read_far)

    def read_keys(self) -> Mapping[int, int]:
        """Slot -> class key of every class in the kernel: what a new agent recovers its slots from."""
        return dict(self._lines.in_use())

    def read_class(self, slot: int) -> ClassRecord | None:
        """One class as the programs read it."""
        return self._lines.read(slot)

    def far_ends(self, wanted: Shaping, slot: int) -> tuple[int, int]:
        """How many far ends should lead to a class, and how many of these the kernel has."""
        asked = {entry for spec in wanted.classes.values() for entry in far_of(spec) if entry.slot == slot}
        held = asked.intersection(self._datapath.read_far()) if asked else ()
        return len(asked), len(held)

    def in_force_bps(self, slot: int, direction: int) -> tuple[int, bool]:
        """As `ClassLines.in_force_bps`."""
        return self._lines.in_force_bps(slot, direction)

    def rest(self) -> None:
        """As `Datapath.rest`."""
        self._datapath.rest()

    def diff(self, held: TablesState, wanted: Shaping) -> TablesDifference:
        read, classes, entries = held.lines.read, wanted.classes, wanted.prefixes
        found = TablesDifference(
            write=[spec for slot, spec in classes.items() if read(slot) != record_of(spec)],
            clear=[slot for slot, _ in held.lines.in_use() if slot not in classes],
        )
        found.write.sort(key=lambda spec: (spec.depth, not spec.is_total))
        asked_far = {entry for spec in classes.values() for entry in far_of(spec)}
        held_far = set(held.far())
        found.set_far = sorted(asked_far - held_far)
        # An entry that is asked for otherwise is set, and taken away only where nothing is asked for.
        asked_ends = {entry[:4] for entry in asked_far}
        found.unset_far = sorted(entry for entry in held_far if entry[:4] not in asked_ends)
        right = 0
        for key, slot in held.prefixes():
            asked = entries.get(key)
            if asked is None:
                found.unset.append(PrefixKey(*key))
            elif asked == slot:
                right += 1
        if right != len(entries):
            present = dict(held.prefixes())
            found.set = [PrefixEntry(*key, slot) for key, slot in entries.items() if present.get(key) != slot]
        return found

    def agrees(self, wanted: Shaping, slots: range) -> bool:
        """Whether these slots hold what they should; a part of `diff`, for looking without stopping all."""
        for slot in slots:
            spec = wanted.classes.get(slot)
            if self._lines.read(slot) != (None if spec is None else record_of(spec)):
                return False
        return True

    def apply(self, difference: TablesDifference) -> None:
        if difference.set_far:
            self._datapath.change_far(difference.set_far)
        if difference.write:
            self._datapath.write_classes((spec.slot, record_of(spec)) for spec in difference.write)
        if difference.set or difference.unset:
            try:
                self._datapath.change_prefixes(difference.set, difference.unset)
            except NotFound:  # somebody removed one before us: then only the others are to be removed
                present = self._datapath.read_prefixes()
                unset = [key for key in difference.unset if key in present]
                self._datapath.change_prefixes(difference.set, unset)
        for slot in difference.clear:
            self._datapath.clear_class(slot)
        if difference.unset_far:
            self._datapath.change_far((), difference.unset_far)

    def store(self, packed: PackedTables) -> None:
        """As `apply`, in the same order. `agrees` and `diff` say afterwards whether all of it is there."""
        if packed.set_far:
            self._datapath.change_far(packed.set_far)
        if packed.classes.count:
            self._datapath.store_classes(packed.classes)
        if packed.prefixes.adds or packed.prefixes.removes:
            self._datapath.store_prefixes(packed.prefixes)
        for slot in packed.clear:
            self._datapath.clear_class(slot)
        if packed.unset_far:
            self._datapath.change_far((), packed.unset_far)

    def verify(self, difference: TablesDifference) -> None:
        read = self._lines.read
        wrong = [
            f"slot {spec.slot} (class {spec.id}) holds {read(spec.slot)}"
            for spec in difference.write
            if read(spec.slot) != record_of(spec)
        ]
        wrong += [f"slot {slot} is still in use" for slot in difference.clear if read(slot) is not None]
        wrong += self._wrong_prefixes(difference)
        wrong += self._wrong_far(difference)
        refuse("shaping", wrong)

    def _wrong_far(self, difference: TablesDifference) -> list[str]:
        if not (difference.set_far or difference.unset_far):
            return []
        held = set(self._datapath.read_far())
        wrong = [f"{_far_text(entry)} is not there" for entry in difference.set_far if entry not in held]
        return wrong + [f"{_far_text(entry)} is there" for entry in difference.unset_far if entry in held]

    def _wrong_prefixes(self, difference: TablesDifference) -> list[str]:
        """By looking up each prefix's first address as a packet would; where a longer prefix may have
        answered instead, by reading the whole table."""
        lookup = self._datapath.lookup
        unsure = any(lookup(d, f, v) != slot for d, f, v, _, slot in difference.set)
        unsure = unsure or any(lookup(d, f, v) for d, f, v, _ in difference.unset)
        if not unsure:
            return []
        held = self._datapath.read_prefixes()
        wrong = [f"{_text(p)} is not at slot {p[4]}" for p in difference.set if held.get(p[:4]) != p[4]]
        return wrong + [f"{_text(key)} is still there" for key in difference.unset if key in held]


def _far_text(entry: FarEntry) -> str:
    end = entry.end.rstrip(b"\0").decode() if entry.family == 0 else f"{entry.end.hex()}/{entry.length}"
    return f"of fork {entry.fork}: {end} -> slot {entry.slot}"


def _text(entry: PrefixEntry | PrefixKey) -> str:
    return PrefixKey(*entry[:4]).text
