# SPDX-License-Identifier: Apache-2.0
"""Somebody empties what says whose a packet is: for how long a customer is unlimited, what is said of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from lab import netns
from tests.agent import hooks
from tests.agent.hooks import pins
from tests.agent.meter import RATE_BPS, told_since, unlimited_after
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_hooks import MOST_S, NOBODY_MENDS
from tests.polling import until
from weir.model.objects import Pair, Queue

LIMIT = Pair(RATE_BPS, RATE_BPS)
NEAR4, NEAR_FAR, NEAR6 = "10.64.0.2", "10.64.0.3", "2001:db8:64::2"
FAR4, FAR6 = "203.0.113.1", "2001:db8:113::1"
QUEUES = (
    Queue("both", "both", (f"{NEAR4}/32", f"{NEAR6}/128"), max_limit_bps=LIMIT),
    Queue("forked", "forked", (f"{NEAR_FAR}/32",), dst="203.0.113.0/24", max_limit_bps=LIMIT),
)
LENGTHS_AT, LENGTHS_BYTES = 24, 4 + 2 * 36
"""Of struct weir_meta: which list of lengths packets use, and both lists."""


def configured(rig: Rig) -> Rig:
    netns.ip(rig.client_ns, [f"addr add {NEAR_FAR}/24 dev c0"])
    netns.ip(rig.client_ns, [f"addr add {NEAR6}/64 dev c0 nodad", "route add default via 2001:db8:64::1"])
    netns.ip(rig.internet, [f"addr add {FAR6}/64 dev i0 nodad", "route add default via 2001:db8:113::2"])
    rig.commit(lan(), wan(addresses=("203.0.113.2/24", "2001:db8:113::2/64")), *QUEUES)
    return rig


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        yield configured(made)


@dataclass(frozen=True)
class Hand:
    """What is done to the maps, whose stream shows it, and what `explain` then does not say."""

    do: Callable[[Rig], None]
    near: str = NEAR4
    far: str = FAR4
    queue: str = "both"


def emptied(name: str) -> Callable[[Rig], None]:
    return lambda rig: hooks.empty(pins(rig) / name)


def zeroed_unit(rig: Rig) -> None:
    """One unit of 64 bytes: the entries of 10.64.0.0/12 on the first level of the tree."""
    hooks.overwrite(pins(rig) / "weir_v4", ((10 << 24 | 64 << 16) >> 20) * 64, bytes(64))


def emptied_lengths(rig: Rig) -> None:
    hooks.overwrite(pins(rig) / "weir_meta", LENGTHS_AT, bytes(LENGTHS_BYTES))


HANDS: dict[str, Hand] = {
    "a-unit-of-v4": Hand(zeroed_unit),
    "emptied-v4": Hand(emptied("weir_v4")),
    "emptied-v6": Hand(emptied("weir_prefix6"), NEAR6, FAR6),
    "emptied-lengths": Hand(emptied_lengths, NEAR6, FAR6),
    "emptied-far": Hand(emptied("weir_far"), NEAR_FAR, FAR4, "forked"),
}


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_limits_hold_again_within_two_seconds(rig: Rig, hand: Hand) -> None:
    begun_s = time.time()
    assert unlimited_after(rig, hand.do, near=hand.near, far=hand.far) <= MOST_S
    until("explain agrees", lambda: rig.explain(hand.queue)["agrees"])
    assert told_since(rig, begun_s)


def test_own_changes_are_told_as_nobodys(rig: Rig) -> None:
    """Fifty commits that change every table, while the guard looks five times a second."""
    before = len(rig.status()["drift"])
    for number in range(50):
        more = Queue(
            "more",
            "more",
            (f"10.64.0.{10 + number}/32", f"2001:db8:64::{number + 9:x}/128"),
            max_limit_bps=LIMIT,
        )
        forked = Queue(
            "split", "split", (f"10.64.0.{70 + number}/32",), dst="203.0.113.0/24", max_limit_bps=LIMIT
        )
        rig.commit(more, forked)
    rig.commit(delete=[("queue", "more"), ("queue", "split")])
    assert len(rig.status()["drift"]) == before


@pytest.fixture(scope="module")
def unguarded() -> Iterator[Rig]:
    with running(*NOBODY_MENDS) as made:
        yield configured(made)


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_explain_does_not_agree_and_a_new_agent_mends_what_was_done_while_none_ran(
    unguarded: Rig, hand: Hand
) -> None:
    until("explain agrees", lambda: unguarded.explain(hand.queue)["agrees"])
    hand.do(unguarded)
    assert not unguarded.explain(hand.queue)["agrees"]
    unguarded.kill_agent()
    unguarded.start_agent(*NOBODY_MENDS)
    until("explain agrees", lambda: unguarded.explain(hand.queue)["agrees"])
