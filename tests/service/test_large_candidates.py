# SPDX-License-Identifier: Apache-2.0
"""A candidate of thousands of changes: its rows come at once, its effect is worked out once."""

from __future__ import annotations

import gc
import threading
from sqlite3 import Connection
from typing import Any

import pytest

from tests.service.router import ANNA, Router, queue, wait_until
from weir.model.objects import Pair, Queue
from weir.service import ANYTHING, CandidateDiff, Edit, candidates, staging
from weir.store import candidates as store_candidates

COUNT = 30


@pytest.fixture
def previews(router: Router, monkeypatch: pytest.MonkeyPatch) -> list[threading.Event]:
    """One gate per preview that the agent was asked for; each waits for its gate to open."""
    for module in (candidates, staging):
        monkeypatch.setattr(module, "MANY", COUNT // 2)
    gates: list[threading.Event] = []
    ask = candidates.ask_preview

    def ask_when_open(*asked: Any) -> dict[str, Any]:
        gates.append(threading.Event())
        assert gates[-1].wait(60)
        return ask(*asked)

    monkeypatch.setattr(candidates, "ask_preview", ask_when_open)
    return gates


def stage(router: Router, count: int = COUNT, **fields: Any) -> None:
    edits = [Edit("queue", f"q{n}", queue(f"q{n}", **fields), ANYTHING) for n in range(count)]
    router.service.candidates.stage(ANNA, edits)


def complete(router: Router) -> CandidateDiff:
    found: list[CandidateDiff] = []
    wait_until(lambda: bool(found.append(diff(router)) or found[-1].effect), "the effect was not worked out")
    return found[-1]


def diff(router: Router, after: int = 0, limit: int = 10, wait_s: float = 0.0) -> CandidateDiff:
    return router.service.candidates.diff(ANNA, after, limit, wait_s)


def test_rows_come_before_the_effect_is_known(router: Router, previews: list[threading.Event]) -> None:
    stage(router)
    first = diff(router)
    assert first.effect is None
    assert first.diff.counts.total == COUNT
    assert [item.id for item in first.diff.objects] == [f"q{n}" for n in range(10)]
    ids: list[str] = []
    after: int | None = 0
    while after is not None:
        page = diff(router, after, 7).diff
        ids += [item.id for item in page.objects]
        after = page.after
    assert ids == [f"q{n}" for n in range(COUNT)]
    wait_until(lambda: bool(previews), "the agent was not asked")
    previews[0].set()
    effect = complete(router).effect
    assert effect is not None and effect.preview is not None
    assert effect.preview["counts"]["added"] == COUNT


def test_thousands_of_objects_are_not_held_while_the_agent_works(
    router: Router, previews: list[threading.Event]
) -> None:
    """They took 120 MB of 50,000 queues, beside what their commit takes."""
    stage(router, comment="only staged")
    diff(router)
    wait_until(lambda: bool(previews), "the agent was not asked")
    gc.collect()
    held = [item for item in gc.get_objects() if isinstance(item, Queue) and item.comment == "only staged"]
    previews[0].set()
    complete(router)
    assert len(held) == 0


def test_the_effect_is_worked_out_once_for_all_pages(router: Router, previews: list[threading.Event]) -> None:
    stage(router)
    for start in range(0, COUNT, 10):
        diff(router, start)
    wait_until(lambda: bool(previews), "the agent was not asked")
    previews[0].set()
    complete(router)
    assert diff(router, 20, wait_s=5).effect is not None
    assert len(previews) == 1


def test_a_list_that_shows_what_is_staged_asks_nobody_for_its_effect(
    router: Router, previews: list[threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit of another made the agent try all staged changes again, for a list that shows ten."""
    stage(router)
    service = router.service.candidates
    validated: list[object] = []
    monkeypatch.setattr(service, "_work_out", lambda *_given: validated.append(1))
    for revision in range(2):
        rows = service.diff(ANNA, 0, 10, with_effect=False)
        assert (rows.effect, len(rows.diff.objects)) == (None, 10)
        assert rows.diff.counts.total == COUNT
        router.put(queue(f"q{900 + revision}"))
    assert (validated, previews) == ([], [])


@pytest.mark.parametrize("what", ["staged", "taken out", "committed by another"])
def test_the_effect_of_an_older_state_is_not_answered(
    router: Router, previews: list[threading.Event], what: str
) -> None:
    stage(router)
    diff(router)
    wait_until(lambda: bool(previews), "the agent was not asked")
    previews[0].set()
    complete(router)
    if what == "staged":
        router.service.candidates.stage(ANNA, [Edit("queue", "q99", queue("q99"), ANYTHING)])
    elif what == "taken out":
        router.service.candidates.unstage(ANNA, "queue", "q3")
    else:
        router.put(queue("q500"))
    assert diff(router).effect is None
    wait_until(lambda: len(previews) == 2, "the agent was not asked again")
    previews[1].set()
    complete(router)


def test_a_candidate_that_moves_on_is_not_worked_out_in_its_old_state(
    router: Router, previews: list[threading.Event]
) -> None:
    stage(router)
    diff(router)
    wait_until(lambda: bool(previews), "the agent was not asked")
    stage(router, comment="second")
    diff(router)
    stage(router, comment="third")
    diff(router)
    previews[0].set()
    wait_until(lambda: len(previews) == 2, "the agent was not asked again")
    previews[1].set()
    complete(router)
    assert len(previews) == 2


def test_the_effect_is_not_worked_out_while_the_candidate_is_committed(
    router: Router, previews: list[threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who pressed Commit while it was, had 50,000 changes validated and compiled twice at the same time."""
    stage(router)
    begun, goes_on = threading.Event(), threading.Event()
    read = candidates.staged_edits
    went_on: list[bool] = []

    def hold(*given: Any) -> Any:
        begun.set()
        went_on.append(goes_on.wait(20))
        return read(*given)

    monkeypatch.setattr(candidates, "staged_edits", hold)
    assert diff(router).effect is None
    assert begun.wait(60)
    during: list[object] = []

    def meanwhile(moment: str) -> None:
        if moment == "before-apply":
            goes_on.set()
            during.append(diff(router, wait_s=0.3).effect)

    router.agent.behave = meanwhile
    router.service.candidates.commit(ANNA, "")
    assert went_on == [True], "the commit waited for the effect"
    assert during == [None]
    assert previews == [], "the agent was asked for what it was doing"
    assert len(router.running) == COUNT


def test_counts_leave_out_what_changes_nothing(router: Router) -> None:
    router.put(queue("q1"), queue("q2"), queue("q3"))
    faster = queue("q2", max_limit_bps=Pair(5_000_000, 5_000_000))
    edits = [Edit("queue", "q1", queue("q1")), Edit("queue", "q2", faster), Edit("queue", "q3", None)]
    router.service.candidates.stage(ANNA, [*edits, Edit("queue", "q4", queue("q4"))])
    found = diff(router)
    counts = found.diff.counts
    assert (counts.added, counts.changed, counts.removed, counts.total) == (1, 1, 1, 3)
    assert [item.id for item in found.diff.objects] == ["q2", "q3", "q4"]
    assert [item.id for item in diff(router, limit=1).diff.objects] == ["q2"]


def test_two_revisions_are_compared_by_pages(router: Router) -> None:
    router.put(*(queue(f"q{n}") for n in range(25)))
    router.put(queue("q3", comment="new"), queue("q99"))
    router.delete("q5")
    revisions = router.service.revisions
    found = revisions.diff(ANNA, 1, 3)
    assert (found.counts.added, found.counts.changed, found.counts.removed) == (1, 1, 1)
    assert [item.id for item in revisions.diff(ANNA, 0, 1, 10, 5).objects] == [
        item.id for item in revisions.diff(ANNA, 0, 1).objects[10:15]
    ]
    assert revisions.diff(ANNA, 3, 1).counts.added == 1


def test_thousands_are_staged_by_few_statements(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lets go of the interpreter's lock; two for each object took as long as all else together."""
    said: list[str] = []
    stage = store_candidates.stage

    def counted(connection: Connection, *given: Any) -> None:
        stage(connection, *given)
        connection.set_trace_callback(None)

    create = store_candidates.create

    def traced(connection: Connection, *given: Any) -> store_candidates.Candidate:
        connection.set_trace_callback(said.append)
        return create(connection, *given)

    monkeypatch.setattr(store_candidates, "stage", counted)
    monkeypatch.setattr(store_candidates, "create", traced)
    router.service.candidates.stage(
        ANNA, [Edit("queue", f"q{number}", queue(f"q{number}")) for number in range(2000)]
    )
    assert len(said) < 12
    assert router.service.candidates.diff(ANNA).diff.counts.added == 2000
