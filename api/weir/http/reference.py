# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.reference` writes the tables of fields in docs/reference/model.md.

A table stands between `<!-- fields of KIND -->` and `<!-- end of fields -->`; the text around it is written
by hand and left unchanged.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from weir.fields import Group, OneOf, Rows
from weir.fields.members import Member
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model.problem import NotFound

PATH = Path(__file__).resolve().parents[3] / "docs" / "reference" / "model.md"
_TABLE = re.compile(r"(?<=<!-- fields of )([a-z-]+)( -->\n).*?(?=<!-- end of fields -->)", re.DOTALL)


def table(declaration: Declaration) -> str:
    """The fields of a kind as a Markdown table."""
    rows = [_row(item) for item in declaration.members]
    if declaration.one_of is not None:
        rows.insert(0, _cases(declaration.one_of))
    return "| Field | Unit, bounds, default | Meaning |\n|---|---|---|\n" + "".join(rows)


def _row(member: Member, within: str = "") -> str:
    row = f"| `{within}{member.name}` | {_bounds(member)} | {member.field.help} |\n"
    match member.field:
        case Group(members=inner):
            return row + "".join(_row(item, f"{within}{member.name}.") for item in inner)
        case Rows(group=Group(members=inner)):
            return row + "".join(_row(item, f"{within}{member.name}[].") for item in inner)
    return row


def _cases(one_of: OneOf) -> str:
    names = ", ".join(f"`{name}`" for name in one_of.names)
    meaning = " ".join(
        f"`{case.name}`{f' (has `{case.member}`)' if case.member else ''}: {case.help}"
        for case in one_of.cases
    )
    return (
        f"| `{one_of.discriminator}` | {names}; as the other fields say | What it is made as. {meaning} |\n"
    )


def rewritten(text: str) -> str:
    """The reference with every table as declared. Raises `NotFound` for a kind without a place in it."""
    missing = DECLARED.keys() - {match[1] for match in _TABLE.finditer(text)}
    if missing:
        raise NotFound(f"the reference has no `<!-- fields of {min(missing)} -->`")
    return _TABLE.sub(lambda match: match[1] + match[2] + table(DECLARED[match[1]]), text)


def _bounds(member: Member) -> str:
    if isinstance(member.field, Group):
        return "object, or null; null"
    if member.required:
        return f"{member.field.bounds()}; required"
    default = json.dumps(member.field.to_json(member.default), ensure_ascii=False)
    return f"{member.field.bounds()}{', or null' if member.nullable else ''}; {default}"


if __name__ == "__main__":
    PATH.write_text(rewritten(PATH.read_text(encoding="utf-8")), encoding="utf-8")
