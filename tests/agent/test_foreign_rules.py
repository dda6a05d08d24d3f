# SPDX-License-Identifier: Apache-2.0
"""Somebody else's rules end the fast path before anything else is done.

docs/datapath.md bounds what XDP forwards after such a rule by the one message of the kernel that tells of it.
So what is counted here is what the agent does between that message and the end of the fast path: nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from queue import Empty, Queue

import pytest

from lab import netns
from weir.adapters import nft
from weir.adapters.events import RuleEvents
from weir.agent.drift import DriftLog
from weir.agent.guard import Guard
from weir.backends.backend import Topic

NEVER_S = 3600.0
WAIT_S = 60.0
CHAIN = "add chain ip theirs f { type filter hook forward priority 0; }"


class Watched:
    """What the guard asks of the datapath and of the reconciler, in its order."""

    def __init__(self) -> None:
        self.calls: Queue[str] = Queue()

    def guard(self) -> tuple[str, str]:
        self.calls.put("compare")
        return "", ""

    def hold_fast_path(self) -> None:
        self.calls.put("hold")

    def look(self, topic: Topic) -> None:
        self.calls.put(f"look at {topic}")


@pytest.fixture
def namespace() -> Iterator[str]:
    name = f"weir-rules-test-{os.getpid()}"
    netns.create(name)
    try:
        yield name
    finally:
        netns.remove(name)


@pytest.fixture
def watched(namespace: str) -> Iterator[Watched]:
    """It has compared for the first time, and will not do so again."""
    found = Watched()
    with netns.inside(namespace):
        rules = RuleEvents()
    guard = Guard(found, rules, DriftLog(), found.look, period_s=NEVER_S)
    guard.start()
    try:
        assert found.calls.get(timeout=WAIT_S) == "compare"
        yield found
    finally:
        guard.stop()
        rules.close()


def load(namespace: str, *rules: str) -> None:
    netns.run(["ip", "netns", "exec", namespace, "nft", "; ".join(rules)])


def test_the_fast_path_ends_with_the_first_message_of_a_foreign_table_chain_or_rule(
    namespace: str, watched: Watched
) -> None:
    for rules in ("add table ip theirs", CHAIN, "add rule ip theirs f drop", f"{CHAIN[:-1]} policy drop; }}"):
        load(namespace, rules)
        assert watched.calls.get(timeout=WAIT_S) == "hold", rules
        assert watched.calls.get(timeout=WAIT_S) == "look at firewall", rules
    with pytest.raises(Empty):
        watched.calls.get_nowait()


def test_our_own_rules_do_not_end_it(namespace: str, watched: Watched) -> None:
    ours = f"{nft.FAMILY} {nft.TABLE}"
    load(namespace, f"add table {ours}", f"add chain {ours} f", f"add rule {ours} f drop")
    load(namespace, "add table ip theirs")  # so it has read what was before
    assert watched.calls.get(timeout=WAIT_S) == "hold"
    assert watched.calls.get(timeout=WAIT_S) == "look at firewall"
    with pytest.raises(Empty):
        watched.calls.get_nowait()
