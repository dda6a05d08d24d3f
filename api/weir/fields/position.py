# SPDX-License-Identifier: Apache-2.0
"""The place of an object among others of its kind."""

from __future__ import annotations

from typing import Any

from weir.fields.numbers import Whole
from weir.model.limits import MAX_EXACT

MAX_POSITION = MAX_EXACT
STEP = 2**32
"""Between objects added at the end: 32 moves to one place find room, and two million objects have places."""


class Position(Whole):
    """The field `position` of an ordered kind: the smallest comes first, equal ones are ordered by id.

    `within` are the fields that make lists of their own, such as the chain of a rule. Without a position an
    object comes last in its list, and one that is replaced stays.

    With `own_rules` the kind finds places by itself, as queues do (`weir.model.tree`).
    """

    def __init__(self, *within: str, most: int = MAX_POSITION, own_rules: bool = False, **said: Any) -> None:
        super().__init__(0, most, **said)
        self.within = within
        self.own_rules = own_rules
