# SPDX-License-Identifier: Apache-2.0
"""The index from an address to the queues whose target covers it: at most one probe per prefix length."""

from __future__ import annotations

import json
import marshal
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain

from weir.model.objects import ConfigObject, Queue
from weir.model.prefix import WIDTH, Prefix, looks_like_prefix, parse_prefix_in_domain
from weir.store.inserting import insert

_PIECE_PAIRS = 1024


def key_of(prefix: Prefix) -> bytes:
    """Family, length and address as bytes."""
    address = prefix.value.to_bytes(WIDTH[prefix.family] // 8, "big")
    return bytes((prefix.family, prefix.length)) + address


def covering_keys(prefix: Prefix) -> list[bytes]:
    """The keys of every prefix that covers `prefix`, itself included: 33 or 129 at most."""
    width = WIDTH[prefix.family]
    return [
        key_of(Prefix(prefix.family, prefix.value >> (width - length) << (width - length), length))
        for length in range(prefix.length + 1)
    ]


def inside_ranges(prefix: Prefix) -> list[tuple[bytes, bytes]]:
    """The first and last key of what lies inside `prefix`, itself excluded, for each longer length."""
    width = WIDTH[prefix.family]
    last = prefix.value | ((1 << (width - prefix.length)) - 1)
    return [
        (
            key_of(Prefix(prefix.family, prefix.value, length)),
            key_of(Prefix(prefix.family, last >> (width - length) << (width - length), length)),
        )
        for length in range(prefix.length + 1, width + 1)
    ]


def target_keys(item: ConfigObject | None) -> set[bytes]:
    if not isinstance(item, Queue):
        return set()
    return {key_of(parse_prefix_in_domain(text)[1]) for text in item.target if looks_like_prefix(text)}


def forget(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Take queues out of the index that cannot be read, so that nobody knows where in it they are."""
    if ids:
        connection.execute(
            "DELETE FROM target_now WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )


class TargetMoves:
    """What changes do to the index; untouched prefixes cost no write."""

    def __init__(self) -> None:
        self._removed = _Pairs()
        self._added = _Pairs()

    def note(self, object_id: str, old: ConfigObject | None, new: ConfigObject | None) -> None:
        """One object's change."""
        if isinstance(old, Queue) and isinstance(new, Queue) and old.target == new.target:
            return
        before, after = target_keys(old), target_keys(new)
        for key in before - after:
            self._removed.add(key, object_id)
        for key in after - before:
            self._added.add(key, object_id)

    def write(self, connection: sqlite3.Connection) -> None:
        """In key order: a bulk insert then appends to the tree instead of splitting it everywhere."""
        removed, added = self._removed.all(), sorted(self._added.all())
        connection.executemany("DELETE FROM target_now WHERE prefix = ? AND id = ?", removed)
        insert(connection, "INSERT INTO target_now (prefix, id)", added)


class _Pairs:
    """Keys with their ids in a few pieces of memory. They are noted while the next document is made: as
    objects they would come to lie between those that stay (docs/adr/0036)."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._open: list[tuple[bytes, str]] = []

    def add(self, key: bytes, object_id: str) -> None:
        self._open.append((key, object_id))
        if len(self._open) == _PIECE_PAIRS:
            self._pieces.append(marshal.dumps(self._open))
            self._open = []

    def all(self) -> list[tuple[bytes, str]]:
        """In the order in which they came."""
        pieces: Iterator[list[tuple[bytes, str]]] = map(marshal.loads, self._pieces)
        return [*chain.from_iterable(pieces), *self._open]
