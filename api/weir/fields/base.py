# SPDX-License-Identifier: Apache-2.0
"""What all field types have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from weir.model.reader import Reader


class Field(ABC):
    """A field type with what is said about one field: a sentence of help, and an example.

    A declaration writes it beside the Python type: `distance: Annotated[int, Whole(1, 255)] = 1`.
    """

    def __init__(self, *, help: str = "", example: str = "") -> None:
        self.help = help
        self.example = example

    @abstractmethod
    def read(self, reader: Reader, name: str, default: Any) -> Any:
        """The value of `name`, or `default` when it is absent. Notes what is wrong at the reader.

        `None` is a value like any other here; a declaration asks only when the field must have one.
        """

    @abstractmethod
    def bounds(self) -> str:
        """Which values there are, for the reference: "1 to 255", "an address"."""
