# SPDX-License-Identifier: Apache-2.0
"""RFC 4180 records with the physical lines they came from; a broken record costs only its own first line."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from weir.formats.text import MAX_LINE_BYTES, Lines, has_last_line_end

MAX_LINES_PER_RECORD = 4096
DELIMITERS = (",", ";", "\t")
_OPEN_QUOTE = "The quotes of this row do not close or stand in the wrong place."


@dataclass(frozen=True, slots=True)
class Record:
    """`cells` is None when the line is no record; `flaw` then says why in a sentence."""

    number: int
    end: int
    source: str
    cells: list[str] | None
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The physical lines of a file of records."""

    lines: Lines
    delimiter: str
    is_comment: Callable[[str], bool]

    def records(self) -> Iterator[Record]:
        """Records in order; blank lines, and comments where a record could begin, are passed over."""
        odd = _next_odd(self.lines)
        index = 0
        while index < len(self.lines):
            raw = self.lines[index]
            if len(raw) > MAX_LINE_BYTES:
                record = self._too_long(raw, index)
            else:
                line = self._decoded(raw)
                if not line.strip() or self.is_comment(line):
                    index += 1
                    continue
                record = self._record(line, index, odd[index])
            yield record
            index = record.end

    def _decoded(self, line: bytes) -> str:
        return line.decode(self.lines.encoding, "replace")

    def _too_long(self, raw: bytes, index: int) -> Record:
        start = self._decoded(raw[:1000])
        return Record(
            index + 1, index + 1, start, None, f"It has more than {MAX_LINE_BYTES} bytes, which no row has."
        )

    def _record(self, line: str, index: int, closing: int) -> Record:
        """The record that begins at `index`; a quote that is left open there may close at `closing`."""
        cells = parse_cells(line, self.delimiter)
        if cells is not None:
            return Record(index + 1, index + 1, line, cells)
        if line.count('"') % 2 and closing - index < MAX_LINES_PER_RECORD:
            joined = b"\n".join(self.lines[index : closing + 1])
            if len(joined) <= MAX_LINE_BYTES:
                several = self._decoded(joined)
                cells = parse_cells(several, self.delimiter)
                if cells is not None:
                    return Record(index + 1, closing + 1, several, cells)
        return Record(index + 1, index + 1, line, None, _OPEN_QUOTE)


def no_comments(line: str) -> bool:
    """For formats where every line is a row."""
    return False


def open_table(
    data: bytes, has_header: Callable[[str, str], bool], is_comment: Callable[[str], bool] = no_comments
) -> Table | None:
    """The table whose first row `has_header(row, delimiter)` accepts with one of the usual delimiters."""
    table = Table(Lines(data), DELIMITERS[0], is_comment)
    first = next((record.source for record in table.records()), "")
    for delimiter in DELIMITERS:
        if has_header(first, delimiter):
            return replace(table, delimiter=delimiter)
    return None


def _next_odd(lines: Lines) -> array[int]:
    """For each line the next one with an odd number of quotes, where a quote left open can close."""
    following = len(lines) + MAX_LINES_PER_RECORD
    result = array("L", bytes(array("L").itemsize * len(lines)))
    for index in range(len(lines) - 1, -1, -1):
        result[index] = following
        if lines[index].count(b'"') % 2:
            following = index
    return result


def parse_cells(text: str, delimiter: str) -> list[str] | None:
    """The cells of one record, or None when it is not one."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def how_cut_off(last: Record, columns: int, data: bytes) -> str | None:
    """How a file's last record shows that the file ends within it, or None where it does not."""
    if last.flaw == _OPEN_QUOTE:
        return "a quote in it does not close"
    if not has_last_line_end(data) and last.cells is not None and len(last.cells) < columns:
        return "it has fewer cells than the header and no line end"
    return None
