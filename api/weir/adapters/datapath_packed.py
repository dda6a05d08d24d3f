# SPDX-License-Identifier: Apache-2.0
"""Classes and prefixes as libweir takes them, packed beforehand: storing 100,000 is then one call each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weir.adapters.datapath_records import (
    ClassRecord,
    PrefixEntry,
    PrefixKey,
    pack_classes,
    pack_prefixes,
)
from weir.adapters.subqueue_records import pack_subqueues


@dataclass(frozen=True, slots=True)
class PackedClasses:
    """Rows for `weir_classes_write` and `weir_subqueues_write`; `divided`: a class has sub-queues."""

    rows: bytearray
    count: int
    subqueues: bytearray
    subqueue_count: int
    divided: bool

    @classmethod
    def of(cls, classes: Iterable[tuple[int, ClassRecord]]) -> PackedClasses:
        """Raises `Invalid` for a record that the kernel cannot hold."""
        items = list(classes)
        wanted = [
            (slot, direction, line.subqueues)
            for slot, record in items
            for direction, line in enumerate((record.upload, record.download))
        ]
        divided = any(subqueues for _, _, subqueues in wanted)
        return cls(*pack_classes(items), *pack_subqueues(wanted), divided)


@dataclass(frozen=True, slots=True)
class PackedPrefixes:
    """One change of the lookup tables for `weir_prefixes_change`."""

    removed: bytearray
    removes: int
    added: bytearray
    adds: int

    @classmethod
    def of(
        cls,
        add: Iterable[PrefixEntry | tuple[int, int, int, int, int]] = (),
        remove: Iterable[PrefixKey | tuple[int, int, int, int]] = (),
    ) -> PackedPrefixes:
        return cls(*pack_prefixes((*key, 0) for key in remove), *pack_prefixes(add))
