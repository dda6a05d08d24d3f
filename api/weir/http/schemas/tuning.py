# SPDX-License-Identifier: Apache-2.0
"""Tuning as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, Text, identifier, one_of, patch_of
from weir.http.schemas.problem import Finding
from weir.model.limits import MAX_NAME_CHARS, MAX_OVERRIDES

MEANING = "Id of a setting to the value in its place; an empty one leaves the kernel's."


class TuningInput(Input):
    """What differs from the product's own values."""

    overrides = fields.Dict(
        keys=identifier(),
        values=Text(max_length=MAX_NAME_CHARS),
        load_default=dict,
        allow_none=True,
        validate=validate.Length(max=MAX_OVERRIDES),
        metadata={"description": MEANING},
    )


TuningPatch = patch_of(TuningInput)


class SettingPlace(Answer):
    """A setting at one interface or unit; `place` is empty for the whole machine."""

    place = fields.String()
    wanted = fields.String(allow_none=True)
    held = fields.String(allow_none=True, metadata={"description": "What the kernel has now."})
    state = one_of("applied", "differs", "absent", "left", "refused")
    why = fields.String(allow_none=True)


class Setting(Answer):
    id = fields.String()
    scope = one_of("sysctl", "interface", "cmdline", "service")
    key = fields.String()
    value = fields.String(metadata={"description": "The product's value."})
    override = fields.String(allow_none=True)
    reason = fields.String()
    evidence = fields.String(metadata={"description": "The document or measurement behind it."})
    measured = one_of("figure", "function", "no")
    places = fields.List(fields.Nested(SettingPlace))


class Tuning(Answer):
    id = fields.String()
    overrides = fields.Dict(keys=fields.String(), values=fields.String())
    settings = fields.List(fields.Nested(Setting))
    settings_reason = fields.String(
        allow_none=True, metadata={"description": "Why there are no settings: the agent does not answer."}
    )
    etag = fields.String()
    warnings = fields.List(fields.Nested(Finding))
