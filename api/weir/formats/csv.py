# SPDX-License-Identifier: Apache-2.0
"""Weir's own CSV: one queue per row, every field a column; what a spreadsheet can edit and give back.

RFC 4180 with a header. Columns may be left out and stand in any order: a queue that exists keeps what the
file does not mention, a new one takes the default. An empty cell is the default. Rates take what people
type (`10M`); targets are separated by blanks. `docs/guide/migration.md` lists the columns.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@`, a tab or a line end as a formula. Such a
cell is written with an apostrophe before it, which reading takes off again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from weir.formats.assemble import assemble
from weir.formats.columns import COLUMNS, values_of
from weir.formats.contradictions import settle_rates
from weir.formats.draft import Draft, clean_name
from weir.formats.identity import is_id
from weir.formats.records import Record, how_cut_off, open_table, parse_cells
from weir.formats.report import ImportReport, LineDraft, add_line, file_finding, note_encoding, quoted
from weir.formats.tree import parents_first
from weir.model.document import Document
from weir.model.limits import MAX_POSITION
from weir.model.objects import Queue
from weir.model.problem import Finding, Invalid

FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001  # spreadsheets take the wide forms alike
_BY_NAME = {column.name: column for column in COLUMNS}
_REFERENCES = ("id", "name", "parent", "position")
HEADER = (*_REFERENCES, *_BY_NAME)


def write(document: Document) -> str:
    """As `written`, in one piece."""
    return "".join(written(document))


def written(document: Document) -> Iterator[str]:
    """Every queue, parents before the queues below them, with CRLF line ends; line by line."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for queue in parents_first(document):
        cells = [queue.id, queue.name, queue.parent or "", str(queue.position)]
        cells.extend(column.show(queue) for column in COLUMNS)
        writer.writerow([guard(cell) for cell in cells])
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def guard(cell: str) -> str:
    """The cell as a spreadsheet may see it: never a formula."""
    begins_formula = cell[:1] in FORMULA or (cell[:1] == "'" and (cell[1:2] in FORMULA or cell[1:2] == "'"))
    return f"'{cell}" if cell and begins_formula else cell


def unguard(cell: str) -> str:
    """The inverse of `guard`; other apostrophes ('s-Hertogenbosch) stay."""
    return cell[1:] if cell[:1] == "'" and (cell[1:2] in FORMULA or cell[1:2] == "'") else cell


def read(files: Mapping[str, bytes], existing: Document) -> ImportReport:
    """Raises `Invalid` when a file has no header with a `name` or an `id` column."""
    lines: list[LineDraft] = []
    drafts: list[Draft] = []
    findings: list[Finding] = []
    silent_lines = sum(
        _read_file(name, data, existing, lines, drafts, findings) for name, data in files.items()
    )
    taken: dict[str, Draft] = {}
    for draft in drafts:
        if draft.wanted_id is not None and taken.setdefault(draft.wanted_id, draft) is not draft:
            draft.line.note("left-out", "duplicate-id", f"The file has a queue {draft.wanted_id} already.")
    drafts[:] = [draft for draft in drafts if draft.line.fate != "left-out"]
    for draft in drafts:
        _find_parent(draft, taken, existing)
    taken.clear()
    return assemble("csv", drafts, {}, lines, existing, silent_lines, findings)


