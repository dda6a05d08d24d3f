# SPDX-License-Identifier: Apache-2.0
"""Strict JSON fields and the three roles of a schema: what is sent in, patched, and answered.

marshmallow is generous by default ("1" is an integer, "yes" a boolean, a lone surrogate a string).
A configuration API is not: a value is accepted as what it is, or named in the error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

from weir.model import limits

ID_PATTERN = f"^{limits.OBJECT_ID.pattern}$"


class Text(fields.String):
    """Unicode text of bounded length without control characters or lone surrogates."""

    default_error_messages = {"control": "Control characters and broken Unicode are not allowed."}  # noqa: RUF012

    def __init__(self, *, min_length: int = 0, max_length: int = 255, lines: bool = False, **kwargs: Any):
        kwargs["validate"] = [validate.Length(min=min_length, max=max_length), *kwargs.pop("validate", [])]
        super().__init__(**kwargs)
        self.forbidden = limits.CONTROL_BUT_NEWLINE_OR_TAB if lines else limits.CONTROL_CHARACTER

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kw: Any) -> str:
        text = super()._deserialize(value, attr, data, **kw)
        if self.forbidden.search(text):
            raise self.make_error("control")
        return text


class Whole(fields.Integer):
    """A JSON integer within bounds; never a string, a float or a boolean."""

    def __init__(self, minimum: int, maximum: int, **kwargs: Any):
        super().__init__(strict=True, validate=validate.Range(min=minimum, max=maximum), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kw: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kw)


class Flag(fields.Boolean):
    """A JSON boolean and nothing that resembles one."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kw: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Secret(fields.Raw):
    """What is sent of a secret: its text, or the `{"set": true}` of an answer, which keeps it.

    With `made` also `{"new": true}`, for which the router makes one, as it does where there is none.
    """

    def __init__(self, minimum: int, maximum: int, *, made: bool = False, **kwargs: Any):
        metadata = kwargs.pop("metadata", {})
        text = {"type": "string", "minLength": minimum, "maxLength": maximum}
        kept = _flagged("set", {"type": "boolean"})
        new = [_flagged("new", {"type": "boolean", "enum": [True]})] if made else []
        absent = [{"type": "null"}] if kwargs.get("allow_none") else []
        super().__init__(
            metadata={**metadata, "oneOf": [text, kept, *new, *absent], "writeOnly": True}, **kwargs
        )


def _flagged(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}


class QueryInteger(fields.Integer):
    """A decimal integer in a query string."""

    def __init__(self, minimum: int, maximum: int, **kwargs: Any):
        super().__init__(validate=validate.Range(min=minimum, max=maximum), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kw: Any) -> int:
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 17):
            raise self.make_error("invalid", input=value)
        return int(value)


class QueryFlag(fields.Boolean):
    """`1`/`true` or `0`/`false` in a query string."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kw: Any) -> bool:
        if value in ("1", "true"):
            return True
        if value in ("0", "false"):
            return False
        raise self.make_error("invalid", input=value)


class Input(ma.Schema):
    """A request body: unknown fields are errors, omitted ones take the documented default."""

    class Meta:
        unknown = ma.RAISE


class Answer(ma.Schema):
    """A response body: every field is always present."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class SecretState(Answer):
    """Of a secret only whether there is one; `set` is false for one that has to be entered again."""

    set = fields.Boolean()


def patch_of(schema: type[ma.Schema]) -> type[ma.Schema]:
    """The merge-patch (RFC 7396) form of an input schema: all optional, null resets to the default."""
    members: dict[str, Any] = {}
    for name, declared in schema._declared_fields.items():
        field = copy.deepcopy(declared)
        if isinstance(field, fields.Nested) and isinstance(field.nested, type):
            field = fields.Nested(_patch_class(field.nested), metadata=field.metadata)
        field.required, field.load_default, field.allow_none = False, ma.missing, True
        members[name] = field
    members["__doc__"] = f"Merge patch of `{schema.__name__}`: omitted keeps, null resets to the default."
    return type(f"{schema.__name__.removesuffix('Input')}Patch", (Input,), members)


_patches: dict[type[ma.Schema], type[ma.Schema]] = {}


def _patch_class(schema: type[ma.Schema]) -> type[ma.Schema]:
    if schema not in _patches:
        _patches[schema] = patch_of(schema)
    return _patches[schema]


def identifier(*, also: Sequence[str] = (), **kwargs: Any) -> fields.String:
    """An object id as the API assigns or accepts it, or one of `also`, which are built in."""
    pattern = "|".join((ID_PATTERN, *(f"^{re.escape(word)}$" for word in also)))
    return Text(max_length=63, validate=[validate.Regexp(pattern)], **kwargs)


def one_of(*choices: str, **kwargs: Any) -> fields.String:
    return fields.String(validate=validate.OneOf(choices), **kwargs)
