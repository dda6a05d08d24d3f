# SPDX-License-Identifier: Apache-2.0
"""What all field types have in common."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from weir.model.problem import Invalid
from weir.model.reader import Reader

Importance = Literal["shown", "folded", "expert"]


@dataclass(frozen=True, slots=True)
class When:
    """A condition on another field of the same object: it has one of `values`; without them, any value.

    With `unless` it is the opposite. Forms and lists use it; what a router accepts is said by rules.
    """

    field: str
    values: tuple[str | bool | int, ...] = ()
    unless: bool = False


as_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Compact JSON, as the store has it."""


class Field(ABC):
    """A field type with what is said about one field: a sentence of help, and an example.

    Forms and diffs call it `label`, or else by its name (`weir.kinds.words`). `importance` says where a form
    has it: shown at once, folded, or among what experts need. It is not offered unless `when` holds.

    `option` is a second name on the command line, where the field's own is long or unusual (`--via`).

    `null_is_default`: JSON's `null` means the same as leaving it out, though the value is never `None`.

    A declaration writes it beside the Python type: `distance: Annotated[int, Whole(1, 255)] = 1`.
    """

    null_is_default = False

    def __init__(
        self,
        *,
        help: str = "",
        example: str = "",
        option: str = "",
        label: str = "",
        importance: Importance = "shown",
        when: When | None = None,
    ) -> None:
        self.help = help
        self.example = example
        self.option = option
        self.label = label
        self.importance = importance
        self.when = when

    @abstractmethod
    def read(self, reader: Reader, name: str, default: Any) -> Any:
        """The value of `name`, or `default` when it is absent. Notes what is wrong at the reader.

        `None` is a value like any other here; a declaration asks only when the field must have one.
        """

    def to_json(self, value: Any) -> Any:
        """The value as JSON has it."""
        return value

    def to_stored(self, value: Any) -> Any:
        """The value as the store, the wire and backups have it."""
        return self.to_json(value)

    def to_stored_text(self, value: Any) -> str:
        """`to_stored` as compact JSON."""
        return as_text(self.to_stored(value))

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
