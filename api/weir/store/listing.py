# SPDX-License-Identifier: Apache-2.0
"""Pages of the newest revision: filtered, sorted and cut by SQLite's indexes, not in Python.

A cursor holds the sort key and id of the last row, so a page costs the same wherever it is and
nothing is skipped or repeated when objects before it come or go.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from weir.model.limits import MAX_SEARCH_CHARS
from weir.model.objects import Kind
from weir.model.prefix import Prefix, parse_prefix
from weir.model.problem import Invalid, Unavailable
from weir.store.decoding import to_stored
from weir.store.finding import SEARCH, Query, query_for
from weir.store.prefixes import covering_keys, inside_ranges
from weir.store.reading import head
from weir.store.rows import Stored

Cell = str | int | bytes | None

SORT_COLUMNS = {
    "position": "position",
    "name": "name",
    "id": "id",
    "max_limit_upload": "max_limit_upload_bps",
    "max_limit_download": "max_limit_download_bps",
}
MAX_LIMIT = 1000
MAX_REMEMBERED = 256
MAX_FEW = 1000


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list. `parent`: "any", None for roots, or a queue id. `ids`: only these; `without_ids`:
    not these. `warned` is for the service, which turns it into ids.

    `text` is a piece of a name, comment, id or target, or a whole address or prefix: then the
    queues with a target that covers it or lies inside it, and objects of other kinds with a field that covers
    it (`weir.store.finding`). `offset` is the alternative to `cursor` for
    tables that jump.
    """

    kind: Kind
    limit: int = 100
    cursor: str | None = None
    offset: int | None = None
    sort: str = "position"
    within: tuple[str, ...] = ()
    """Of an ordered kind the fields that make lists of their own: `position` sorts by these first."""
    text: str = ""
    parent: str | Literal["any"] | None = "any"
    disabled: bool | None = None
    ids: Collection[str] | None = None
    without_ids: Collection[str] = ()
    warned: bool | None = None
    counted: bool = True
    """Whether the page has a total: counting what is not asked for again costs a look at all rows."""


@dataclass(frozen=True, slots=True)
class Page:
    """`total` is 0 where the listing is not to be counted."""

    items: list[Stored]
    next_cursor: str | None
    total: int


def page(connection: sqlite3.Connection, listing: Listing, totals: Totals) -> Page:
    """Raises `Invalid` for a bad limit, sort key, cursor or text; at most `MAX_LIMIT` items.

    What is damaged is neither shown nor counted: the health of the store names it.
    """
    if not 1 <= listing.limit <= MAX_LIMIT:
        raise Invalid(f"limit must be 1 to {MAX_LIMIT}", path="limit")
    while True:
        try:
            return _page(connection, listing, totals)
        except _DamagedRowsError as found:
            totals.set_aside(found.serials)


def _page(connection: sqlite3.Connection, listing: Listing, totals: Totals) -> Page:
    column, descending = _sorting(listing)
    source, where, values = _conditions(connection, listing, totals)
    count = f"SELECT count(*) FROM {source} WHERE {where}"
    total = totals.count(connection, count, values) if listing.counted else 0
    if listing.cursor is not None:
        after, at = _after(listing.cursor, listing.sort, column, descending)
        where, values = f"{where} AND {after}", [*values, *at]
    direction = "DESC" if descending else "ASC"
    order = f"id {direction}" if column == "id" else f"{column} {direction}, id {direction}"
    rows = connection.execute(
        f"SELECT kind, id, from_revision, body, sum, {column}, serial FROM {source} WHERE {where} "
        f"ORDER BY {order} LIMIT ? OFFSET ?",
        [*values, listing.limit + 1, min(max(listing.offset or 0, 0), 1 << 62)],
    ).fetchall()
    shown = rows[: listing.limit]
    more = len(rows) > listing.limit
    return Page(
        items=_readable(shown),
        next_cursor=_cursor(listing.sort, shown[-1][5], shown[-1][1]) if more else None,
        total=total,
    )


def matching(connection: sqlite3.Connection, listing: Listing, totals: Totals) -> set[str]:
    """The ids of all that a listing with `ids` lets through; no object is read."""
    source, where, values = _conditions(connection, listing, totals)
    return {row[0] for row in connection.execute(f"SELECT id FROM {source} WHERE {where}", values)}


class _DamagedRowsError(Exception):
    def __init__(self, serials: list[int]) -> None:
        super().__init__(serials)
        self.serials = serials


def _readable(rows: list[tuple[Any, ...]]) -> list[Stored]:
    """Raises `_DamagedRowsError` with all that cannot be read."""
    items, damaged = [], []
    for row in rows:
        try:
            items.append(to_stored(*row[:5]))
        except Unavailable:
            damaged.append(row[6])
    if damaged:
        raise _DamagedRowsError(damaged)
    return items


