# SPDX-License-Identifier: Apache-2.0
"""The router's log as JSON."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields, validate

from weir.http.schemas.base import Answer, QueryInteger, Text, one_of
from weir.http.schemas.paging import MAX_LIMIT, Query
from weir.kinds.syslog_target import SEVERITIES
from weir.model.limits import LOG_CURSOR
from weir.model.moment import ms_of
from weir.model.problem import Invalid

MAX_SEARCH_CHARS = 200
CURSOR = validate.Regexp(f"^{LOG_CURSOR.pattern}$", error="It is no cursor of the log.")


class Time(Text):
    """A moment as RFC 3339 writes it."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **more: Any) -> Any:
        text = super()._deserialize(value, attr, data, **more)
        try:
            ms_of(text)
        except Invalid as problem:
            raise ValidationError(problem.message) from problem
        return text


class LogQuery(Query):
    source = Text(
        max_length=128,
        metadata={
            "description": "Of this source only: `kernel`, or a service of the router, as `weir-agent`."
        },
    )
    severity = one_of(
        *SEVERITIES, load_default="info", metadata={"description": "Lines that are at least that severe."}
    )
    q = Text(
        max_length=MAX_SEARCH_CHARS,
        metadata={
            "description": "Part of text, process or source, in upper or lower case. It is looked for in the "
            "newest 4,000 lines that fit the rest."
        },
    )
    since = Time(
        max_length=40,
        metadata={"format": "date-time", "description": "Lines of this time (RFC 3339) and later ones."},
    )
    after = Text(
        max_length=200,
        validate=[CURSOR],
        metadata={
            "description": "`cursor` of an answer: what was logged after it. `since` does not count then."
        },
    )
    limit = QueryInteger(1, MAX_LIMIT, load_default=200)


class LogLine(Answer):
    """One message of a process. Secrets of the configuration stand as `***`."""

    cursor = fields.String(metadata={"description": "Names the line."})
    at = fields.String()
    severity = one_of(*SEVERITIES)
    source = fields.String(metadata={"description": "The service that it is of or about, or `kernel`."})
    process = fields.String()
    pid = fields.String(metadata={"description": "Empty: none, as of the kernel."})
    text = fields.String(
        allow_none=True, metadata={"description": "As it was logged; null: it has more than 4,096 bytes."}
    )


class LogAnswer(Answer):
    items = fields.List(fields.Nested(LogLine), metadata={"description": "The newest last."})
    cursor = fields.String(
        allow_none=True, metadata={"description": "For `after`; null: nothing fits, so ask without it again."}
    )
    more = fields.Boolean(metadata={"description": "More may fit: older lines, or with `after` newer ones."})
    looked_at = fields.Integer(metadata={"description": "Lines that were looked through for it."})
    looked_from = fields.String(allow_none=True, metadata={"description": "The oldest of these."})
    sources = fields.List(fields.String(), metadata={"description": "Those that have logged, for `source`."})
