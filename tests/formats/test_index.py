# SPDX-License-Identifier: Apache-2.0
"""Numbers by text, where the texts are kept by others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.formats import index as module
from weir.formats.index import Index


def indexed(keys: list[str]) -> Index:
    """The first number of each key."""
    made = Index(lambda number, key: keys[number] == key)
    for number, key in enumerate(keys):
        assert made.add(key, number) == (None if made.get(key) == number else keys.index(key))
    return made


@given(st.lists(st.text(max_size=3)))
def test_each_key_leads_to_the_first_that_has_it(keys: list[str]) -> None:
    found = indexed(keys)
    assert [found.get(key) for key in keys] == [keys.index(key) for key in keys]
    assert found.get("none of them") is None


def test_it_grows_and_stays_small() -> None:
    keys = [f"customer {number}" for number in range(50_000)]
    found = indexed(keys)
    assert [found.get(key) for key in keys] == list(range(50_000))
    assert 8 * len(found._places) <= 24 * len(keys)


def test_keys_of_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_half", lambda key: 2**32 - 1)
    keys = [str(number) for number in range(50)]
    found = indexed(keys)
    assert [found.get(key) for key in keys] == list(range(50))
    assert found.get("50") is None
