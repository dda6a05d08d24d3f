# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.reference` writes the tables of fields in docs/reference/model.md.

A table stands between `<!-- fields of KIND -->` and `<!-- end of fields -->`; the text around it is written
by hand and left unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from weir.fields import EachWay, Group, OneOf, Position, Rows
from weir.fields.members import Member
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model.enforcement import ENFORCEMENT
from weir.model.problem import NotFound

PATH = Path(__file__).resolve().parents[3] / "docs" / "reference" / "model.md"
Row = tuple[str, ...]
_TABLE = re.compile(r"(?<=<!-- fields of )([a-z0-9-]+)( -->\n).*?(?=<!-- end of fields -->)", re.DOTALL)


def table(declaration: Declaration) -> str:
    """The fields of a kind as a Markdown table."""
    rows = [row for item in declaration.members for row in _rows(item)]
    if declaration.one_of is not None:
        rows.insert(0, _cases(declaration.one_of))
    heads = ["Field", "Unit, bounds, default", "Meaning"]
    if declaration.kind == "queue":
        heads.append("Enforced")
        rows = [(*row, _ENFORCED.get(row[0].strip("`"), "")) for row in rows]
    lines = [_line(heads), "|---" * len(heads) + "|\n", *map(_line, rows)]
    return "".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


_ENFORCED = {
    item.field: ("yes" if item.enforced else "**not yet**") + (f"; {item.note}" if item.note else "")
    for item in ENFORCEMENT
}
"""Of a queue's fields: whether the router acts on them, and how."""


def _rows(member: Member, within: str = "") -> Iterator[Row]:
    """The row of a field, and of those in it."""
    yield f"`{within}{member.name}`", _bounds(member), member.field.help
    match member.field:
        case Group(members=inner):
            place = f"{within}{member.name}."
        case Rows(group=Group(members=inner)):
            place = f"{within}{member.name}[]."
        case _:
            return
    for item in inner:
        yield from _rows(item, place)


def _cases(one_of: OneOf) -> Row:
    names = ", ".join(f"`{name}`" for name in one_of.names)
    meaning = " ".join(
        f"`{case.name}`{f' (has `{case.member}`)' if case.member else ''}: {case.help}"
        for case in one_of.cases
    )
    return f"`{one_of.discriminator}`", f"{names}; as the other fields say", f"{one_of.help} {meaning}"


def rewritten(text: str) -> str:
    """The reference with every table as declared. Raises `NotFound` for a kind without a place in it."""
    missing = DECLARED.keys() - {match[1] for match in _TABLE.finditer(text)}
    if missing:
        raise NotFound(f"the reference has no `<!-- fields of {min(missing)} -->`")
    return _TABLE.sub(lambda match: match[1] + match[2] + table(DECLARED[match[1]]), text)


def _bounds(member: Member) -> str:
    if isinstance(member.field, Group):
        return "object, or null; null" if member.nullable else "object; what its fields have"
    if member.required:
        return f"{member.field.bounds()}; required"
    if isinstance(member.field, Position):
        return f"{member.field.bounds()}; at the end of its list"
    value = member.field.to_json(member.default)
    if isinstance(member.field, EachWay) and value["upload"] == value["download"]:
        value = value["upload"]
    default = json.dumps(value, ensure_ascii=False)
    return f"{member.field.bounds()}{', or null' if member.nullable else ''}; {default}"


if __name__ == "__main__":
    PATH.write_text(rewritten(PATH.read_text(encoding="utf-8")), encoding="utf-8")
