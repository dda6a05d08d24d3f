# SPDX-License-Identifier: Apache-2.0
"""The examples of RouterOS's HTB manual: what each customer gets when all want more than there is.

A 10 Mbit/s root Q01 with a leaf Q03 and an inner Q02, which holds the leaves Q04 and Q05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest


class Described(NamedTuple):
    """One queue; the leaves are those of the clients 0, 1 and 2."""

    name: str
    parent: str | None
    limit_mbit: int
    guarantee_mbit: int
    priority: int
    client: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """Guarantees and priorities are those of Q02 to Q05, what is expected is that of Q03 to Q05."""

    guarantees_mbit: tuple[int, int, int, int]
    priorities: tuple[int, int, int, int]
    q05_limit_mbit: int
    expected_mbit: tuple[float, float, float]

    def queues(self) -> list[Described]:
        (q02, q03, q04, q05) = zip(self.guarantees_mbit, self.priorities, strict=True)
        return [
            Described("q01", None, 10, 0, 8, None),
            Described("q02", "q01", 10, *q02, None),
            Described("q03", "q01", 10, *q03, 0),
            Described("q04", "q02", 10, *q04, 1),
            Described("q05", "q02", self.q05_limit_mbit, *q05, 2),
        ]


EXAMPLES = [
    pytest.param(Example((4, 6, 2, 2), (8, 1, 3, 5), 10, (6, 2, 2)), id="guarantees come first"),
    pytest.param(Example((4, 2, 2, 2), (8, 3, 1, 5), 10, (2, 6, 2)), id="the best priority takes the rest"),
    pytest.param(Example((8, 2, 2, 2), (8, 1, 3, 5), 10, (2, 6, 2)), id="an inner guarantee reserves"),
    pytest.param(Example((4, 6, 2, 12), (8, 1, 3, 5), 15, (3, 1, 6)), id="promises above the link scale"),
]
