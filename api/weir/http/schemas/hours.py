# SPDX-License-Identifier: Apache-2.0
"""A window of local time as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, one_of
from weir.model.limits import DAYS

TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$"


class TimeWindowInput(Input):
    """Local time of day; `end` is after `start`."""

    start = fields.String(validate=validate.Regexp(TIME_OF_DAY), load_default="00:00", allow_none=True)
    end = fields.String(validate=validate.Regexp(TIME_OF_DAY), load_default="24:00", allow_none=True)
    days = fields.List(one_of(*DAYS), load_default=lambda: list(DAYS), validate=validate.Length(min=1, max=7))


class TimeWindow(Answer):
    start = fields.String()
    end = fields.String()
    days = fields.List(one_of(*DAYS))
