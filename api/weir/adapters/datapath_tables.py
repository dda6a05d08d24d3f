# SPDX-License-Identifier: Apache-2.0
"""The datapath's classes and prefixes: stores to and loads from mapped kernel memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from typing import Literal

from weir.adapters.datapath_handle import Handle
from weir.adapters.datapath_lib import (
    LossSpec,
    RoundTripsBelowSpec,
    RoundTripSpec,
    SubqueuesStateSpec,
    UsageSpec,
)
from weir.adapters.datapath_packed import PackedClasses, PackedPrefixes
from weir.adapters.datapath_records import (
    CLASS,
    FAR,
    PREFIX,
    ClassRecord,
    FarEntry,
    Losses,
    PrefixEntry,
    PrefixKey,
    RoundTrips,
    RoundTripsBelow,
    Usage,
    pack_far,
    pack_prefixes,
    unpack_classes,
    unpack_far,
    unpack_prefixes,
)
from weir.adapters.subqueue_records import SPEC as SUBQUEUES
from weir.adapters.subqueue_records import SubqueuesRecord, SubqueuesState, unpack_subqueues


class Tables(Handle):
    """Classes by slot, the prefixes that lead to them, and how full both are."""

    # -- classes -------------------------------------------------------------------------------------

    def read_classes(self) -> dict[int, ClassRecord]:
        """Every class in the kernel by slot. Times come back in whole 16 ns (`ClassRecord.quantised`)."""
        size = self.usage().classes[1]
        packed = ctypes.create_string_buffer(CLASS.size * size)
        count = self._call("weir_classes_read", packed, size)
        return unpack_classes(memoryview(packed)[: count * CLASS.size], self._read_subqueues())

    def write_classes(self, classes: Iterable[tuple[int, ClassRecord]]) -> None:
        """Store classes. A slot that already has the same key keeps clock and counters, also under a new
        parent; another key starts afresh. Raises `Invalid` before any class is stored, and `Unavailable`
        code `datapath-full` when there is no room for the sub-queues."""
        self.store_classes(PackedClasses.of(classes))

    def store_classes(self, packed: PackedClasses) -> None:
        """As `write_classes`."""
        self._call("weir_classes_write", _buffer(packed.rows), packed.count)
        if packed.divided or self._call("weir_subqueues_read", None, 0):
            self._call("weir_subqueues_write", _buffer(packed.subqueues), packed.subqueue_count)

    def _read_subqueues(self) -> dict[tuple[int, int], SubqueuesRecord]:
        size = self._call("weir_subqueues_read", None, 0)
        packed = ctypes.create_string_buffer(SUBQUEUES.size * max(size, 1))
        count = self._call("weir_subqueues_read", packed, size)
        return unpack_subqueues(memoryview(packed)[: count * SUBQUEUES.size])

    def subqueues_state(self, slot: int, direction: Literal[0, 1]) -> SubqueuesState:
        """What the sub-queues of one direction (0 upload, 1 download) do. Raises `NotFound` without any."""
        spec = SubqueuesStateSpec()
        self._call("weir_subqueues_state", slot, direction, ctypes.byref(spec))
        return SubqueuesState(spec.rate_bps, spec.active, spec.evicted, spec.shared_packets)

    def round_trips(self, slot: int, direction: Literal[0, 1]) -> RoundTrips:
        """Of TCP packets of one direction (0 upload, 1 download) to where they went and back."""
        spec = RoundTripSpec()
        self._call("weir_round_trips", slot, direction, ctypes.byref(spec))
        return RoundTrips(spec.age_ms, tuple(spec.samples_ns[: spec.count]))

    def losses(self, slot: int, direction: Literal[0, 1]) -> Losses:
        """Of TCP packets of one direction (0 upload, 1 download) before and after this router."""
        spec = LossSpec()
        self._call("weir_losses", slot, direction, ctypes.byref(spec))
        return Losses(
            spec.age_ms,
            spec.seen_bytes,
            spec.before_bytes,
            spec.after_bytes,
            spec.before_packets,
            spec.after_packets,
        )

    def round_trips_below(self, slot: int, direction: Literal[0, 1], age_max_ms: int) -> RoundTripsBelow:
        """Of the classes below one whose newest sample is no older than that."""
        spec = RoundTripsBelowSpec()
        self._call("weir_round_trips_below", slot, direction, age_max_ms, ctypes.byref(spec))
        return RoundTripsBelow(spec.classes, spec.age_ms, spec.least_ns, spec.median_ns)

    def clear_class(self, slot: int) -> None:
        """Free a slot: packets that still find it pass unshaped and are counted as `stale-class`."""
        self._call("weir_class_clear", slot)

    # -- prefixes ------------------------------------------------------------------------------------

    def read_prefixes(self) -> dict[PrefixKey, int]:
        """Every prefix in the kernel -> slot."""
        return dict(self.prefixes())

    def prefixes(self) -> Iterator[tuple[PrefixKey, int]]:
        """As `read_prefixes`, one by one: all are read now, but no 100,000 objects are made at once."""
        usage = self.usage()
        size = usage.prefixes4[0] + usage.prefixes6[0]
        packed = ctypes.create_string_buffer(PREFIX.size * max(size, 1))
        count = self._call("weir_prefixes_read", packed, size)
        return unpack_prefixes(memoryview(packed)[: count * PREFIX.size])

    def change_prefixes(
        self,
        add: Iterable[PrefixEntry | tuple[int, int, int, int, int]] = (),
        remove: Iterable[PrefixKey | tuple[int, int, int, int]] = (),
    ) -> None:
        """Remove, then add or change, as one step: all or nothing, and no packet sees a table in between
        worse than "old for some addresses, new for others".

        `add` holds (domain, family, value, length, slot), `remove` (domain, family, value, length).
        Raises `NotFound` (removing what is not there), `Invalid` (host bits, family, slot) and
        `Unavailable` code `datapath-full`; nothing has changed then.
        """
        self.store_prefixes(PackedPrefixes.of(add, remove))

    def store_prefixes(self, packed: PackedPrefixes) -> None:
        """As `change_prefixes`."""
        removed, added = _buffer(packed.removed), _buffer(packed.added)
        self._call("weir_prefixes_change", removed, packed.removes, added, packed.adds)

    def change_far(self, add: Iterable[FarEntry] = (), remove: Iterable[FarEntry] = ()) -> None:
        """Remove far ends of forks, then set others; those of a fork that no prefix leads to affect nobody.

        Raises `Invalid`, and `Unavailable` code `datapath-full`: some may have been set then.
        """
        removed, removes = pack_far(remove)
        added, adds = pack_far(add)
        self._call("weir_far_change", _buffer(removed), removes, _buffer(added), adds)

    def read_far(self) -> list[FarEntry]:
        """Every far end in the kernel."""
        size = self.usage().prefixes4[1]
        packed = ctypes.create_string_buffer(FAR.size * size)
        count = self._call("weir_far_read", packed, size)
        return unpack_far(memoryview(packed)[: count * FAR.size])

    def lookup(self, domain: int, family: int, address: int) -> int:
        """The slot packets of this address get now, from the tables that the programs read; 0 = none."""
        packed, _ = pack_prefixes([(domain, family, address, 32 if family == 4 else 128, 0)])
        return self._call("weir_lookup", _buffer(packed))

    def rest(self) -> None:
        """Called now and then: prefix tables that were not used since the last time are not mapped until
        they are used next."""
        self._call("weir_rest")

    def usage(self) -> Usage:
        spec = UsageSpec()
        self._call("weir_usage", ctypes.byref(spec))
        return Usage(
            classes=(spec.slots_used, spec.slots),
            prefixes4=(spec.prefixes4_used, spec.prefixes),
            prefixes6=(spec.prefixes6_used, spec.prefixes),
            v4_units=(spec.v4_units_used, spec.v4_units),
            v6_lengths=(spec.v6_lengths_used, spec.v6_lengths),
            subqueue_lines=(spec.subqueues_used, spec.subqueues),
            subqueues=(spec.hosts_used, spec.hosts),
            kernel_bytes=spec.kernel_bytes,
        )


def _buffer(packed: bytearray) -> ctypes.Array[ctypes.c_char] | None:
    return (ctypes.c_char * len(packed)).from_buffer(packed) if packed else None
