# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.forms` writes what the web interface knows of the kinds, in webui/src/kinds.

tools.json has the same of the tools' arguments and events.
names.json is in the browser's first load: per kind how it is called, and where it is found. forms.json comes
with the first page that needs it: the defaults of its fields, and all that its list and its form are made of,
which OpenAPI types cannot tell a program in the browser.
What an object is one of is a field that lists show, and `oneOf` tells a form which field belongs to which
case. A `group` and the `rows` of a list have fields as a kind does. `order` are the fields that make lists
of their own in an ordered kind, and `state` is what the router learns.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from weir.fields import (
    Address,
    AddressRange,
    Choice,
    DnsName,
    EachWay,
    End,
    Endpoint,
    Field,
    Flag,
    Group,
    Host,
    HostName,
    Hours,
    Label,
    Mac,
    Mailbox,
    Many,
    Moment,
    OneOf,
    Pem,
    Port,
    Ports,
    Position,
    Prefix,
    PublicKey,
    Quantity,
    Ref,
    Rows,
    Secret,
    SetMember,
    SshPublicKey,
    Table,
    Target,
    Text,
    Url,
    Vlans,
    When,
    Whole,
    Word,
    ZoneName,
)
from weir.fields.members import Member
from weir.kinds import DECLARED
from weir.kinds.declaration import AREAS, Declaration, Known
from weir.kinds.words import label_of, titled, unit_of
from weir.model.limits import DAYS
from weir.tools import EVERY, Tool

FOLDER = Path(__file__).resolve().parents[3] / "webui" / "src" / "kinds"
Json = dict[str, Any]
TOOL = "tool."
"""Arguments of a tool are called as fields in a group: by their names."""


def files() -> dict[str, str]:
    """The text of each file by its name, the same for the same declarations."""
    return {
        "names.json": _text(named()),
        "forms.json": _text(described()),
        "tools.json": _text({name: _tool(tool) for name, tool in EVERY.items()}),
    }


def _text(content: Json) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def named() -> Json:
    """The areas of the navigation in their order, and how the kinds are called."""
    return {"areas": list(AREAS), "kinds": {kind: _names(declared) for kind, declared in DECLARED.items()}}


def described() -> Json:
    """What the lists, forms and diffs of each kind are made of."""
    return {kind: _form(declared) for kind, declared in DECLARED.items()}


def _names(declared: Declaration) -> Json:
    return {
        "singular": declared.singular,
        "plural": declared.plural,
        "short": declared.short.replace("-", " "),
        "path": declared.path,
        "page": declared.page,
        "area": declared.area,
        "isSingle": declared.is_single,
    }


def _form(declared: Declaration) -> Json:
    return {
        "assignsIds": bool(declared.ids.assigned),
        "namedBy": declared.named_by,
        "columns": [name for name in declared.columns if name != declared.named_by],
        "purpose": declared.purpose,
        **_structure(declared),
        "defaults": dict(declared.defaults),
        "fields": fields_of(declared),
        "state": state_of(declared),
    }


