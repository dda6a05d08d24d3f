# SPDX-License-Identifier: Apache-2.0
"""Schemas that are one of several, with a discriminator: objects of any kind, and what a kind is made as.

The general schema, such as `ChangeInput`, reads a body, or names what all of them have in common. In the
OpenAPI document it becomes a `oneOf` of `QueueChangeInput`, `InterfaceChangeInput` and so on, so that `new`
has the shape that its `kind` asks for. A kind that declares a `OneOf` is split in the same way: `Interface`
into `EthernetInterface`, `VlanInterface` and so on, each with the field that belongs to it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weir.fields import OneOf
from weir.http.editing import answers_add
from weir.kinds import DECLARED
from weir.model import codec

Json = dict[str, Any]
ANSWERED = ("Change", "StagedChange")


def schema_name(kind: str) -> str:
    """What the schemas of a kind's objects are named after: "StaticRoute"."""
    return "".join(word.capitalize() for word in kind.split("-"))


def tie_to_kinds(schemas: Json) -> None:
    """Split the general schemas among the components of an OpenAPI document, as far as it has them."""
    kinds = [kind for kind in DECLARED if schema_name(kind) in schemas]
    if "ChangeInput" in schemas:
        _split(schemas, "ChangeInput", kinds, _sent)
    found = [name for name in ANSWERED if name in schemas]
    if found:
        schemas.update({f"{schema_name(kind)}Object": _object(schemas, kind) for kind in kinds})
    for name in found:
        _split(schemas, name, kinds, _answered)
    for kind in kinds:
        one_of = DECLARED[kind].one_of
        if one_of is not None:
            of = schema_name(kind)
            for name in (of, f"{of}Input", f"{of}CreateInput", f"{of}UpsertInput", f"{of}Object"):
                if name in schemas:
                    _split_cases(schemas, name, one_of)


def _split_cases(schemas: Json, name: str, one_of: OneOf) -> None:
    """Fields that belong to other cases are null, or left out where the schema lets them be."""
    general = schemas[name]
    places = {case.name: f"{case.name.capitalize()}{name}" for case in one_of.cases}
    for case in one_of.cases:
        schema = copy.deepcopy(general)
        schema["properties"][one_of.discriminator] = {"type": "string", "enum": [case.name]}
        schema["description"] = case.help
        for member in one_of.members:
            said = schema["properties"][member]
            schema["properties"][member] = _never_null(said) if member == case.member else {"type": "null"}
        if case.member:
            schema["required"] = sorted({*schema.get("required", ()), case.member})
        schemas[places[case.name]] = schema
    schemas[name] = _one_of(general, one_of.discriminator, places)


def _never_null(schema: Json) -> Json:
    if "anyOf" in schema:
        (one,) = (item for item in schema["anyOf"] if item != {"type": "null"})
        said = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        return {**said, **one}
    (kind,) = (item for item in schema["type"] if item != "null")
    return {**{key: value for key, value in schema.items() if key != "default"}, "type": kind}


def _split(schemas: Json, name: str, kinds: Iterable[str], tie: Callable[[Json, str], None]) -> None:
    general = schemas[name]
    names = {kind: f"{schema_name(kind)}{name}" for kind in kinds}
    for kind, own in names.items():
        schema = copy.deepcopy(general)
        schema["properties"]["kind"]["enum"] = [kind]
        tie(schema, kind)
        schemas[own] = schema
    schemas[name] = _one_of(general, "kind", names)


def _one_of(general: Json, discriminator: str, names: Mapping[str, str]) -> Json:
    """`names` are those of the schemas, by the value of the discriminator."""
    places = {value: f"#/components/schemas/{name}" for value, name in names.items()}
    return {
        **{key: general[key] for key in ("description",) if key in general},
        "oneOf": [{"$ref": place} for place in places.values()],
        "discriminator": {"propertyName": discriminator, "mapping": places},
    }


def _sent(schema: Json, kind: str) -> None:
    properties = schema["properties"]
    properties["new"] = _or_null(f"{schema_name(kind)}Input")
    properties["id"] = _id(kind, properties["id"])
    if not codec.id_form(kind).assigned:
        schema["required"] = sorted({*schema["required"], "id"})


def _id(kind: str, given: Json) -> Json:
    """Ids of some kinds are assigned when they are left out; a kind with one object has one id."""
    if DECLARED[kind].is_single:
        return {"type": "string", "enum": [kind]}
    form = codec.id_form(kind)
    said = {"minLength": 1, "maxLength": form.max_chars, "pattern": f"^{form.pattern.pattern}$"}
    return {**given, **said} if form.assigned else {"type": "string", **said}


def _answered(schema: Json, kind: str) -> None:
    for name in ("old", "new"):
        schema["properties"][name] = _or_null(f"{schema_name(kind)}Object")


def _object(schemas: Json, kind: str) -> Json:
    """The answer of a kind without what it says beside the fields."""
    answer = schemas[schema_name(kind)]
    own = {name: said for name, said in answer["properties"].items() if name not in answers_add(kind)}
    return {
        "type": "object",
        "description": f"The fields of a {kind.replace('-', ' ')} as they are configured.",
        "properties": own,
        "required": [name for name in answer["required"] if name in own],
        "additionalProperties": False,
    }


def _or_null(name: str) -> Json:
    return {"anyOf": [{"$ref": f"#/components/schemas/{name}"}, {"type": "null"}]}
