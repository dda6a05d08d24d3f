# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.forms` writes what the web interface knows of the kinds: webui/src/kinds/kinds.json.

Per kind its names, the defaults of its fields, and of a declared kind all that its list and its form are made
of: what OpenAPI types cannot tell a program in the browser. What an object is one of is a field that lists
show, and `oneOf` tells a form which field belongs to which case. A `group` and the `rows` of a list have
fields as a kind does. `order` are the fields that make lists of their own in an ordered kind, and `state` is
what the router learns.
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
    HostName,
    Label,
    Many,
    Moment,
    OneOf,
    Port,
    Ports,
    Position,
    Prefix,
    Ref,
    Rows,
    Secret,
    SetMember,
    Table,
    Text,
    When,
    Whole,
    Word,
)
from weir.fields.members import Member
from weir.kinds import DECLARED, KINDS
from weir.kinds.declaration import AREAS, Declaration
from weir.kinds.words import label_of, titled, unit_of
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
        return {
            **_names(declared),
            **_structure(declared),
            "defaults": defaults,
            "fields": fields_of(declared),
            "state": state_of(declared),
        }
    singular, plural = _UNDECLARED[kind]
    labels = {path: label_of(kind, path) for name, value in defaults.items() for path in _paths(name, value)}
    return {"singular": singular, "plural": plural, "labels": labels, "defaults": defaults}


def _paths(name: str, value: object) -> list[str]:
    return [name, *(f"{name}.{inner}" for inner in (value if isinstance(value, dict) else ()))]


def _names(declaration: Declaration) -> Json:
    return {
        "singular": declaration.singular,
        "plural": declaration.plural,
        "short": declaration.short.replace("-", " "),
        "path": declaration.path,
        "page": declaration.page,
        "area": declaration.area,
        "isSingle": declaration.is_single,
        "assignsIds": bool(declaration.ids.assigned),
        "namedBy": declaration.named_by,
        "columns": [name for name in declaration.columns if name != declaration.named_by],
        "purpose": declaration.purpose,
    }


def _structure(declaration: Declaration) -> Json:
    """What an object is one of, and in which lists it has its place."""
    one_of, order = declaration.one_of, declaration.order
    found: Json = {}
    if one_of is not None:
        cases = [{"name": case.name, "help": case.help, "member": case.member} for case in one_of.cases]
        found["oneOf"] = {"field": one_of.discriminator, "cases": cases}
    if order is not None:
        found["order"] = list(order.within)
    return found


def fields_of(declaration: Declaration) -> list[Json]:
    """The fields of a kind as a form and a list need them, in their order."""
    one_of = declaration.one_of
    first = [] if one_of is None else [_choice(declaration.kind, one_of)]
    return [*first, *(_member(declaration.kind, member) for member in declaration.members)]


def state_of(declaration: Declaration) -> list[Json]:
    """What is learnt about an object; each of it may be unknown."""
    learnt = declaration.state.items()
    return [_member(declaration.kind, Member(name, field, None, False, True)) for name, field in learnt]


def _choice(kind: str, one_of: OneOf) -> Json:
    """Which case an object is."""
    return {
        "name": one_of.discriminator,
        "label": label_of(kind, one_of.discriminator),
        "importance": "shown",
        "required": False,
        "nullable": False,
        "type": "choice",
        "choices": list(one_of.names),
    }


def _member(kind: str, member: Member, within: str = "") -> Json:
    field, path = member.field, within + member.name
    said = {"help": field.help, "example": field.example, "when": when_json(field.when)}
    return {
        "name": member.name,
        "label": field.label or (titled(member.name) if within else label_of(kind, path)),
        "importance": field.importance,
        "required": member.required,
        "nullable": member.nullable,
        **{name: value for name, value in said.items() if value},
        **({"default": field.to_json(member.default)} if within and not member.required else {}),
        **_shape_of(kind, field, path),
    }


def _shape_of(kind: str, field: Field, path: str) -> Json:
    match field:
        case Group():
            return {"type": "group", "fields": [_member(kind, item, f"{path}.") for item in field.members]}
        case Rows():
            fields = [_member(kind, item, f"{path}.") for item in field.group.members]
            return {"type": "rows", "fields": fields, "most": field.most}
        case Position():
            return {"type": "position"}
        case Whole():
            unit = unit_of(path)
            return {**shape(field), **({"unit": unit} if unit else {})}
    return shape(field)


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
        case Moment():
            return {"type": "moment"}
        case Text():
            return {"type": "text", "most": field.max_chars, "lines": field.lines}
        case Ports() | SetMember() | Label():
            return {"type": "text", "most": field.max_chars, "lines": False}
        case Word():
            return {"type": "choice", "choices": list(field.choices)}
        case Host() | HostName():
            return {"type": "host"}
        case Prefix():
            return {"type": "prefix"}
        case Address():
            return {"type": "address"}
        case Ref():
            offered = {} if field.offered is None else {"offered": when_json(field.offered)}
            return {"type": "ref", "kind": field.kind, "role": field.role, **offered}
        case Secret():
            return {"type": "secret", "made": bool(field.made)}
        case Many():
            return {"type": "many", "item": shape(field.item), "most": field.most}
        case Table():
            return {"type": "table", "item": shape(field.text), "most": field.most}
    return {"type": "json"}


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
