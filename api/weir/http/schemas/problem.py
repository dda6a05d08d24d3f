# SPDX-License-Identifier: Apache-2.0
"""The one shape of every error (RFC 9457) and of what validation found."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, one_of


class Finding(Answer):
    """What validation has to say about one field of one object."""

    severity = one_of("error", "warning", "notice")
    code = fields.String(metadata={"description": "Stable and machine-readable."})
    message = fields.String(metadata={"description": "A sentence for people."})
    kind = fields.String(metadata={"description": "The kind of object, `request`, or `file` (of an import)."})
    id = fields.String(metadata={"description": "The object's id; empty for a part of the request."})
    field = fields.String(allow_none=True, metadata={"description": "`max_limit_bps.upload`, or null."})


class Problem(Answer):
    """RFC 9457 problem details; `code` is the machine-readable name of the problem."""

    type = fields.String()
    title = fields.String()
    status = fields.Integer()
    detail = fields.String()
    code = fields.String()
    path = fields.String(allow_none=True, metadata={"description": "`queue/q17/parent`, or null."})
    findings = fields.List(fields.Nested(Finding))
