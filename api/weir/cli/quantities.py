# SPDX-License-Identifier: Apache-2.0
"""Rates, durations, pairs and hours as people type them: 10M, 1m30s, 10M/50M, 08:00-18:00."""

from __future__ import annotations

from typing import Any

import click

from weir.fields import Ref, Whole
from weir.model.problem import Invalid
from weir.model.units import parse_duration_ms, parse_rate_bps

Json = dict[str, Any]


class RateType(click.ParamType):
    """A rate within the bounds of its field, in bit/s."""

    name = "RATE"

    def __init__(self, field: Whole) -> None:
        self._range = click.IntRange(field.low, field.high)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(self._range.convert(_read(self, parse_rate_bps, value, param, ctx), param, ctx))


class DurationType(click.ParamType):
    """A time within the bounds of its field, in ms; a bare number counts seconds."""

    name = "TIME"

    def __init__(self, field: Whole) -> None:
        self._range = click.IntRange(field.low, field.high)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(self._range.convert(_read(self, parse_duration_ms, value, param, ctx), param, ctx))


class _Number(click.IntRange):
    """A whole number within its bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).isdecimal():
            self.fail(f"{value!r} is not a whole number", param, ctx)
        return super().convert(value, param, ctx)


class PairType(click.ParamType):
    """A value for each direction; one alone counts for both. `unit` is that of numbers."""

    name = "UP/DOWN"

    def __init__(self, item: Whole | Ref, unit: str) -> None:
        self._item: click.ParamType = click.STRING
        if isinstance(item, Whole):
            kinds = {"bps": RateType, "ms": DurationType}
            self._item = kinds[unit](item) if unit in kinds else _Number(item.low, item.high)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        upload, slash, download = str(value).partition("/")
        first = self._item.convert(upload.strip(), param, ctx)
        return {
            "upload": first,
            "download": self._item.convert(download.strip(), param, ctx) if slash else first,
        }


class _WindowType(click.ParamType):
    """Hours of a day, and days if not of all: `08:00-18:00 mon,tue`."""

    name = "FROM-TO [DAYS]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        hours, _, days = str(value).strip().partition(" ")
        start, dash, end = hours.partition("-")
        if not dash:
            self.fail(f"{value!r} is not like 08:00-18:00 mon,tue", param, ctx)
        named = {"days": days.replace(" ", "").split(",")} if days.strip() else {}
        return {"start": start, "end": end, **named}


WINDOW = _WindowType()


def _read(
    kind: click.ParamType, read: Any, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> int:
    try:
        return int(read(str(value)))
    except Invalid as problem:
        kind.fail(problem.message, param, ctx)
