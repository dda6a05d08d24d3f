# SPDX-License-Identifier: Apache-2.0
"""RFC 4180 records with the physical lines they came from; a broken record costs only its own first line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MAX_LINES_PER_RECORD = 4096
DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True, slots=True)
class Record:
    """`cells` is None when the line is no record: a quote does not close or stands in the wrong place."""

    number: int
    end: int
    source: str
    cells: list[str] | None


def split_lines(text: str) -> list[str]:
    """Physical lines, whatever ends them; the last one may be without an end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def read_records(lines: list[str], delimiter: str, is_comment: Callable[[str], bool]) -> Iterator[Record]:
    """Records in order; blank lines, and comments where a record could begin, are passed over."""
    odd = _next_odd(lines)
    index = 0
    while index < len(lines):
        line = lines[index]
        if not line.strip() or is_comment(line):
            index += 1
            continue
        number, end, source, cells = index + 1, index + 1, line, parse_cells(line, delimiter)
        closing = odd[index]
        if cells is None and line.count('"') % 2 and closing - index < MAX_LINES_PER_RECORD:
            joined = "\n".join(lines[index : closing + 1])
            several = parse_cells(joined, delimiter)
            if several is not None:
                end, source, cells = closing + 1, joined, several
        yield Record(number, end, source, cells)
        index = end


def _next_odd(lines: list[str]) -> list[int]:
    """For each line the next one with an odd number of quotes, where a quote left open can close."""
    result = [0] * len(lines)
    following = len(lines) + MAX_LINES_PER_RECORD
    for index in range(len(lines) - 1, -1, -1):
        result[index] = following
        if lines[index].count('"') % 2:
            following = index
    return result


def parse_cells(text: str, delimiter: str) -> list[str] | None:
    """The cells of one record, or None when it is not one."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
