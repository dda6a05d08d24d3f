# SPDX-License-Identifier: Apache-2.0
"""What one set entry among 100,000 costs, in calls of functions.

A commit of thousands does each of these things to each object, most of them several times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from weir.kinds.references import rules_of
from weir.kinds.sets import ENTRY, Set, SetEntry
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.rule import View
from weir.parts.sets import head_of
from weir.store.bodies import encode
from weir.wire.protocol import decode

ITEM = SetEntry("e7", "blocked", "192.0.2.0/24")
BODY = {"id": "e7", "set": "blocked", "value": "192.0.2.0/24"}
VIEW = View(Document([Set("blocked"), ITEM]))
LINE = b'{"kind":"set-entry","id":"e7","new":{"id":"e7","set":"blocked","value":"192.0.2.0/24"}}'


def check() -> None:
    for rule in rules_of(ENTRY):
        assert list(rule.check(VIEW, ITEM)) == []


THINGS: dict[str, tuple[Callable[[], object], int]] = {
    "read": (lambda: from_json("set-entry", BODY), 38),
    "stored": (lambda: encode(ITEM), 14),
    "checked": (check, 23),
    "read as a line of the agent's protocol": (lambda: decode(LINE), 13),
    "found a place in the kernel": (lambda: head_of("blocked", "192.0.2.0/24"), 9),
}
"""With the most calls that it may take."""


@pytest.mark.parametrize("what", THINGS)
def test_it_takes_few_calls(what: str) -> None:
    do, most = THINGS[what]
    do()  # what is worked out once is no part of it
    assert calls(do) <= most


def calls(do: Callable[[], object]) -> int:
    """Of functions, whether they are Python's or not."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count
