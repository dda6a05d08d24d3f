# SPDX-License-Identifier: Apache-2.0
"""A simple queue as JSON, with what its answers say beside its fields."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Input, identifier
from weir.http.schemas.kinds import schemas_of


class Enforcement(Answer):
    """Whether a field that was given is in force on this router, and if not why and since when."""

    field = fields.String()
    enforced = fields.Boolean()
    note = fields.String()


class QueueReference(Answer):
    id = fields.String()
    name = fields.String()


QUEUE = schemas_of(
    "queue",
    adds={
        "path": fields.List(
            fields.Nested(QueueReference),
            metadata={"description": "Ancestors, the root of the tree first."},
        ),
        "child_count": fields.Integer(),
        "enforcement": fields.List(fields.Nested(Enforcement)),
    },
)


class MoveInput(Input):
    before = identifier(
        required=True, allow_none=True, metadata={"description": "The queue to come before; null: last."}
    )


class ExplainLine(Answer):
    """One aspect of a queue in the three places where it lives, as text for people."""

    field = fields.String()
    asked = fields.String(allow_none=True)
    compiled = fields.String(allow_none=True)
    kernel = fields.String(allow_none=True)
    agrees = fields.Boolean()


class Explain(Answer):
    queue_id = fields.String()
    agrees = fields.Boolean()
    asked = fields.Dict(keys=fields.String())
    compiled = fields.Dict(keys=fields.String())
    kernel = fields.Dict(keys=fields.String())
    lines = fields.List(fields.Nested(ExplainLine))
