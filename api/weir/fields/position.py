# SPDX-License-Identifier: Apache-2.0
"""The place of an object among others of its kind."""

from __future__ import annotations

from typing import Any

from weir.fields.numbers import Whole

MAX_POSITION = 2**53 - 1
"""What a browser's numbers hold exactly."""
STEP = 2**32
"""Between objects added at the end: 32 moves to one place find room, and two million objects have places."""


class Position(Whole):
    """The field `position` of an ordered kind: the smallest comes first, equal ones are ordered by id.

    `within` are the fields that make lists of their own, such as the chain of a rule. Without a position an
    object comes last in its list, and one that is replaced stays.
    """

    def __init__(self, *within: str, **said: Any) -> None:
        super().__init__(0, MAX_POSITION, **said)
        self.within = within
