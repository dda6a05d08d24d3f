# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.reference` writes the tables of fields in docs/reference/model.md.

A table stands between `<!-- fields of KIND -->` and `<!-- end of fields -->`; the text around it is written
by hand and left unchanged.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration, Member
from weir.model.problem import NotFound

PATH = Path(__file__).resolve().parents[3] / "docs" / "reference" / "model.md"
_TABLE = re.compile(r"(?<=<!-- fields of )([a-z-]+)( -->\n).*?(?=<!-- end of fields -->)", re.DOTALL)


def table(declaration: Declaration) -> str:
    """The fields of a kind as a Markdown table."""
    rows = [f"| `{item.name}` | {_bounds(item)} | {item.field.help} |\n" for item in declaration.members]
    return "| Field | Unit, bounds, default | Meaning |\n|---|---|---|\n" + "".join(rows)


def rewritten(text: str) -> str:
    """The reference with every table as declared. Raises `NotFound` for a kind without a place in it."""
    missing = DECLARED.keys() - {match[1] for match in _TABLE.finditer(text)}
    if missing:
        raise NotFound(f"the reference has no `<!-- fields of {min(missing)} -->`")
    return _TABLE.sub(lambda match: match[1] + match[2] + table(DECLARED[match[1]]), text)


def _bounds(member: Member) -> str:
    if member.required:
        return f"{member.field.bounds()}; required"
    default = json.dumps(member.field.to_json(member.default), ensure_ascii=False)
    return f"{member.field.bounds()}{', or null' if member.nullable else ''}; {default}"


if __name__ == "__main__":
    PATH.write_text(rewritten(PATH.read_text(encoding="utf-8")), encoding="utf-8")
