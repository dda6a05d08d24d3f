# SPDX-License-Identifier: Apache-2.0
"""What survives hands and damage: how long a customer has no limit after somebody took away or wrote what it
is enforced by, and how many of 1,000 stores with one changed byte are loaded as another configuration."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.rows import Row
from tests.agent import test_hooks, test_htb_hands, test_last_good_damage, test_lookup_hands
from tests.agent.meter import RATE_BPS, unlimited_after
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.store import test_damage

ROUNDS = 3

Measure = Callable[[Rig], float]


def run() -> list[Row]:
    found = hands(
        "", plain, {name: partial(unlimited_after, hand=do) for name, do in test_hooks.HANDS.items()}
    )
    by_lookup = {
        name: partial(unlimited_after, hand=hand.do, near=hand.near, far=hand.far)
        for name, hand in test_lookup_hands.HANDS.items()
    }
    found += hands("lookup-", lookups, by_lookup)
    by_tree = {name: partial(unlimited_after, hand=do) for name, do in test_htb_hands.HANDS.items()}
    found += hands("htb-", trees, by_tree)
    worst = max(found, key=lambda row: row.max)
    words = f"the longest of all hands and rounds: {worst.id.removeprefix('unlimited-')}"
    return [Row.of("unlimited-worst", words, "s", [worst.max]), *found, *damaged()]


def hands(prefix: str, made: Callable[[], Iterator[Rig]], measures: Mapping[str, Measure]) -> list[Row]:
    with contextmanager(made)() as rig:
        return [
            Row.of(
                f"unlimited-{prefix}{name}",
                f"no limit after {name.replace('-', ' ')}, by 50 ms",
                "s",
                [measure(rig) for _ in range(ROUNDS)],
                "lower",
            )
            for name, measure in measures.items()
        ]


def plain() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), client_queue(RATE_BPS))
        yield made


def lookups() -> Iterator[Rig]:
    with running() as made:
        yield test_lookup_hands.configured(made)


def trees() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(shaper="htb"), wan(shaper="htb"), client_queue(RATE_BPS))
        yield made


def damaged() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            "database": test_damage.outcomes(test_damage.written(Path(folder, "a")), Path(folder, "b")),
            "copy": test_last_good_damage.outcomes(Path(folder, "c")),
        }
    return [
        Row.of(
            f"damaged-{name}-loaded",
            f"of {sum(found.values()):,} changes of one byte of the {name}: loaded as another configuration",
            "files",
            [found["another"]],
        )
        for name, found in stores.items()
    ]
