# SPDX-License-Identifier: Apache-2.0
"""Updates of the system as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, one_of


class Slot(Answer):
    """One of the two systems on the disk."""

    name = one_of("A", "B")
    booted = fields.Boolean(metadata={"description": "It is the one that runs."})
    good = fields.Boolean(metadata={"description": "The boot loader may start it."})
    version = fields.String(
        allow_none=True, metadata={"description": "Unknown until an update was installed."}
    )
    installed_at = fields.String(allow_none=True)


class UpdateJob(Answer):
    """The last installation since the agent started."""

    state = one_of("idle", "installing", "installed", "failed")
    percent = fields.Integer()
    what = fields.String(metadata={"description": "What is being done."})
    version = fields.String(allow_none=True)
    code = fields.String(allow_none=True)
    message = fields.String(allow_none=True, metadata={"description": "Why it failed."})
    started_at = fields.String(allow_none=True)
    ended_at = fields.String(allow_none=True)


class Updates(Answer):
    available = fields.Boolean(metadata={"description": "False where the router runs from no image."})
    reason = fields.String(allow_none=True)
    booted = fields.String(allow_none=True)
    next = fields.String(allow_none=True, metadata={"description": "The slot that the next start takes."})
    slots = fields.List(fields.Nested(Slot))
    job = fields.Nested(UpdateJob)


class SlotChoice(Input):
    slot = fields.String(required=True, validate=validate.OneOf(("A", "B")))


class Restarting(Answer):
    restarting = fields.Boolean()
