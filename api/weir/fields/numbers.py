# SPDX-License-Identifier: Apache-2.0
"""Truth values and whole numbers."""

from __future__ import annotations

from typing import Any

from weir.fields.base import Field, Parsed
from weir.model.problem import Invalid
from weir.model.reader import Reader, shown


class Flag(Field):
    """True or false, and nothing that resembles them."""

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        return reader.flag(name, default)

    def bounds(self) -> str:
        return "true or false"


class Whole(Field):
    """A whole number from `low` to `high`, both included."""

    def __init__(self, low: int, high: int, **said: Any) -> None:
        super().__init__(**said)
        self.low = low
        self.high = high

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        return reader.integer(name, default, self.low, self.high)

    def to_stored_text(self, value: Any) -> str:
        return "null" if value is None else str(value)

    def bounds(self) -> str:
        return f"{self.low:,} to {self.high:,}"


class Port(Parsed, Whole):
    """A TCP port."""

    def __init__(self, **said: Any) -> None:
        super().__init__(1, 65_535, **said)

    def bounds(self) -> str:
        return "TCP ports"

    @staticmethod
    def parse(value: object) -> int:
        if type(value) is not int or not 1 <= value <= 65_535:
            raise Invalid(f"must be a TCP port from 1 to 65535, not {shown(value)}", code="bad-number")
        return value
