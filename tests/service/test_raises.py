# SPDX-License-Identifier: Apache-2.0
"""A limit that is raised for a while goes back by itself: once, and only if nobody set another one."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from tests.service.router import ANNA, Router, person, queue, wait_until
from weir.model.objects import Queue
from weir.model.pair import Pair
from weir.model.problem import ApplyFailed, Forbidden, Invalid, NotFound, Unavailable
from weir.service import Service, raising

M = 1_000_000
USUAL, MORE, MOST = Pair(2 * M, 5 * M), Pair(4 * M, 10 * M), Pair(0, 20 * M)


def configured(router: Router) -> None:
    router.put(queue("q1", max_limit_bps=USUAL, comment="a customer"))


def limit(router: Router) -> Pair[int]:
    found = router.running["queue", "q1"]
    assert isinstance(found, Queue)
    return found.max_limit_bps


def pass_time(router: Router, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """By the clock that nobody can set; the timer looks at once."""
    now = raising.boottime_ms() + int(seconds * 1000)
    monkeypatch.setattr(raising, "boottime_ms", lambda: now)
    router.service.raises._loop.wake()


def none_left(router: Router) -> None:
    wait_until(lambda: router.service.raises.every(ANNA) == [], "the raise is not over")


def told(router: Router) -> list[tuple[str, str]]:
    return [(item.actor, item.action) for item in router.service.audit.list(ANNA, text="config.raise")]


def test_it_holds_at_once_and_goes_back_by_itself(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    view = router.service.raises.begin(person("otto", "write"), "q1", MORE, 3600)
    assert limit(router) == MORE and view.raised.before == USUAL and 3590 < view.seconds_left <= 3600
    router.put(replace(queue("q1", max_limit_bps=MORE), comment="edited meanwhile"))
    pass_time(router, monkeypatch, 3601)
    none_left(router)
    assert limit(router) == USUAL
    after = router.running["queue", "q1"]
    assert isinstance(after, Queue) and after.comment == "edited meanwhile", "nothing but the limit goes back"
    assert told(router) == [("raise timer", "config.raise-end"), ("otto", "config.raise")]
    newest = router.service.revisions.get(ANNA, router.head)
    assert (newest.author, newest.message) == ("raise timer", "limit of q1 is no longer raised")
    router.agree()


def test_a_second_raise_goes_back_to_what_was_there_at_first(router: Router) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    longer = router.service.raises.begin(ANNA, "q1", MORE, 7200)
    assert (router.head, longer.raised.before) == (2, USUAL), "more time is no revision"
    assert router.service.raises.begin(ANNA, "q1", MOST, 7200).raised.before == USUAL
    assert limit(router) == MOST
    assert router.service.raises.end(ANNA, "q1") is True
    assert limit(router) == USUAL and router.service.raises.every(ANNA) == []


def test_a_limit_that_somebody_set_meanwhile_stays(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    router.put(queue("q1", max_limit_bps=Pair(M, M)))
    pass_time(router, monkeypatch, 61)
    none_left(router)
    assert limit(router) == Pair(M, M) and router.head == 3
    entry = router.service.audit.list(ANNA, text="config.raise-end")[0]
    assert (entry.subject, entry.detail) == ("queue q1", "its limit was changed meanwhile and stays")


def test_a_queue_that_is_gone_is_not_made_again(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    router.delete("q1")
    pass_time(router, monkeypatch, 61)
    none_left(router)
    assert router.running == {}


def test_it_waits_for_a_confirmation_and_says_so(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    router.put(queue("q2"), confirm_within_s=600)
    pass_time(router, monkeypatch, 61)
    wait_until(lambda: bool(router.service.raises.every(ANNA)[0].held_up), "nothing was tried")
    assert "waits for its confirmation" in str(router.service.raises.every(ANNA)[0].held_up)
    assert limit(router) == MORE
    router.service.config.revert(ANNA)
    router.service.raises._loop.wake()
    none_left(router)
    assert limit(router) == USUAL


def test_it_survives_a_restart_and_a_reboot(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    router.service.close()
    # Of another boot only wall time tells how much has passed.
    now = raising.wall_ms() + 61_000
    monkeypatch.setattr(raising, "boot_id", lambda: "another boot")
    monkeypatch.setattr(raising, "wall_ms", lambda: now)
    router.service = Service.open(router.database, router.database.parent / "agent.sock")
    none_left(router)
    assert limit(router) == USUAL


@pytest.mark.parametrize("wanted", [USUAL, Pair(M, 10 * M), Pair(4 * M, 4 * M)])
def test_it_gives_more_in_one_direction_and_less_in_none(router: Router, wanted: Pair[int]) -> None:
    configured(router)
    with pytest.raises(Invalid, match="2M/5M") as caught:
        router.service.raises.begin(ANNA, "q1", wanted, 60)
    assert (caught.value.code, router.head) == ("not-raised", 1)
    assert router.service.raises.every(ANNA) == []


def test_nothing_is_raised_without_leave_queue_or_time(router: Router) -> None:
    configured(router)
    raises = router.service.raises
    with pytest.raises(Forbidden):
        raises.begin(person(scope="read"), "q1", MORE, 60)
    with pytest.raises(NotFound):
        raises.begin(ANNA, "q9", MORE, 60)
    with pytest.raises(NotFound, match="not raised"):
        raises.end(ANNA, "q1")
    for seconds in (0, 9, 8 * 86_400):
        with pytest.raises(Invalid, match="for_s"):
            raises.begin(ANNA, "q1", MORE, seconds)


def test_one_that_the_kernel_refuses_is_none(router: Router) -> None:
    configured(router)
    router.agent.refuse = "the kernel is full"
    with pytest.raises(ApplyFailed, match="full"):
        router.service.raises.begin(ANNA, "q1", MORE, 60)
    assert router.service.raises.every(ANNA) == [] and limit(router) == USUAL


def test_a_damaged_one_is_named_and_changes_nothing(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    configured(router)
    router.service.raises.begin(ANNA, "q1", MORE, 60)
    with sqlite3.connect(router.database) as connection:
        connection.execute("UPDATE raised_limit SET before_upload_bps = 1")
    assert [item.message for item in router.service._store.verify()] == [
        "what the limit of queue 'q1' goes back to is damaged in the database"
    ]
    pass_time(router, monkeypatch, 61)
    with pytest.raises(Unavailable, match="damaged"):
        router.service.raises.every(ANNA)
    assert limit(router) == MORE
