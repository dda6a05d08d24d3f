# SPDX-License-Identifier: Apache-2.0
"""Thousands of rows by few statements.

A statement for each row would let go of the interpreter's lock for each row, and get it back after everybody
else who has something to do: 50,000 rows took 42 s beside ten other requests a second. Others run while
SQLite takes hundreds at once. As values they take it half the time that it needs to find them in JSON.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

ROWS = 500
"""In one statement; SQLite takes 32,766 values."""

T = TypeVar("T")


def insert(connection: sqlite3.Connection, into: str, rows: Iterable[Sequence[Any]], then: str = "") -> None:
    """`into` is "INSERT INTO table (columns)", `then` what follows the values. All rows are of one length."""
    said, count = "", 0
    for some in in_pieces(rows, ROWS):
        if len(some) != count:
            count = len(some)
            row = f"({','.join('?' * len(some[0]))})"
            said = f"{into} VALUES {','.join([row] * count)} {then}"
        connection.execute(said, list(chain.from_iterable(some)))


def in_pieces(items: Iterable[T], count: int) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, count)):
        yield some
