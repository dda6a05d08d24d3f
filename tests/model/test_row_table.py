# SPDX-License-Identifier: Apache-2.0
"""Rows in two pieces of memory: the same as a dictionary, in less room."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from weir.model.row_table import IdPlaces, RowTable


def model_after(table: RowTable, rng: random.Random, steps: int) -> dict[str, bytes]:
    """What a dictionary has after the same random changes; what is replaced goes to its end."""
    known = dict(table)
    for _ in range(steps):
        name = f"q{rng.randrange(300)}"
        if rng.random() < 0.6:
            row = rng.randbytes(rng.randrange(1, 40))
            known.pop(name, None)
            known[name] = table[name] = row
        else:
            assert (known.pop(name, None) is None) == (table.pop(name, None) is None)
    return known


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_a_dictionary_is(seed: int) -> None:
    rng = random.Random(seed)
    table = RowTable()
    for number in range(200):
        table.append(f"q{number}", b"%d" % number)
    table.settle()
    twin, before = table.copy(), dict(table)
    for _ in range(5):
        known = model_after(table, rng, 200)
        assert list(table.items()) == list(known.items())
        assert len(table) == len(known)
        assert all((f"q{number}" in table) == (f"q{number}" in known) for number in range(310))
        table.settle()
        assert list(table.items()) == list(known.items())
    assert list(twin.items()) == list(before.items()), "a copy stays as it was"


def test_what_is_not_there_is_said_as_a_dictionary_says_it() -> None:
    table = RowTable()
    table.append("a", b"1")
    table.settle()
    del table["a"]
    for ask in (lambda: table["a"], lambda: table.__delitem__("a"), lambda: table["b"]):
        with pytest.raises(KeyError):
            ask()
    assert table.get("a", b"other") == b"other"


def test_ids_are_found_at_their_places() -> None:
    ids = [None if number % 3 == 0 else f"customer-{number}" for number in range(5000)]
    places = IdPlaces(ids)
    assert all(places.find(name) == at for at, name in enumerate(ids) if name is not None)
    assert places.find("customer-3") == -1 and IdPlaces().find("customer-1") == -1


def test_rows_take_little_beside_their_content() -> None:
    """A dictionary takes some 85 bytes for each."""
    ids = [f"customer-{number}" for number in range(20_000)]
    tracemalloc.start()
    try:
        table = RowTable()
        for name in ids:
            table.append(name, bytes(50))
        table.settle()
        taken_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken_bytes < len(ids) * (50 + 24)
