# SPDX-License-Identifier: Apache-2.0
"""What all field types have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from weir.model.problem import Invalid
from weir.model.reader import Reader


class Field(ABC):
    """A field type with what is said about one field: a sentence of help, and an example.

    `option` is a second name on the command line, where the field's own is long or unusual (`--via`).

    `null_is_default`: JSON's `null` means the same as leaving it out, though the value is never `None`.

    A declaration writes it beside the Python type: `distance: Annotated[int, Whole(1, 255)] = 1`.
    """

    null_is_default = False

    def __init__(self, *, help: str = "", example: str = "", option: str = "") -> None:
        self.help = help
        self.example = example
        self.option = option

    @abstractmethod
    def read(self, reader: Reader, name: str, default: Any) -> Any:
        """The value of `name`, or `default` when it is absent. Notes what is wrong at the reader.

        `None` is a value like any other here; a declaration asks only when the field must have one.
        """

    def to_json(self, value: Any) -> Any:
        """The value as JSON has it."""
        return value

    @abstractmethod
    def bounds(self) -> str:
        """Which values there are, for the reference: "1 to 255", "an address"."""


class Parsed(Field):
    """A field whose values are read one by one, so that there can be lists of them."""

    @staticmethod
    @abstractmethod
    def parse(value: object) -> Any:
        """The value in its one form. Raises `Invalid` with a message that continues the field's name."""

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        if name not in reader.data:
            return default
        try:
            return self.parse(reader.data[name])
        except Invalid as problem:
            reader.error(name, problem.code, problem.message)
            return default
