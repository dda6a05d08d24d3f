# SPDX-License-Identifier: Apache-2.0
"""Somebody changes the HTB tree of a port: for how long traffic is unlimited, what is said of it, and that
our own commits make nobody read trees again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from lab import netns
from tests.agent.meter import RATE_BPS, told_since, unlimited_after
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.agent.test_hooks import MOST_S, foreign_root
from tests.polling import until
from weir.adapters import tc
from weir.adapters.events import Events


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(shaper="htb"), wan(shaper="htb"), client_queue(RATE_BPS))
        yield made


def classes(rig: Rig) -> list[str]:
    return re.findall(r"class htb (fffe:\w+)", rig.run("tc", "class", "show", "dev", "wan0"))


def raise_rates(rig: Rig) -> None:
    for name in classes(rig):
        rates = ("rate", "1gbit", "ceil", "1gbit", "burst", "1m", "cburst", "1m")
        rig.run(*("tc", "class", "change", "dev", "wan0", "parent", "fffe:", "classid", name, "htb"), *rates)


def remove_classes(rig: Rig) -> None:
    for name in classes(rig):
        rig.run("tc", "class", "del", "dev", "wan0", "classid", name)


HANDS: dict[str, Callable[[Rig], None]] = {
    "raised-rates": raise_rates,
    "removed-classes": remove_classes,
    "foreign-root": foreign_root,
}


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_limits_hold_again_within_two_seconds(rig: Rig, hand: Callable[[Rig], None]) -> None:
    begun_s = time.time()
    assert unlimited_after(rig, hand) <= MOST_S
    until("explain agrees", lambda: rig.explain("client")["agrees"])
    assert told_since(rig, begun_s)


@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_explain_does_not_agree_with_what_decides_otherwise(rig: Rig, hand: Callable[[Rig], None]) -> None:
    def disagrees() -> bool:
        """Done again where the reconciler was faster than the question."""
        until("explain agrees", lambda: rig.explain("client")["agrees"])
        hand(rig)
        return not rig.explain("client")["agrees"]

    until("explain disagrees", disagrees)


def test_own_changes_of_classes_wake_nobody_and_anothers_do(rig: Rig) -> None:
    """A commit in a tree of thousands would have all of it read again."""
    line = "class change dev wan0 parent fffe: classid {} htb rate 2mbit ceil 2mbit"
    (name, *_) = until("the tree is there", lambda: classes(rig))
    with netns.inside(rig.router), closing(Events()) as events:
        tc.batch([line.format(name)])
        assert "classes" not in events.settle(0.2, 2.0)
        rig.run("tc", *line.format(name).split())
        assert "classes" in events.settle(0.2, 2.0)
    until("the agent has set them back", lambda: rig.explain("client")["agrees"])
