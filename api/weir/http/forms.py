# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.forms` writes what the web interface knows of the kinds: webui/src/kinds/kinds.json.

Per kind its names, the defaults of its fields, and of a declared kind all that its list and its form are made
of: what OpenAPI types cannot tell a program in the browser. What an object is one of is a choice, and what
belongs to one of its cases alone has that as its condition. A `group` lists its fields as a kind does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from weir.fields import (
    Address,
    Choice,
    Field,
    Flag,
    Group,
    Host,
    Many,
    OneOf,
    Port,
    Prefix,
    Ref,
    Secret,
    Table,
    Text,
    When,
    Whole,
)
from weir.fields.members import Member
from weir.kinds import DECLARED, KINDS
from weir.kinds.declaration import AREAS, Declaration
from weir.kinds.words import label_of
from weir.model.codec import defaults_of

PATH = Path(__file__).resolve().parents[3] / "webui" / "src" / "kinds" / "kinds.json"
Json = dict[str, Any]

_UNDECLARED = {
    "queue": ("queue", "queues"),
}


def text() -> str:
    """The file's text, the same for the same declarations."""
    return json.dumps(described(), indent=2, ensure_ascii=False) + "\n"


def described() -> Json:
    """The areas of the navigation in their order, and the kinds."""
    return {"areas": list(AREAS), "kinds": {kind: _kind(kind) for kind in KINDS}}


def _kind(kind: str) -> Json:
    defaults = dict(defaults_of(kind))
    declared = DECLARED.get(kind)
    if declared is not None:
        return {**_names(declared), "defaults": defaults, "fields": fields_of(declared)}
    singular, plural = _UNDECLARED[kind]
    labels = {path: label_of(kind, path) for name, value in defaults.items() for path in _paths(name, value)}
    return {"singular": singular, "plural": plural, "labels": labels, "defaults": defaults}


def _paths(name: str, value: object) -> list[str]:
    return [name, *(f"{name}.{inner}" for inner in (value if isinstance(value, dict) else ()))]


def _names(declaration: Declaration) -> Json:
    return {
        "singular": declaration.singular,
        "plural": declaration.plural,
        "short": declaration.short,
        "path": declaration.path,
        "page": declaration.page,
        "area": declaration.area,
        "isSingle": declaration.is_single,
        "assignsIds": bool(declaration.ids.assigned),
        "namedBy": declaration.named_by,
        "columns": [name for name in declaration.columns if name != declaration.named_by],
        "purpose": declaration.purpose,
    }


def fields_of(declaration: Declaration) -> list[Json]:
    """The fields of a kind as a form and a list need them, in their order."""
    one_of, found = declaration.one_of, []
    cases = {} if one_of is None else one_of.members
    if one_of is not None:
        found.append(_choice(declaration.kind, one_of))
    for member in declaration.members:
        case = cases.get(member.name)
        when = None if one_of is None or case is None else When(one_of.discriminator, (case.name,))
        found.append(_member(declaration.kind, member, when))
    return found


def _choice(kind: str, one_of: OneOf) -> Json:
    """Which case an object is; the names of the cases with a sentence about each."""
    return {
        "name": one_of.discriminator,
        "label": label_of(kind, one_of.discriminator),
        "importance": "shown",
        "required": False,
        "nullable": False,
        "help": " ".join(f"{case.name}: {case.help}" for case in one_of.cases),
        "type": "choice",
        "choices": list(one_of.names),
    }


def _member(kind: str, member: Member, when: When | None = None, within: str = "") -> Json:
    field = member.field
    said = {"help": field.help, "example": field.example, "when": when_json(when or field.when)}
    return {
        "name": member.name,
        "label": label_of(kind, within + member.name),
        "importance": field.importance,
        "required": member.required,
        "nullable": member.nullable,
        **{name: value for name, value in said.items() if value},
        **(_group(kind, field, member.name) if isinstance(field, Group) else shape(field)),
    }


def _group(kind: str, group: Group, name: str) -> Json:
    fields = [_member(kind, member, within=f"{name}.") for member in group.members]
    return {"type": "group", "fields": fields}


def when_json(when: When | None) -> Json | None:
    """A condition; without `is` any value fulfils it."""
    if when is None:
        return None
    return {"field": when.field, "is": list(when.values) or None, "unless": when.unless}


def shape(field: Field) -> Json:
    """The type of a field, and its bounds. A type that has no form of its own is edited as JSON."""
    match field:
        case Flag():
            return {"type": "flag"}
        case Whole():
            return {
                "type": "port" if isinstance(field, Port) else "whole",
                "low": field.low,
                "high": field.high,
            }
        case Choice():
            return {"type": "choice", "choices": list(field.choices)}
        case Text():
            return {"type": "text", "most": field.max_chars, "lines": field.lines}
        case Host():
            return {"type": "host"}
        case Prefix():
            return {"type": "prefix"}
        case Address():
            return {"type": "address"}
        case Ref():
            offered = {} if field.offered is None else {"offered": when_json(field.offered)}
            return {"type": "ref", "kind": field.kind, "role": field.role, **offered}
        case Secret():
            return {"type": "secret"}
        case Many():
            return {"type": "many", "item": shape(field.item), "most": field.most}
        case Table():
            return {"type": "table", "item": shape(field.text), "most": field.most}
    return {"type": "json"}


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
