# SPDX-License-Identifier: Apache-2.0
"""What only the agent may know: a password, a private key.

People send plain text and never get it back: answers say `{"set": true}`. The model, the store and the wire
hold it sealed (`{"sealed": ...}`, `weir.sealing`); `weir.kinds.secrets` is where a body of people is turned
into one of the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from weir.fields.base import Field
from weir.model import limits
from weir.model.problem import Invalid
from weir.model.reader import Reader

LOST = "lost"
"""There was a secret, which this router does not know: it has to be entered again."""
_SEALED = re.compile(r"lost|[0-9a-f]{16}\.[A-Za-z0-9+/]{64,16384}={0,2}")


class Unfit:
    """Stands in a body for a secret that cannot be taken, and says why without repeating it."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message


class Secret(Field):
    """A text of `min_chars` to `max_chars` characters that `check`, if given, accepts; with `lines` one of
    several lines, such as a key in PEM.

    `check` raises `Invalid` with a message that continues the field's name and does not repeat the text.
    With `made` the agent makes it where nobody gives one (`weir.agent.secrets`), and again for
    `{"new": true}`. The field is one that may be `None` then, for what was never sealed.
    """

    def __init__(
        self,
        min_chars: int,
        max_chars: int,
        *,
        check: Callable[[str], object] | None = None,
        made: str = "",
        lines: bool = False,
        **said: Any,
    ) -> None:
        super().__init__(**said)
        self.min_chars = min_chars
        self.max_chars = max_chars
        self.made = made
        self.lines = lines
        self._check = check

    def why_unfit(self, text: str) -> Unfit | None:
        """What is wrong with a plain text; nothing of it is repeated."""
        if not self.min_chars <= len(text) <= self.max_chars:
            wanted = f"must have {self.min_chars} to {self.max_chars:,} characters"
            return Unfit("bad-secret", f"{wanted}; this has {len(text):,}")
        forbidden = limits.CONTROL_BUT_NEWLINE_OR_TAB if self.lines else limits.CONTROL_CHARACTER
        if forbidden.search(text):
            return Unfit("bad-text", "holds a control character or half of a Unicode pair")
        try:
            if self._check is not None:
                self._check(text)
        except Invalid as problem:
            return Unfit(problem.code, problem.message)
        return None

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        if name not in reader.data:
            return default
        value = reader.data[name]
        if isinstance(value, Unfit):
            reader.error(name, value.code, value.message)
        elif isinstance(value, dict) and value.keys() == {"sealed"} and _is_sealed(value["sealed"]):
            return value["sealed"]
        else:
            reader.error(name, "bad-secret", "is not sealed")
        return default

    def to_json(self, value: Any) -> Any:
        return None if value is None else {"set": value != LOST}

    def to_stored(self, value: Any) -> Any:
        return None if value is None else {"sealed": value}

    def bounds(self) -> str:
        least = f"{self.min_chars} to " if self.min_chars < self.max_chars else ""
        return f"a secret of {least}{self.max_chars:,} characters, write-only"


def _is_sealed(value: object) -> bool:
    return isinstance(value, str) and _SEALED.fullmatch(value) is not None
