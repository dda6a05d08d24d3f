# SPDX-License-Identifier: Apache-2.0
"""The schemas of a declared kind: what is sent, created and patched, and what is answered.

They document; `weir.model.codec` is what reads bodies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from marshmallow import Schema, fields, validate

from weir.fields import (
    Characters,
    Choice,
    EachWay,
    Field,
    Flag,
    Group,
    Hours,
    IdForm,
    Label,
    Many,
    Pem,
    Position,
    Ref,
    Rows,
    Secret,
    Table,
    Text,
    Whole,
    Word,
)
from weir.fields.members import Member, members_of
from weir.http.schemas import base
from weir.http.schemas.hours import TimeWindow, TimeWindowInput
from weir.http.schemas.problem import Finding
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model import limits

SchemaType = type[Schema]

BULK = "Creates, replacements and deletions in one transaction."
UPSERT = "An item of a bulk request: with an id it replaces or creates that one, without it creates."


@dataclass(frozen=True, slots=True)
class Schemas:
    """`create` has an id, `page` is a list of answers, `bulk` many inputs: not of a kind with one object."""

    input: SchemaType
    create: SchemaType | None
    patch: SchemaType
    answer: SchemaType
    page: SchemaType | None
    bulk: SchemaType | None
    state: SchemaType | None = None


def schemas_of(kind: str, *, adds: dict[str, Any] | None = None, creates: bool = True) -> Schemas:
    """The schemas of a kind. Its answers also have the fields that a resource `adds`.

    With `creates` it has a schema for POST, which assigns ids or takes the one in the body.
    """
    declaration = DECLARED[kind]
    name = declaration.of.__name__
    shape = _class(f"{name}Input", base.Input, _inputs(declaration), declaration.of.__doc__)
    answer = _class(name, base.Answer, {**_answers(declaration), **_common(), **(adds or {})})
    state = _state(name, declaration) if declaration.state else None
    create = page = bulk = None
    if not declaration.is_single:
        if creates:
            create = _class(f"{name}CreateInput", shape, {"id": _new_id(declaration)})
        page = _class(f"{name}Page", base.Answer, _page(answer, state))
        bulk = _class(f"{name}BulkInput", base.Input, _bulk(name, shape, declaration), BULK)
    return Schemas(shape, create, base.patch_of(shape), answer, page, bulk, state)


def _class(name: str, parent: SchemaType, members: dict[str, Any], about: str | None = None) -> SchemaType:
    return type(name, (parent,), {**members, "__doc__": about})


def _inputs(declaration: Declaration) -> dict[str, Any]:
    own = {member.name: _input(member) for member in declaration.members}
    if declaration.one_of is None:
        return own
    said = {
        "description": f"{declaration.one_of.help} It follows from the other fields where it is left out."
    }
    case = base.one_of(*declaration.one_of.names, allow_none=True, metadata=said)
    return {declaration.one_of.discriminator: case, **own}


def _input(member: Member) -> fields.Field[Any]:
    said: dict[str, Any] = {}
    if member.required:
        said["required"] = True
    elif not isinstance(member.field, Position):
        said["load_default"] = _default(member)
    if member.nullable or (member.field.null_is_default and not member.required):
        said["allow_none"] = True
    if member.field.help:
        said["metadata"] = {"description": member.field.help}
    return _sent(member.field, **said)


def _default(member: Member) -> Any:
    """As JSON; an empty list or table is documented by its absence."""
    default = member.field.to_json(member.default)
    return type(default) if default in ([], {}) else default


def _sent(field: Field, **said: Any) -> fields.Field[Any]:
    """As a client sends it."""
    match field:
        case Flag():
            return base.Flag(**said)
        case Secret():
            return base.Secret(field.min_chars, field.max_chars, made=bool(field.made), **said)
        case Whole():
            return base.Whole(field.low, field.high, **said)
        case Choice() | Word():
            return base.one_of(*field.choices, **said)
        case Text():
            return base.Text(
                min_length=field.min_chars, max_length=field.max_chars, lines=field.lines, **said
            )
        case Pem():
            return base.Text(min_length=1, max_length=field.max_chars, lines=True, **said)
        case Label():
            return base.identifier(also=field.also, **said)
        case Ref():
            return _id_in(field.ids, **said)
        case Characters():
            return base.Text(min_length=field.min_chars, max_length=field.max_chars, **said)
        case Many():
            return fields.List(_sent(field.item), validate=validate.Length(max=field.most), **said)
        case EachWay():
            return fields.Nested(_pair_input(field), **said)
        case Hours():
            return fields.Nested(TimeWindowInput, **said)
        case Table():
            length = validate.Length(max=field.most)
            return fields.Dict(keys=base.identifier(), values=_sent(field.text), validate=length, **said)
        case Group():
            return fields.Nested(group_input(field), **said)
        case Rows():
            length = validate.Length(max=field.most)
            return fields.List(fields.Nested(group_input(field.group)), validate=length, **said)
    raise TypeError(f"no schema for a {type(field).__name__}")


def _pair_input(pair: EachWay) -> SchemaType:
    """A value for each direction; one that is left out takes the default."""
    if pair.called not in _pairs:
        both = {"upload": _sent(pair.item), "download": _sent(pair.item)}
        _pairs[pair.called] = _class(f"{pair.called}PairInput", base.Input, both)
    return _pairs[pair.called]


_pairs: dict[str, SchemaType] = {}
"""By what the pairs are called: many fields have pairs of rates."""


@cache
def pair_answer(called: str, *, names: bool = False) -> SchemaType:
    """The answered schema of such pairs, of numbers or of names."""
    of = fields.String if names else fields.Integer
    return _class(f"{called}Pair", base.Answer, {"upload": of(), "download": of()})


@cache
def _inputs_of(of: type, called: str) -> SchemaType:
    members = {member.name: _input(member) for member in members_of(of)}
    return _class(f"{called}Input", base.Input, members, of.__doc__)


def group_input(group: Group) -> SchemaType:
    """The schema of a group as a client sends it; one for all groups of a class."""
    return _inputs_of(group.of, group.called)


@cache
def group_answer(of: type, called: str) -> SchemaType:
    """The answered schema of a class that is declared as a group."""
    members = {member.name: _answered(member.field, allow_none=member.nullable) for member in members_of(of)}
    return _class(called, base.Answer, members)


def _answers(declaration: Declaration) -> dict[str, Any]:
    own = {member.name: _answered(member.field, allow_none=member.nullable) for member in declaration.members}
    case = declaration.one_of and {declaration.one_of.discriminator: base.one_of(*declaration.one_of.names)}
    return {"id": fields.String(), **(case or {}), **own}


def _answered(field: Field, **said: Any) -> fields.Field[Any]:
    """As the router answers it: of its type, within its bounds."""
    match field:
        case Flag():
            return fields.Boolean(**said)
        case Whole():
            return fields.Integer(**said)
        case Secret():
            return fields.Nested(base.SecretState, **said)
        case Many():
            return fields.List(_answered(field.item), **said)
        case EachWay():
            return fields.Nested(pair_answer(field.called, names=isinstance(field.item, Ref)), **said)
        case Hours():
            return fields.Nested(TimeWindow, **said)
        case Table():
            return fields.Dict(keys=fields.String(), values=fields.String(), **said)
        case Group():
            return fields.Nested(group_answer(field.of, field.called), **said)
        case Rows():
            return fields.List(fields.Nested(group_answer(field.group.of, field.group.called)), **said)
    return fields.String(**said)


def _common() -> dict[str, Any]:
    return {"etag": fields.String(), "warnings": fields.List(fields.Nested(Finding))}


def _new_id(declaration: Declaration) -> fields.Field[Any]:
    letter = declaration.ids.assigned
    if not letter:
        return _an_id(declaration, required=True)
    text = f"Assigned ({letter}1, {letter}2, ...) when omitted."
    return base.identifier(allow_none=True, metadata={"description": text})


def _an_id(declaration: Declaration, **said: Any) -> fields.Field[Any]:
    return _id_in(declaration.ids, **said)


def _id_in(form: IdForm, **said: Any) -> fields.Field[Any]:
    if form.pattern == limits.OBJECT_ID:
        return base.identifier(**said)
    pattern = validate.Regexp(f"^{form.pattern.pattern}$")
    return base.Text(min_length=1, max_length=form.max_chars, validate=[pattern], **said)


def _bulk(name: str, shape: SchemaType, declaration: Declaration) -> dict[str, Any]:
    etag = base.Text(max_length=64, metadata={"description": "Refuse unless the object still has it."})
    upsert = _class(f"{name}UpsertInput", shape, {"id": _new_id(declaration), "etag": etag}, UPSERT)

    def items(item: fields.Field[Any]) -> fields.Field[Any]:
        return fields.List(item, load_default=list, validate=validate.Length(max=10_000))

    return {"upsert": items(fields.Nested(upsert)), "delete": items(_an_id(declaration))}


def _state(name: str, declaration: Declaration) -> SchemaType:
    """What is learnt about an object; each field may be unknown."""
    learnt = {
        item: _answered(field, allow_none=True, metadata={"description": field.help})
        for item, field in declaration.state.items()
    }
    said = _class(f"{name}StateFields", base.Answer, learnt)
    why = {"description": "Since when nothing newer is known, and why; null while the router answers."}
    about = {
        "id": fields.String(),
        "at": fields.String(allow_none=True, metadata={"description": "When it was so; null: never known."}),
        "stale_since": fields.String(allow_none=True, metadata=why),
        "stale_reason": fields.String(allow_none=True),
        "fields": fields.Nested(said),
    }
    return _class(f"{name}State", base.Answer, about, "Null is what nobody knows.")


def _page(answer: SchemaType, state: SchemaType | None) -> dict[str, Any]:
    told = {} if state is None else {"states": fields.List(fields.Nested(state), allow_none=True)}
    return {
        **told,
        "items": fields.List(fields.Nested(answer)),
        "next_cursor": fields.String(allow_none=True),
        "total": fields.Integer(),
    }
