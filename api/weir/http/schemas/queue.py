# SPDX-License-Identifier: Apache-2.0
"""A simple queue as JSON. Pairs are (upload, download) as seen by the target; 0 means unlimited or off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import fields, validate

from weir.http.schemas.base import (
    Answer,
    Flag,
    Input,
    Text,
    Whole,
    identifier,
    one_of,
    patch_of,
)
from weir.http.schemas.problem import Finding
from weir.model.limits import (
    DAYS,
    MAX_BUCKET_SIZE_MS,
    MAX_BURST_TIME_MS,
    MAX_COMMENT_CHARS,
    MAX_NAME_CHARS,
    MAX_POSITION,
    MAX_RATE_BPS,
    MAX_TARGETS,
    QUEUE_TYPE_ID,
)

TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$"


def queue_type_name(**kwargs: Any) -> Text:
    return Text(max_length=63, validate=[validate.Regexp(f"^{QUEUE_TYPE_ID.pattern}$")], **kwargs)


def pair_input(name: str, make: Callable[[], fields.Field[Any]]) -> type[Input]:
    """A value per direction; one that is left out takes the default."""
    return type(name, (Input,), {"upload": make(), "download": make()})


RatePairInput = pair_input("RatePairInput", lambda: Whole(0, MAX_RATE_BPS))
DurationPairInput = pair_input("DurationPairInput", lambda: Whole(0, MAX_BURST_TIME_MS))
BucketPairInput = pair_input("BucketPairInput", lambda: Whole(0, MAX_BUCKET_SIZE_MS))
PriorityPairInput = pair_input("PriorityPairInput", lambda: Whole(1, 8))
QueueTypePairInput = pair_input("QueueTypePairInput", queue_type_name)


class RatePair(Answer):
    upload = fields.Integer()
    download = fields.Integer()


class DurationPair(RatePair):
    """Milliseconds."""


class BucketPair(RatePair):
    """Milliseconds at the limit."""


class PriorityPair(RatePair):
    """1 (best) to 8."""


class QueueTypePair(Answer):
    upload = fields.String()
    download = fields.String()


class TimeWindowInput(Input):
    """Local time of day; `end` is after `start`."""

    start = fields.String(validate=validate.Regexp(TIME_OF_DAY), load_default="00:00", allow_none=True)
    end = fields.String(validate=validate.Regexp(TIME_OF_DAY), load_default="24:00", allow_none=True)
    days = fields.List(one_of(*DAYS), load_default=lambda: list(DAYS), validate=validate.Length(min=1, max=7))


class TimeWindow(Answer):
    start = fields.String()
    end = fields.String()
    days = fields.List(one_of(*DAYS))


class TotalLimits(Input):
    """Limits that upload and download share."""

    max_limit_bps = Whole(0, MAX_RATE_BPS, load_default=0)
    limit_at_bps = Whole(0, MAX_RATE_BPS, load_default=0)
    burst_limit_bps = Whole(0, MAX_RATE_BPS, load_default=0)
    burst_threshold_bps = Whole(0, MAX_RATE_BPS, load_default=0)
    burst_time_ms = Whole(0, MAX_BURST_TIME_MS, load_default=0)
    priority = Whole(1, 8, load_default=8)
    queue_type = queue_type_name(load_default="default-small")
    bucket_size_ms = Whole(0, MAX_BUCKET_SIZE_MS, load_default=100)


def both(value: int | str) -> dict[str, int | str]:
    return {"upload": value, "download": value}


class QueueInput(Input):
    """A simple queue without its id."""

    name = Text(min_length=1, max_length=MAX_NAME_CHARS, required=True)
    target = fields.List(
        Text(min_length=1, max_length=64),
        load_default=list,
        allow_none=True,
        validate=validate.Length(max=MAX_TARGETS),
    )
    dst = Text(min_length=1, max_length=64, load_default=None, allow_none=True)
    parent = identifier(load_default=None, allow_none=True)
    position = Whole(0, MAX_POSITION)
    max_limit_bps = fields.Nested(RatePairInput, load_default=lambda: both(0), allow_none=True)
    limit_at_bps = fields.Nested(RatePairInput, load_default=lambda: both(0), allow_none=True)
    burst_limit_bps = fields.Nested(RatePairInput, load_default=lambda: both(0), allow_none=True)
    burst_threshold_bps = fields.Nested(RatePairInput, load_default=lambda: both(0), allow_none=True)
    burst_time_ms = fields.Nested(DurationPairInput, load_default=lambda: both(0), allow_none=True)
    priority = fields.Nested(PriorityPairInput, load_default=lambda: both(8), allow_none=True)
    queue_type = fields.Nested(
        QueueTypePairInput, load_default=lambda: both("default-small"), allow_none=True
    )
    bucket_size_ms = fields.Nested(BucketPairInput, load_default=lambda: both(100), allow_none=True)
    time = fields.Nested(TimeWindowInput, load_default=None, allow_none=True)
    total = fields.Nested(TotalLimits, load_default=lambda: TotalLimits().load({}), allow_none=True)
    comment = Text(max_length=MAX_COMMENT_CHARS, lines=True, load_default="")
    disabled = Flag(load_default=False)


class QueueCreateInput(QueueInput):
    id = identifier(allow_none=True, metadata={"description": "Assigned (q1, q2, ...) when omitted."})


class QueueUpsertInput(QueueInput):
    """A queue in a bulk request: with an id it replaces or creates that one, without it creates."""

    id = identifier(allow_none=True)
    etag = Text(max_length=64, metadata={"description": "Refuse unless the queue still has it."})


QueuePatch = patch_of(QueueInput)


class Enforcement(Answer):
    """Whether a field that was given is in force on this router, and if not why and since when."""

    field = fields.String()
    enforced = fields.Boolean()
    note = fields.String()


class QueueReference(Answer):
    id = fields.String()
    name = fields.String()


class TotalLimitsAnswer(Answer):
    max_limit_bps = fields.Integer()
    limit_at_bps = fields.Integer()
    burst_limit_bps = fields.Integer()
    burst_threshold_bps = fields.Integer()
    burst_time_ms = fields.Integer()
    priority = fields.Integer()
    queue_type = fields.String()
    bucket_size_ms = fields.Integer()


class Queue(Answer):
    id = fields.String()
    name = fields.String()
    target = fields.List(fields.String())
    dst = fields.String(allow_none=True)
    parent = fields.String(allow_none=True)
    position = fields.Integer()
    max_limit_bps = fields.Nested(RatePair)
    limit_at_bps = fields.Nested(RatePair)
    burst_limit_bps = fields.Nested(RatePair)
    burst_threshold_bps = fields.Nested(RatePair)
    burst_time_ms = fields.Nested(DurationPair)
    priority = fields.Nested(PriorityPair)
    queue_type = fields.Nested(QueueTypePair)
    bucket_size_ms = fields.Nested(BucketPair)
    time = fields.Nested(TimeWindow, allow_none=True)
    total = fields.Nested(TotalLimitsAnswer)
    comment = fields.String()
    disabled = fields.Boolean()
    etag = fields.String(metadata={"description": "Send it as If-Match when you change the queue."})
    path = fields.List(
        fields.Nested(QueueReference), metadata={"description": "Ancestors, the root of the tree first."}
    )
    child_count = fields.Integer()
    enforcement = fields.List(fields.Nested(Enforcement))
    warnings = fields.List(fields.Nested(Finding))


class QueuePage(Answer):
    items = fields.List(fields.Nested(Queue))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer(metadata={"description": "How many match the filter, on all pages."})


class BulkInput(Input):
    """Creates, replacements and deletions in one transaction; deletions are made last."""

    upsert = fields.List(
        fields.Nested(QueueUpsertInput), load_default=list, validate=validate.Length(max=10_000)
    )
    delete = fields.List(identifier(), load_default=list, validate=validate.Length(max=10_000))


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
