# SPDX-License-Identifier: Apache-2.0
"""Who commits waits for a turn, and large commits get theirs."""

from __future__ import annotations

import threading

import pytest

from tests.service.router import wait_until
from weir.model.problem import Unavailable
from weir.service import turn


def test_not_all_threads_wait_for_thousands_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MAX_WAITING", 2)
    monkeypatch.setattr(turn, "WAIT_S", 20.0)
    waiting = turn.Turn()
    done: list[int] = []

    def wait() -> None:
        with waiting.of(1):
            done.append(1)

    with waiting.of(10_000):
        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(waiting._tickets) == 3, "two wait")
        with pytest.raises(Unavailable, match=r"a commit of 10,000 changes .* try again in about"):
            wait()
    for thread in threads:
        thread.join()
    assert done == [1, 1]


def test_a_stream_of_single_changes_keeps_no_large_commit_away() -> None:
    """A lock gives its turn to anybody; a large commit got none within ten seconds, and was refused."""
    waiting, order = turn.Turn(), list[str]()

    def take(name: str, count: int) -> None:
        with waiting.of(count):
            order.append(name)

    threads = []
    with waiting.of(1):
        for name, count in (("first", 1), ("large", 10_000), ("second", 1), ("third", 1)):
            threads.append(threading.Thread(target=take, args=(name, count)))
            threads[-1].start()
            wait_until(lambda: len(waiting._tickets) == 1 + len(threads), "it waits")
    for thread in threads:
        thread.join()
    assert order == ["first", "large", "second", "third"]


def test_who_waits_waits_as_long_as_the_one_before_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "WAIT_S", 0.0)
    monkeypatch.setattr(turn, "FIRST_GUESS_S", 0.0002)
    waiting = turn.Turn()
    entered = threading.Event()

    def hold() -> None:
        with waiting.of(10_000):  # two seconds, as far as is known
            entered.set()
            threading.Event().wait(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(5)
    with waiting.of(1):
        pass
    thread.join()
    assert waiting._change_s == pytest.approx(0.3 / 10_000, rel=0.8)
