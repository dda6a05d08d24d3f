# SPDX-License-Identifier: Apache-2.0
"""The versions that begin and end with a revision, written by few statements however many they are."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from weir.model.document import Change
from weir.model.objects import ConfigObject
from weir.store.inserting import in_pieces, insert
from weir.store.prefixes import TargetMoves
from weir.store.rows import columns, encode
from weir.store.sums import row_sum

AT_ONCE = 2000
"""Rows that are packed, or ids that are named, together: about a megabyte."""
COLUMNS = (
    "from_revision, kind, id, name, parent, position, disabled, max_limit_upload_bps, "
    "max_limit_download_bps, search, body, sum"
)
END = (
    "UPDATE object_version SET to_revision = ? WHERE kind = ? AND to_revision IS NULL "
    "AND id IN (SELECT value FROM json_each(?))"
)

_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class ChangedVersions:
    """The versions that changes end and begin, encoded: so much less to do under the write lock.

    The changes are looked at once. What is kept is compressed: 50,000 queues take 2 MB.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        self._targets = TargetMoves()
        self._keys = defaultdict[str, list[str]](list)
        self._begun = [_packed(some) for some in in_pieces(self._rows(changes), AT_ONCE)]
        self._ended = [
            (kind, _packed(some)) for kind, ids in self._keys.items() for some in in_pieces(ids, AT_ONCE)
        ]
        self.ended = sum(map(len, self._keys.values()))
        """How many versions end."""
        del self._keys

    def _rows(self, changes: Iterable[Change]) -> Iterator[tuple[Any, ...]]:
        for change in changes:
            self._targets.note(change.id, change.old, change.new)
            if change.old is not None:
                self._keys[change.kind].append(change.id)
            if change.new is not None:
                yield _row(change.new)

    def end(self, connection: sqlite3.Connection, number: int) -> int:
        """Close their spans with revision `number`; how many there were."""
        return sum(
            connection.execute(END, (number, kind, zlib.decompress(ids).decode())).rowcount
            for kind, ids in self._ended
        )

    def begin(self, connection: sqlite3.Connection, number: int) -> int:
        """Insert them as of revision `number`, with the prefixes leading to them; the total of their sums."""
        total = 0
        for packed in self._begun:
            rows = []
            for row in json.loads(zlib.decompress(packed)):
                own = row_sum(row[0], row[1], number, row[-1])
                rows.append((number, *row, own))
                total += own
            insert(connection, f"INSERT INTO object_version ({COLUMNS})", rows)
        self._targets.write(connection)
        return total


def end_versions(connection: sqlite3.Connection, number: int, kind: str, ids: Sequence[str]) -> None:
    """Close the spans of what holds of these objects with revision `number`."""
    connection.execute(END, (number, kind, _to_json(ids)))


def _packed(values: Sequence[Any]) -> bytes:
    return zlib.compress(_to_json(values).encode(), 1)


def _row(item: ConfigObject) -> tuple[Any, ...]:
    return (item.kind, item.id, *columns(item), encode(item))
