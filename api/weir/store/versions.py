# SPDX-License-Identifier: Apache-2.0
"""The versions that begin and end with a revision, written by few statements however many they are."""

from __future__ import annotations

import json
import marshal
import sqlite3
import threading
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from json.encoder import encode_basestring as _quoted
from typing import Any

from weir.model.document import Change
from weir.model.objects import Kind
from weir.store.bodies import columns, encode
from weir.store.inserting import in_pieces, insert
from weir.store.prefixes import TargetMoves
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
_ENDS = 2
"""So many values has the row of what only ends: kind and id."""

_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class ChangedVersions:
    """The versions that changes end and begin, encoded: so much less to do under the write lock.

    The changes are looked at once, and each object is encoded once: for the store and for the agent. What is
    kept is compressed: 50,000 queues take 2 MB.
    """

    def __init__(
        self,
        changes: Sequence[Change],
        begun: Callable[[ChangedVersions], None] = lambda _: None,
        ahead: int | None = None,
    ) -> None:
        """`begun` is told before the first is encoded, for who wants to send `lines` as they come. `ahead` is
        what will most likely be the next revision: its sums are made now, and not under the lock."""
        self.count = len(changes)
        """How many changes there are."""
        self._ahead = ahead
        self._targets = TargetMoves()
        self._keys = defaultdict[Kind, list[str]](list)
        self._pieces: list[bytes] = []
        self._grown = threading.Condition()
        self._is_whole, self._is_over = False, False
        self._summed = array("q")
        begun(self)
        try:
            for some in in_pieces(self._rows(changes), AT_ONCE):
                if ahead is not None:
                    self._summed.extend(_sums(some, ahead))
                packed = zlib.compress(marshal.dumps(some), 1)
                with self._grown:
                    self._pieces.append(packed)
                    self._grown.notify_all()
            self._is_whole = True
        finally:
            with self._grown:
                self._is_over = True
                self._grown.notify_all()
        self._ended = [
            (kind, zlib.compress(_to_json(some).encode(), 1))
            for kind, ids in self._keys.items()
            for some in in_pieces(ids, AT_ONCE)
        ]
        self.ended = sum(map(len, self._keys.values()))
        """How many versions end."""
        del self._keys

    def _rows(self, changes: Iterable[Change]) -> Iterator[tuple[Any, ...]]:
        for change in changes:
            if change.kind == "queue":
                self._targets.note(change.id, change.old, change.new)
            if change.old is not None:
                self._keys[change.kind].append(change.id)
            item = change.new
            yield (
                (change.kind, change.id)
                if item is None
                else (
                    item.kind,
                    item.id,
                    *columns(item),
                    encode(item),
                )
            )

    def _piece(self, at: int) -> bytes | None:
        """As soon as it is encoded; None behind the last."""
        with self._grown:
            while at == len(self._pieces) and not self._is_over:
                self._grown.wait()
            if at < len(self._pieces):
                return self._pieces[at]
        if not self._is_whole:
            raise RuntimeError("the changes were not encoded to their end")
        return None

    def _unpacked(self) -> Iterator[list[tuple[Any, ...]]]:
        at = 0
        while (packed := self._piece(at)) is not None:
            yield marshal.loads(zlib.decompress(packed))
            at += 1

    def lines(self) -> Iterator[bytes]:
        """For the agent: JSON arrays of `AT_ONCE` changes each, `{"kind", "id", "new"}`, where `new` is
        without the fields that hold their default. Waits for what is not encoded yet, and raises
        `RuntimeError` where that ends before its time."""
        for rows in self._unpacked():
            yield f"[{','.join(map(_line, rows))}]".encode()

    def end(self, connection: sqlite3.Connection, number: int) -> int:
        """Close their spans with revision `number`; how many there were."""
        return sum(
            connection.execute(END, (number, kind, zlib.decompress(ids).decode())).rowcount
            for kind, ids in self._ended
        )

    def sums(self, number: int) -> Sequence[int]:
        """Of those that begin with revision `number`, in their order."""
        if number == self._ahead:
            return self._summed
        return array("q", (found for piece in self._unpacked() for found in _sums(piece, number)))

    def begin(self, connection: sqlite3.Connection, number: int, sums: Iterable[int]) -> None:
        """Insert them as of revision `number` with their sums, and the prefixes leading to them."""
        each = iter(sums)
        for piece in self._unpacked():
            rows = ((number, *row, next(each)) for row in piece if len(row) > _ENDS)
            insert(connection, f"INSERT INTO object_version ({COLUMNS})", rows)
        self._targets.write(connection)


def _sums(rows: Iterable[Sequence[Any]], number: int) -> Iterator[int]:
    return (row_sum(row[0], row[1], number, row[-1]) for row in rows if len(row) > _ENDS)


def line_of(change: Change) -> bytes:
    """One change for the agent, as `ChangedVersions.lines` has them."""
    return _line_of(change).encode()


def lines_of(changes: Iterable[Change]) -> Iterator[bytes]:
    """As `ChangedVersions.lines`, of changes that are not written; each is encoded when its array is asked
    for."""
    for some in in_pieces(changes, AT_ONCE):
        yield f"[{','.join(map(_line_of, some))}]".encode()


def _line_of(change: Change) -> str:
    new = change.new
    return _line((change.kind, change.id) if new is None else (change.kind, change.id, encode(new)))


def _line(row: Sequence[Any]) -> str:
    body = row[-1] if len(row) > _ENDS else "null"
    return f'{{"kind":{_quoted(row[0])},"id":{_quoted(row[1])},"new":{body}}}'


def end_versions(connection: sqlite3.Connection, number: int, kind: str, ids: Sequence[str]) -> None:
    """Close the spans of what holds of these objects with revision `number`."""
    connection.execute(END, (number, kind, _to_json(ids)))
