# SPDX-License-Identifier: Apache-2.0
"""Checksums of what is stored: a digit that changed on the disk is found before it is obeyed.

Against accidents, not against who may write the file. Each row has a sum over its values. Each revision has
its *content*, the sum of the sums of what holds at it, by which a missing row and one too many are found; a
commit moves it by what it changes (a multiset hash, https://doi.org/10.1007/978-3-540-40061-5_12). Its
*digest* continues the one before: two stores whose digests of a revision agree have the same past.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from hashlib import blake2b

from weir.store.retention import complete_from, count_ended

SUM_BYTES = 8
DIGEST_BYTES = 16
_HALF = 1 << (8 * SUM_BYTES - 1)
SUMMED_PENDING = (
    "revision, base_revision, window_s, deadline_wall_ms, boot_id, deadline_boottime_ms, hex(token_hash), "
    "author, created_at_ms"
)
DIGESTED = "number, kind, author, source, message, created_at_ms, restores, changes, content"


def row_sum(*values: object) -> int:
    """The sum of a row's values (text, numbers, None): 64 bits with a sign, as SQLite keeps them."""
    text = "\0".join(map(str, values))
    found = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SUM_BYTES).digest()
    return int.from_bytes(found, "big", signed=True)


def wrapped(total: int) -> int:
    """A total of sums as SQLite can keep it."""
    return (total + _HALF) % (2 * _HALF) - _HALF


def revision_digest(before: bytes, row: tuple[object, ...]) -> bytes:
    """The digest of a revision whose `DIGESTED` columns are `row`; `before` is the one of its predecessor."""
    text = json.dumps(row, separators=(",", ":"))
    return blake2b(before + text.encode(), digest_size=DIGEST_BYTES).digest()


def fill(connection: sqlite3.Connection) -> None:
    """For a store that was written without sums: take what is there for right."""
    connection.create_function("weir_sum", -1, row_sum, deterministic=True)
    connection.execute("UPDATE object_version SET sum = weir_sum(kind, id, from_revision, body)")
    connection.execute("UPDATE candidate_change SET sum = weir_sum(owner, kind, id, body)")
    connection.execute(f"UPDATE pending_confirmation SET sum = weir_sum({SUMMED_PENDING})")
    count_ended(connection)
    contents = revision_contents(connection)
    connection.executemany(
        "UPDATE revision SET content = ? WHERE number = ?",
        ((content, number) for number, content in contents.items()),
    )
    digest, digests = b"", []
    for row in connection.execute(f"SELECT {DIGESTED} FROM revision ORDER BY number"):
        digest = revision_digest(digest, row)
        digests.append((digest, row[0]))
    connection.executemany("UPDATE revision SET digest = ? WHERE number = ?", digests)


def revision_contents(connection: sqlite3.Connection) -> dict[int, int]:
    """The content of every revision that can be read, by its number, from the sums of the versions."""
    first = complete_from(connection)
    content, moves = 0, defaultdict[int, int](int)
    for number, since, until in connection.execute(
        "SELECT sum, from_revision, to_revision FROM object_version"
    ):
        if until is not None and until <= first:
            continue
        if since <= first:
            content += number
        else:
            moves[since] += number
        if until is not None:
            moves[until] -= number
    contents = {}
    for (number,) in connection.execute(
        "SELECT number FROM revision WHERE number >= ? ORDER BY number", (first,)
    ):
        content = wrapped(content + moves[number])
        contents[number] = content
    return contents
