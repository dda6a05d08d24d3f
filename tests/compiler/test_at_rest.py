# SPDX-License-Identifier: Apache-2.0
"""Tables in little memory are to their users what dictionaries are."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.compiler.at_rest import ClaimedPrefixes, SlotTable
from weir.compiler.types import ClassSpec, ClockSpec
from weir.model.claims import pack_text

CLOCK = ClockSpec(1_000_000, 2000)
CHANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9) | st.none()))
"""Of the key that becomes a value; None takes it away."""


def spec(slot: int, depth: int) -> ClassSpec:
    return ClassSpec(slot, f"q{slot}", 0, depth, CLOCK, CLOCK)


def changed(table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


@given(CHANGES)
def test_classes_by_slot(changes: list[tuple[int, int | None]]) -> None:
    table, known = SlotTable(), dict[int, ClassSpec]()
    for slot, depth in changes:
        before, held = table.copy(), dict(known)
        for one in (table, known):
            changed(one, slot, None if depth is None else spec(slot, depth))
        assert dict(before) == held
        assert dict(table) == known and len(table) == len(known) and list(table) == sorted(known)
    for slot in range(-2, 45):
        assert table.get(slot) == known.get(slot) and (slot in table) == (slot in known)


@given(CHANGES)
def test_prefixes_by_queue(changes: list[tuple[int, int | None]]) -> None:
    table, known = ClaimedPrefixes(), dict[str, tuple[int, ...]]()
    for number, count in changes:
        before, held = table.copy(), dict(known)
        texts = (f"10.0.{number}.0/24", f"2001:db8:{number}::/64", f"10.1.{number}.1/32")
        for one in (table, known):
            changed(one, f"q{number}", count and tuple(pack_text(text) for text in texts[: count % 4]))
        assert dict(before) == held
        assert dict(table) == known and len(table) == len(known)


@pytest.mark.parametrize("table", [SlotTable(), ClaimedPrefixes()])
def test_what_is_not_there_cannot_be_removed(table: MutableMapping[Any, Any]) -> None:
    for key in (-1, 0, 7):
        with pytest.raises(KeyError):
            del table[key]