def _read_file(
    file_name: str,
    data: bytes,
    existing: Document,
    lines: list[LineDraft],
    drafts: list[Draft],
    findings: list[Finding],
) -> int:
    """Append what the file holds; returns the number of blank lines."""
    table = open_table(data, _names_a_queue)
    if table is None:
        raise Invalid(
            f"{file_name}: the first line must name the columns, with name or id among them.",
            code="no-header",
        )
    records = table.records()
    record = header = next(records)
    line = LineDraft(header.number, header.end, header.source, file_name)
    columns = _columns(header.cells or [], line)
    note_encoding(table.lines.encoding, line)
    lines.append(line)
    covered = header.end - header.number + 1
    for record in records:
        covered += record.end - record.number + 1
        line = LineDraft(record.number, record.end, record.source, file_name)
        add_line(lines, line)
        try:
            draft = _row(record, columns, line, existing)
            settle_rates(draft)
            draft.fold()
            drafts.append(draft)
        except ValueError as error:
            line.note("left-out", "bad-value", str(error))
    how = how_cut_off(record, len(columns), data)
    if how is not None:
        findings.append(
            file_finding("file-cut", f"{file_name} ends in the middle of a row: {how}.", file_name)
        )
    return len(table.lines) - covered


def _header_name(cell: str) -> str:
    return cell.strip().lower().replace(" ", "_").replace("-", "_")


def _names_a_queue(row: str, delimiter: str) -> bool:
    return not {"name", "id"}.isdisjoint(map(_header_name, parse_cells(row, delimiter) or ()))


def _columns(cells: list[str], line: LineDraft) -> list[str | None]:
    """The column of each cell; None where it is unknown or comes a second time, which is noted."""
    columns: list[str | None] = []
    for cell in cells:
        name = _header_name(cell)
        known = name in _BY_NAME or name in _REFERENCES
        if not known or name in columns:
            what = "comes twice" if known else "is not known"
            line.note("warning", "unknown-column", f"The column {quoted(cell)} {what} and is left off.")
        columns.append(name if known and name not in columns else None)
    return columns


def _row(record: Record, columns: list[str | None], line: LineDraft, existing: Document) -> Draft:
    """Raises `ValueError` with the sentence for the report."""
    cells = record.cells
    if cells is None:
        raise ValueError(record.flaw)
    if len(cells) > len(columns):
        raise ValueError(f"The row has {len(cells)} cells, the header has {len(columns)}.")
    given = {name: unguard(cell) for name, cell in zip(columns, cells, strict=False) if name is not None}
    present = _present(given, existing)
    name = given.get("name", "") or (present.name if present is not None else "")
    if not name.strip():
        raise ValueError("The row has no name.")
    draft = Draft(line, clean_name(name, line))
    draft.wanted_id = given.get("id") or None
    if present is not None:
        draft.values = values_of(present)
        draft.position = present.position
        draft.parent_name = present.parent
    draft.parent_name = (given["parent"] or None) if "parent" in given else draft.parent_name
    if given.get("position"):
        draft.position = _position(given["position"])
    for key, cell in given.items():
        if key in _BY_NAME:
            try:
                _BY_NAME[key].read(draft, cell)
            except Invalid as problem:
                raise ValueError(f"{key}: {problem.message}.") from problem
            except ValueError as error:
                raise ValueError(f"{key}={quoted(cell)}: {error}.") from error
    return draft


def _present(given: Mapping[str, str], existing: Document) -> Queue | None:
    """The queue that the row is about, if the document has it: by id, else by name."""
    own_id = given.get("id")
    if own_id:
        if not is_id(own_id):
            raise ValueError(f"{quoted(own_id)} cannot be an id (a-z, 0-9, _ . -; up to 63 characters).")
        return existing.queue(own_id)
    known = sorted(existing.queue_ids_by_name.of(given.get("name", "")))
    return existing.queue(known[0]) if known else None


def _position(cell: str) -> int:
    if cell.isascii() and cell.isdigit() and len(cell) < 12 and int(cell) <= MAX_POSITION:
        return int(cell)
    raise ValueError(f"position={quoted(cell)}: expected a whole number up to {MAX_POSITION}.")


def _find_parent(draft: Draft, by_id: Mapping[str, Draft], existing: Document) -> None:
    """The parent column holds an id or a name; an id that exists wins."""
    reference = draft.parent_name
    if reference is None:
        return
    if reference in by_id or existing.queue(reference) is not None:
        draft.parent_is_id = True
