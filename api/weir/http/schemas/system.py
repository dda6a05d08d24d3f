# SPDX-License-Identifier: Apache-2.0
"""The router itself as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, Text, one_of


class Capability(Answer):
    id = fields.String()
    available = fields.Boolean()
    reason = fields.String(
        allow_none=True, metadata={"description": "Why it is not, or what is used instead."}
    )


class Check(Answer):
    """One thing that is well or is not, and what to do about it."""

    id = fields.String()
    state = one_of("ok", "warning", "failed")
    message = fields.String()


class ShaperState(Answer):
    interface = fields.String()
    mode = fields.String()
    reason = fields.String(allow_none=True)
    fast_path = fields.Boolean(metadata={"description": "Whether XDP forwards what conforms."})
    fast_path_reason = fields.String(allow_none=True)


class Drift(Answer):
    """Something in the kernel that differs from the running revision."""

    at = fields.String(allow_none=True)
    part = fields.String()
    what = fields.String()
    repaired = fields.Boolean()


class AgentState(Answer):
    connected = fields.Boolean()
    state = one_of("ok", "applying", "drift", "failed", "starting", "down")
    version = fields.String(allow_none=True)
    revision = fields.Integer(allow_none=True, metadata={"description": "The revision in the kernel."})
    since = fields.Float(allow_none=True, metadata={"description": "Unix seconds of its start or its loss."})


class System(Answer):
    version = fields.String()
    hostname = fields.String(allow_none=True)
    kernel = fields.String(allow_none=True)
    uptime_s = fields.Float(allow_none=True)
    health = one_of("ok", "warning", "failed")
    checks = fields.List(fields.Nested(Check))
    agent = fields.Nested(AgentState)
    revision = fields.Integer(
        allow_none=True, metadata={"description": "This and the counts: null while it cannot be read."}
    )
    queue_count = fields.Integer(allow_none=True)
    warning_count = fields.Integer(allow_none=True)
    capabilities = fields.List(fields.Nested(Capability))
    shapers = fields.List(fields.Nested(ShaperState))
    drift = fields.List(fields.Nested(Drift))


class Name(Answer):
    hostname = fields.String(
        allow_none=True,
        metadata={"description": "Null: not known yet, or the request comes from a public address."},
    )
    login_banner = fields.String(metadata={"description": "Text that is shown before sign-in; often empty."})


class Live(Answer):
    ok = fields.Boolean()


class StoreHead(Input):
    """The newest revision of a database, and what its whole past comes down to."""

    revision = fields.Integer(required=True, validate=validate.Range(0))
    digest = Text(required=True, min_length=32, max_length=32, validate=[validate.Regexp(r"^[0-9a-f]{32}$")])


class StoreFound(Answer):
    revision = fields.Integer()
    digest = fields.String()


class Damage(Answer):
    kind = fields.String(metadata={"description": "Empty when it cannot be told."})
    id = fields.String()
    message = fields.String()


class Store(Answer):
    refused = fields.List(
        fields.String(),
        metadata={
            "description": "Why changes are refused: file, reason and what to do. Empty: they are not."
        },
    )
    followed = fields.Boolean(
        allow_none=True,
        metadata={"description": "False: the last good configuration runs. Null: the agent does not say."},
    )
    reason = fields.String(metadata={"description": "Why it is not followed, or why that is not known."})
    running_revision = fields.Integer(
        allow_none=True, metadata={"description": "Null while the agent does not answer."}
    )
    stored = fields.Nested(
        StoreFound, allow_none=True, metadata={"description": "Its head, when a person has to decide."}
    )
    damaged = fields.List(fields.Nested(Damage))
