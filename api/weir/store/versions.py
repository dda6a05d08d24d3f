# SPDX-License-Identifier: Apache-2.0
"""The versions that begin and end with a revision, written by few statements however many they are.

A statement for each row would let go of the interpreter's lock for each row, and get it back after everybody
else who has something to do: 50,000 rows took 42 s beside ten other requests a second. SQLite takes thousands
at once as JSON (https://www.sqlite.org/json1.html#jeach), and others run meanwhile.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from weir.model.document import Change
from weir.model.objects import ConfigObject
from weir.store.rows import columns, encode
from weir.store.sums import row_sum

AT_ONCE = 2000
"""Rows in a statement: about a megabyte of JSON."""
COLUMNS = (
    "kind, id, name, parent, position, disabled, max_limit_upload_bps, max_limit_download_bps, search, body, "
    "sum"
)
INSERT = (
    f"INSERT INTO object_version (from_revision, {COLUMNS}) SELECT ?, "
    + ", ".join(f"value ->> {at}" for at in range(COLUMNS.count(",") + 1))
    + " FROM json_each(?)"
)
END = (
    "UPDATE object_version SET to_revision = ? WHERE kind = ? AND to_revision IS NULL "
    "AND id IN (SELECT value FROM json_each(?))"
)

T = TypeVar("T")

_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class NewVersions:
    """The rows of the versions that changes begin, encoded: so much less to do under the write lock.

    They are kept compressed: 50,000 queues take 2 MB.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        rows = (_row(change.new) for change in changes if change.new is not None)
        self._packed = [zlib.compress(_to_json(some).encode(), 1) for some in _in_pieces(rows)]

    def write(self, connection: sqlite3.Connection, number: int) -> int:
        """Insert them as of revision `number`; the total of their sums."""
        total = 0
        for packed in self._packed:
            rows = json.loads(zlib.decompress(packed))
            for row in rows:
                own = row_sum(row[0], row[1], number, row[-1])
                row.append(own)
                total += own
            connection.execute(INSERT, (number, _to_json(rows)))
        return total


def end_versions(connection: sqlite3.Connection, number: int, keys: Iterable[tuple[str, str]]) -> int:
    """Close the spans of what holds of these kinds and ids with revision `number`; how many there were."""
    by_kind = defaultdict[str, list[str]](list)
    for kind, object_id in keys:
        by_kind[kind].append(object_id)
    return sum(
        connection.execute(END, (number, kind, _to_json(some))).rowcount
        for kind, ids in by_kind.items()
        for some in _in_pieces(ids)
    )


def _row(item: ConfigObject) -> tuple[Any, ...]:
    return (item.kind, item.id, *columns(item), encode(item))


def _in_pieces(items: Iterable[T]) -> Iterator[Sequence[T]]:
    rest = iter(items)
    while some := list(islice(rest, AT_ONCE)):
        yield some
