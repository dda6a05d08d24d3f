# SPDX-License-Identifier: Apache-2.0
"""The index from an address to the queues whose target covers it: at most one probe per prefix length."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from weir.model.objects import ConfigObject, Queue
from weir.model.prefix import WIDTH, Prefix, looks_like_prefix, parse_prefix


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


def target_keys(item: ConfigObject | None) -> set[bytes]:
    if not isinstance(item, Queue):
        return set()
    return {key_of(parse_prefix(text)) for text in item.target if looks_like_prefix(text)}


def change_targets(
    connection: sqlite3.Connection, pairs: Iterable[tuple[str, ConfigObject | None, ConfigObject | None]]
) -> None:
    """Bring the index from the old to the new objects; untouched prefixes cost no write."""
    removed: list[tuple[bytes, str]] = []
    added: list[tuple[bytes, str]] = []
    for object_id, old, new in pairs:
        before, after = target_keys(old), target_keys(new)
        removed.extend((key, object_id) for key in before - after)
        added.extend((key, object_id) for key in after - before)
    connection.executemany("DELETE FROM target_now WHERE prefix = ? AND id = ?", removed)
    connection.executemany("INSERT INTO target_now (prefix, id) VALUES (?, ?)", _sorted(added))


def _sorted(rows: list[tuple[bytes, str]]) -> Iterator[tuple[bytes, str]]:
    """In key order, a bulk insert appends to the tree instead of splitting it everywhere."""
    rows.sort()
    return iter(rows)
