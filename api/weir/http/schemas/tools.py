# SPDX-License-Identifier: Apache-2.0
"""Tools and their runs as JSON; the arguments of each follow from its declaration."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, one_of
from weir.model.scope import SCOPES


class ToolRun(Answer):
    """A run that is under way."""

    id = fields.String()
    tool = fields.String()
    subject = fields.String()
    by = fields.String()
    started_at = fields.String()


class ToolItem(Answer):
    name = fields.String()
    title = fields.String()
    about = fields.String()
    scope = one_of(*SCOPES)
    needs = fields.String(metadata={"description": "What its process is allowed."})
    answers = one_of("text/event-stream", "application/x-pcapng")
    running = fields.Nested(
        ToolRun, allow_none=True, metadata={"description": "One of each runs at a time; null: none does."}
    )


class ToolsAnswer(Answer):
    items = fields.List(fields.Nested(ToolItem))


class SpeedReceived(Answer):
    received_bytes = fields.Integer(metadata={"description": "Of this request."})
