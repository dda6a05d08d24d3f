# SPDX-License-Identifier: Apache-2.0
"""Limits that are raised for a while as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Input, Whole
from weir.http.schemas.kinds import pair_answer
from weir.model.limits import MAX_RATE_BPS
from weir.service.raising import MAX_S, MIN_S

_RatePair = pair_answer("Rate", names=False)


class RaisedPairInput(Input):
    upload = Whole(0, MAX_RATE_BPS, required=True)
    download = Whole(0, MAX_RATE_BPS, required=True)


class RaiseInput(Input):
    max_limit_bps = fields.Nested(
        RaisedPairInput,
        required=True,
        metadata={"description": "More than the queue has in one direction, less in none; 0 is unlimited."},
    )
    for_s = Whole(MIN_S, MAX_S, required=True, metadata={"description": "Seconds until it goes back."})


class Raise(Answer):
    """A limit that goes back by itself."""

    queue_id = fields.String()
    max_limit_bps = fields.Nested(_RatePair)
    before_bps = fields.Nested(_RatePair, metadata={"description": "What the limit goes back to."})
    author = fields.String()
    begun_at = fields.String()
    until = fields.String()
    seconds_left = fields.Float()
    held_up = fields.String(
        allow_none=True, metadata={"description": "Why it has not gone back though its time is over."}
    )


class RaiseList(Answer):
    items = fields.List(fields.Nested(Raise))


class RaiseEnd(Answer):
    went_back = fields.Boolean(
        metadata={"description": "False: the limit was changed meanwhile and stays as somebody set it."}
    )
