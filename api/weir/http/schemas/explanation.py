# SPDX-License-Identifier: Apache-2.0
"""What was asked of an object, what it was compiled to, and what the system has."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer
from weir.http.schemas.system import Drift


class ExplanationLine(Answer):
    """One aspect of an object in the places where it lives, as text for people."""

    part = fields.String(metadata={"description": "Where in the system: `network`, `routes`, ..."})
    field = fields.String(metadata={"description": "The field of the object, or what the aspect is called."})
    asked = fields.String()
    compiled = fields.String()
    system = fields.String(metadata={"description": "Read just now; or why it could not be."})
    agrees = fields.Boolean(allow_none=True, metadata={"description": "Null: it was not read."})


class Explanation(Answer):
    """No lines: no part of the system is made of objects of this kind."""

    id = fields.String()
    at = fields.String(metadata={"description": "When the system was read."})
    revision = fields.Integer(metadata={"description": "The one that runs."})
    agrees = fields.Boolean(
        allow_none=True, metadata={"description": "Null: not all of it was read, or there is nothing."}
    )
    asked = fields.Dict(keys=fields.String())
    lines = fields.List(fields.Nested(ExplanationLine))
    drift = fields.List(
        fields.Nested(Drift),
        metadata={"description": "What was lately found different in these parts, of any object."},
    )
