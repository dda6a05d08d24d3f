# SPDX-License-Identifier: Apache-2.0
"""The columns of ShapedDevices.csv, and which cell of a row belongs to which of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from weir.formats.libreqos.rates import mbps_to_bps
from weir.formats.records import Record
from weir.formats.report import LineDraft, quoted
from weir.model.prefix import looks_like_prefix

RATES = ("downloadminmbps", "uploadminmbps", "downloadmaxmbps", "uploadmaxmbps")
_NOT_IN_HEADER = re.compile(r"[^a-z0-9]+")
_ALIASES = {name.removesuffix("mbps"): name for name in RATES}
_KNOWN = frozenset(
    {"circuitid", "circuitname", "deviceid", "devicename", "parentnode", "parentnodeid", "anchornodeid"}
    | {"mac", "ipv4", "ipv6", "comment", "sqm", *RATES}
)
_NOT_KEPT = {
    "deviceid": "Device ID",
    "devicename": "Device Name",
    "anchornodeid": "Anchor Node ID",
    "mac": "MAC",
}
_LATER = {"parentnodeid": "Parent Node ID", "anchornodeid": "Anchor Node ID"}
"""Columns that newer files have in their middle: rows of older programs lack their cells."""
_LAST = frozenset({"comment", "sqm"})
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}[:.-]?){5}[0-9A-Fa-f]{2}")


def header_name(cell: str) -> str:
    """A column's name without regard to case and punctuation."""
    name = _NOT_IN_HEADER.sub("", cell.lower())
    return _ALIASES.get(name, name)


def columns_of(cells: list[str], line: LineDraft) -> list[str]:
    """Normalised column names; what Weir does not keep is said once, on the header's line."""
    columns = [header_name(cell) for cell in cells]
    unknown = [cell for cell, name in zip(cells, columns, strict=True) if name not in _KNOWN and name]
    if unknown:
        line.note(
            "warning", "unknown-column", f"Unknown columns are left off: {quoted(', '.join(unknown), 200)}."
        )
    dropped = [_NOT_KEPT[name] for name in columns if name in _NOT_KEPT]
    if dropped:
        line.note("changed", "columns-not-kept", f"Weir does not keep {', '.join(dropped)}.")
    return columns


def named_cells(record: Record, columns: list[str], delimiter: str, line: LineDraft) -> dict[str, str]:
    """Cells by column. Raises `ValueError` with the sentence for the report."""
    cells = record.cells
    if cells is None:
        raise ValueError(record.flaw)
    if len(cells) > len(columns):
        cells = _without_surplus(cells, columns, delimiter, line)
    elif len(cells) < len(columns):
        columns = _columns_of_short_row(cells, columns, line)
    return dict(zip(columns, cells, strict=False))


def _without_surplus(cells: list[str], columns: list[str], delimiter: str, line: LineDraft) -> list[str]:
    """A comment with commas but no quotes gives too many cells, which are joined again."""
    extra = len(cells) - len(columns)
    if not any(cell.strip() for cell in cells[len(columns) :]):
        return cells[: len(columns)]
    if "comment" not in columns:
        raise ValueError(f"The row has {len(cells)} cells, the header has {len(columns)}.")
    at = columns.index("comment")
    line.note("changed", "comment-commas", "The comment holds commas without quotes: they are part of it.")
    return [*cells[:at], delimiter.join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]


def _columns_of_short_row(cells: list[str], columns: list[str], line: LineDraft) -> list[str]:
    """The columns that a row with too few cells has: its last ones are missing, or the node ids are."""
    if _fits(cells, columns):
        return columns
    present = [name for name in _LATER if name in columns]
    for number in range(1, len(present) + 1):
        for absent in combinations(present, number):
            fewer = [name for name in columns if name not in absent]
            if len(cells) <= len(fewer) and _fits(cells, fewer):
                names = " and ".join(_LATER[name] for name in absent)
                line.note(
                    "changed",
                    "row-without-ids",
                    f"The row has {len(cells)} cells, the header names {len(columns)} columns: "
                    f"read without {names}, which fits.",
                )
                return fewer
    raise ValueError(
        f"The row has {len(cells)} cells, the header names {len(columns)} columns: "
        "it is not clear which are missing."
    )


def _fits(cells: list[str], columns: Sequence[str]) -> bool:
    """Whether every cell can be what its column says; only a comment or `sqm` may be missing at the end."""
    if not _LAST.issuperset(columns[len(cells) :]):
        return False
    return all(_may_be(name, cell.strip()) for name, cell in zip(columns, cells, strict=False))


def _may_be(name: str, cell: str) -> bool:
    if name in RATES:
        return _is_rate(cell or "0")
    if name in ("ipv4", "ipv6"):
        return all(looks_like_prefix(part.strip()) for part in cell.split(",") if part.strip())
    if name == "mac":
        return not cell or not looks_like_prefix(cell) or _MAC.fullmatch(cell) is not None
    return not (name in _LATER or name == "parentnode") or _MAC.fullmatch(cell) is None


def _is_rate(cell: str) -> bool:
    try:
        mbps_to_bps(cell)
    except ValueError:
        return False
    return True
