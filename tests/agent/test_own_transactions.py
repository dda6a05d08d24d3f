# SPDX-License-Identifier: Apache-2.0
"""Who hears of nftables hears what others change: what Weir does there is compared by who does it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from lab import netns
from tests.polling import until
from weir.adapters import nft
from weir.adapters.events import Events

OURS, THEIRS = "add chain inet weir c{}", "add chain ip theirs c{}"


@pytest.fixture
def events() -> Iterator[Events]:
    """All that was there before has been told."""
    name = f"weir-agent-test-{os.getpid()}-own"
    netns.create(name)
    try:
        with netns.inside(name), closing(Events()) as found:
            netns.run(["nft", "add table inet weir; add table ip theirs"])
            assert "firewall" in found.settle(0.2, 2.0)
            yield found
    finally:
        netns.remove(name)


def by_another(number: int) -> None:
    netns.run(["nft", THEIRS.format(number)])


def test_own_transactions_wake_nobody_and_anothers_do(events: Events) -> None:
    for number in range(3):
        nft.apply_text(OURS.format(number))
        assert "firewall" not in events.settle(0.05, 1.0)
        by_another(number)
        assert "firewall" in events.settle(0.05, 1.0)


def test_anothers_is_told_of_whenever_it_is_done(events: Events) -> None:
    """Before one of ours (`w`), behind it, or between two, told together."""
    for number, order in enumerate(("aw", "wa", "waw")):
        for at, who in enumerate(order):
            if who == "a":
                by_another(10 * number)
            else:
                nft.apply_text(OURS.format(10 * number + at))
        assert "firewall" in events.settle(0.05, 1.0), order
        assert "firewall" not in events.settle(0.05, 0.2)


def test_during_a_transaction_of_ours_nobody_is_blamed(events: Events) -> None:
    """Its events come before its end is known; another's are told as soon as it is."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with nft.transaction():
            netns.run(["nft", OURS.format(1)])
            inside.set()
            leave.wait(10.0)

    ours = threading.Thread(target=hold)
    ours.start()
    try:
        assert inside.wait(10.0)
        assert events.settle(0.05, 0.2) == set()
    finally:
        leave.set()
        ours.join()
    assert "firewall" not in events.settle(0.05, 0.2)
    by_another(1)
    until("another's is told of", lambda: "firewall" in events.wait(0.05))