def _tool(tool: Tool) -> Json:
    """What a tool's form is made of, and which members of its events are shown."""
    group = tool.group
    return {
        "title": tool.title,
        "about": tool.about,
        "scope": tool.scope,
        "answers": tool.answers,
        "key": tool.key,
        "columns": {
            event: [{"name": name, "label": titled(name), "unit": unit_of(name)} for name in names]
            for event, names in tool.columns.items()
        },
        "defaults": {
            item.name: item.field.to_json(item.default) for item in group.members if not item.required
        },
        "fields": [_member(tool.name, item, TOOL) for item in group.members],
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
    known = declaration.known
    return [
        *first,
        *(
            {
                **_member(declaration.kind, member),
                **(
                    {"known": _known_of(declaration.kind, known[member.name])} if member.name in known else {}
                ),
            }
            for member in declaration.members
        ),
    ]


def _known_of(kind: str, known: Known) -> list[Json]:
    """The names in a table that have fields of their own, each for the objects that it has a meaning for."""
    return [
        {
            **_member(kind, Member(name, field, None, False, True)),
            "when": {"field": known.by, "is": [case], "unless": False},
        }
        for case, fields in known.fields.items()
        for name, field in fields.items()
    ]


def state_of(declaration: Declaration) -> list[Json]:
    """What is learnt about an object; each of it may be unknown."""
    learnt = declaration.state.items()
    return [_member(declaration.kind, Member(name, field, None, False, True)) for name, field in learnt]


def _choice(kind: str, one_of: OneOf) -> Json:
    """Which case an object is."""
    return {
        "name": one_of.discriminator,
        "label": label_of(kind, one_of.discriminator),
        "help": one_of.help,
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
        **_shape_of(kind, field, path, member.default),
    }


_PLAIN: Json = {"importance": "shown", "required": False, "nullable": False}


def _named(name: str, default: Any) -> Json:
    return {"name": name, "label": titled(name), "default": default}


_HOURS: list[Json] = [
    {**_PLAIN, **_named("start", "00:00"), "type": "text", "most": 5, "lines": False},
    {**_PLAIN, **_named("end", "24:00"), "type": "text", "most": 5, "lines": False},
    {
        **_PLAIN,
        **_named("days", list(DAYS)),
        "type": "many",
        "item": {"type": "choice", "choices": list(DAYS)},
        "most": len(DAYS),
    },
]


def _shape_of(kind: str, field: Field, path: str, default: Any = None) -> Json:
    """As `shape`, with what a field's name says of it, and the fields in it. A pair is a group of two."""
    match field:
        case Group():
            return {"type": "group", "fields": [_member(kind, item, f"{path}.") for item in field.members]}
        case Rows():
            fields = [_member(kind, item, f"{path}.") for item in field.group.members]
            return {"type": "rows", "fields": fields, "most": field.most}
        case EachWay():
            default = {} if default is None else field.to_json(default)
            return {
                "type": "group",
                "fields": [
                    {**_PLAIN, **_named(way, default.get(way)), **_shape_of(kind, field.item, path)}
                    for way in ("upload", "download")
                ],
            }
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
        case ZoneName():
            return {"type": "zone"}
        case Quantity():
            said = {"pattern": field.pattern, "unit": field.unit}
            given = {name: text for name, text in said.items() if text}
            return {"type": "text", "most": field.max_chars, "lines": False, **given}
        case Text():
            return {"type": "text", "most": field.max_chars, "lines": field.lines}
        case Pem():
            return {"type": "text", "most": field.max_chars, "lines": True}
        case Ports() | SetMember() | Label() | Mac() | Vlans() | Target() | End() | AddressRange():
            return {"type": "text", "most": field.max_chars, "lines": False}
        case Word():
            return {"type": "choice", "choices": list(field.choices)}
        case Host() | HostName() | DnsName():
            return {"type": "host"}
        case Endpoint() | PublicKey() | SshPublicKey() | Mailbox() | Url():
            return {"type": "text", "most": field.max_chars, "lines": False}
        case Prefix():
            return {"type": "prefix"}
        case Address():
            return {"type": "address"}
        case Ref():
            offered: Json = {} if field.offered is None else {"offered": when_json(field.offered)}
            if field.unconfigured:
                offered["unconfigured"] = True
            if field.also:
                offered["also"] = list(field.also)
            return {"type": "ref", "kind": field.kind, "role": field.role, **offered}
        case Hours():
            return {"type": "group", "fields": _HOURS, "control": "hours"}
        case Secret():
            lines = {"lines": True} if field.lines else {}
            return {"type": "secret", "made": bool(field.made), **lines}
        case Many():
            return {"type": "many", "item": shape(field.item), "most": field.most}
        case Table():
            return {"type": "table", "item": shape(field.text), "most": field.most}
    return {"type": "json"}


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
