# SPDX-License-Identifier: Apache-2.0
"""What settings of interfaces were before Weir first changed them, in a file.

Nothing configured any more means that a change is undone, also one by an agent that was killed in the middle
of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from weir.adapters import files
from weir.model.problem import ApplyFailed

T = TypeVar("T", int, str)


class Originals(Generic[T]):
    """By interface. `file` is on a file system that is empty after a boot."""

    def __init__(self, file: Path, of: Callable[[object], T]) -> None:
        """`of` makes a value of what JSON holds."""
        self._file = file
        self._of: Callable[[object], T] = of

    def read(self) -> Mapping[str, T]:
        """Empty where nothing is remembered, or the file is damaged."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return {name: self._of(value) for name, value in found.items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            return {}

    def remember(self, values: Mapping[str, T]) -> None:
        """Beside what is remembered. Raises `ApplyFailed` where the file cannot be written."""
        if not values:
            return
        try:
            files.replace(self._file, json.dumps({**self.read(), **values}).encode())
        except OSError as error:
            raise ApplyFailed(f"{self._file} cannot be written: {error.strerror}", code="memory") from error