class Totals:
    """What was found, remembered while the head stays: turning pages counts and searches once.

    Rows that turned out to be damaged are remembered for good, as their serial numbers are not given again.
    """

    def __init__(self) -> None:
        self.damaged: frozenset[int] = frozenset()
        self._lock = threading.Lock()
        self._head = -1
        self._known: dict[tuple[object, ...], list[Cell]] = {}

    def set_aside(self, serials: list[int]) -> None:
        """These rows are damaged."""
        with self._lock:
            self.damaged |= frozenset(serials)

    def count(self, connection: sqlite3.Connection, query: str, values: list[Cell]) -> int:
        (total,) = self._first(connection, query, values)
        assert isinstance(total, int)
        return total

    def serials(self, connection: sqlite3.Connection, asked: Query) -> list[Cell] | None:
        """The rows that a query finds; None when they are more than `MAX_FEW`."""
        query, values = asked
        found = self._first(connection, f"{query} LIMIT {MAX_FEW + 1}", [*values])
        return None if len(found) > MAX_FEW else found

    def _first(self, connection: sqlite3.Connection, query: str, values: list[Cell]) -> list[Cell]:
        """The first column of all rows."""
        at = head(connection)
        key = (query, *values)
        small = all(not isinstance(value, str) or len(value) <= MAX_SEARCH_CHARS for value in values)
        with self._lock:
            if at > self._head:
                self._head = at
                self._known.clear()
            known = self._known.get(key) if at == self._head else None
        if known is not None:
            return known
        found = [row[0] for row in connection.execute(query, values)]
        with self._lock:
            if small and at == self._head:
                if len(self._known) >= MAX_REMEMBERED:
                    self._known.clear()
                self._known[key] = found
        return found


def _sorting(listing: Listing) -> tuple[str, bool]:
    """What to sort by, as an expression of SQL. Field names are those of declarations."""
    sort = listing.sort
    descending = sort.startswith("-")
    column = SORT_COLUMNS.get(sort[1:] if descending else sort)
    if column is None:
        raise Invalid(f"cannot sort by {sort[:40]!r}; try {', '.join(SORT_COLUMNS)}", path="sort")
    if column == "position" and listing.within:
        lists = ", ".join(f"json_extract(body, '$.{name}')" for name in listing.within)
        column = f"json_array({lists}) || printf('%020d', position)"
    return column, descending


def _conditions(
    connection: sqlite3.Connection, listing: Listing, totals: Totals
) -> tuple[str, str, list[Cell]]:
    """Where to look (with the index, when only a few can match), the WHERE clause and its values."""
    source = "object_version"
    # The indexes of queues hold nothing else, which SQLite sees where the kind is said in words.
    is_queue = listing.kind == "queue"
    parts = ["kind = 'queue'" if is_queue else "kind = ?", "to_revision IS NULL"]
    values: list[Cell] = [] if is_queue else [listing.kind]
    if listing.parent != "any":
        parts.append("parent IS ?")
        values.append(listing.parent)
    if listing.disabled is not None:
        parts.append("disabled = 1" if listing.disabled else "disabled = 0")
    if listing.without_ids:
        parts.append("id NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(listing.without_ids)))
    if totals.damaged:
        parts.append("serial NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(totals.damaged)))
    text = listing.text.strip()
    if len(text) > MAX_SEARCH_CHARS:
        raise Invalid(f"the search text is longer than {MAX_SEARCH_CHARS} characters", path="q")
    address = _address(text)
    if listing.ids is not None:
        source = "object_version INDEXED BY object_now"
        parts.append("id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(listing.ids)))
    if address is not None and is_queue:
        source = "object_version INDEXED BY object_now"
        keys, ranges = covering_keys(address), inside_ranges(address)
        wanted = [f"prefix IN ({','.join('?' * len(keys))})", *["prefix BETWEEN ? AND ?"] * len(ranges)]
        parts.append(f"id IN (SELECT id FROM target_now WHERE {' OR '.join(wanted)})")
        values += [*keys, *(key for pair in ranges for key in pair)]
    elif text:
        asked = query_for(listing.kind, text, address)
        few = totals.serials(connection, asked)
        if few is None and asked[0] == SEARCH:
            parts.append("instr(search, ?)")  # in the order of the page, which ends early
            values.append(text.casefold())
        elif few is None:
            parts.append(f"serial IN ({asked[0]})")
            values += asked[1]
        else:
            source = source if listing.ids is not None else "object_version NOT INDEXED"
            parts.append("serial IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(few))
    return source, " AND ".join(parts), values


def _address(text: str) -> Prefix | None:
    """The text as an address or prefix; host bits of a prefix are forgiven, a search is not input."""
    address, _, length = text.partition("/")
    try:
        found = parse_prefix(address)
    except Invalid:
        return None
    if not length:
        return found
    if not (length.isascii() and length.isdigit()) or int(length) > found.length:
        return None
    drop = found.length - int(length)
    return Prefix(found.family, found.value >> drop << drop, int(length))


def _cursor(sort: str, key: Cell, object_id: str) -> str:
    text = json.dumps([sort, key, object_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _after(cursor: str, sort: str, column: str, descending: bool) -> tuple[str, list[Cell]]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        value = None
    fits = isinstance(value, list) and len(value) == 3 and isinstance(value[2], str)
    if not fits or type(value[1]) not in (int, str) or abs(_number(value[1])) >= 1 << 63:
        raise Invalid("this is not a cursor of this list", code="bad-cursor", path="cursor")
    if value[0] != sort:
        raise Invalid("this cursor belongs to another sort order", code="bad-cursor", path="cursor")
    compare = "<" if descending else ">"
    if column == "id":
        return f"id {compare} ?", [value[2]]
    return f"({column}, id) {compare} (?, ?)", [value[1], value[2]]


def _number(value: Cell) -> int:
    return value if isinstance(value, int) else 0
