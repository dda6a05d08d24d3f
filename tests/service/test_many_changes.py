# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes in one commit: tried on a copy, applied while they are written, packed afterwards."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.service.router import ANNA, Router, queue
from weir.model.objects import Pair
from weir.model.problem import Invalid, Unavailable, Unsupported
from weir.service import Edit, candidates, commit, running_document
from weir.store import WriteTransaction


def test_many_changes_are_validated_like_few(router: Router) -> None:
    """Beyond a bound the validation works on a copy, so that nobody waits for it."""
    many = [queue(f"q{n}", position=n) for n in range(running_document.MANY + 10)]
    with pytest.raises(Invalid) as caught:
        router.put(*many, queue("q9999", parent="nobody"))
    assert caught.value.path == "queue/q9999/parent"
    assert router.head == 0 and router.running == {}
    assert router.put(*many).revision == 1
    assert len(router.running) == running_document.MANY + 10
    assert router.service.config.warned_ids(ANNA) == []
    low = [replace(item, max_limit_bps=Pair(400, 400)) for item in many]
    router.put(*low)
    assert len(router.service.config.warned_ids(ANNA)) == len(low)


@pytest.mark.parametrize("flagged_before", (False, True))
def test_many_changes_leave_the_copy_that_they_were_tried_on(
    router: Router, monkeypatch: pytest.MonkeyPatch, flagged_before: bool
) -> None:
    monkeypatch.setattr(running_document, "MANY", 1)
    router.put(queue("q1"))
    if flagged_before:
        assert router.service.config.warned_ids(ANNA) == []
    slow = Pair(400, 400)
    router.put(queue("q2", target=(), max_limit_bps=slow), queue("q3"), queue("q1", parent="q2"))
    router.agree()
    assert "q2" in router.service.config.warned_ids(ANNA)
    assert "q3" not in router.service.config.warned_ids(ANNA)
    with router.service.config.document(ANNA) as document:
        assert set(document.children_of("q2")) == {"q1"}
    router.put(queue("q4"))
    router.agree()


def test_a_document_is_packed_after_many_changes_and_goes_on(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_document, "MANY", 1)
    router.put(queue("q1", max_limit_bps=Pair(400, 400)), queue("q2"))
    with router.service.config.document(ANNA) as document:
        assert document.is_packed
    assert router.service.config.warned_ids(ANNA) == ["q1"]
    router.agree()
    router.put(queue("q1"))
    assert router.service.config.warned_ids(ANNA) == []
    router.agree()


def test_a_page_asks_the_rules_only_about_what_has_findings(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    router.put(queue("q1", max_limit_bps=Pair(400, 400)), queue("q2"), queue("q3"))
    ids = ["q3", "q1", "nobody"]
    unknown = router.service.config.findings_by_id(ANNA, "queue", ids)
    assert [item.code for item in unknown["q1"]] == ["low-rate", "low-rate"]
    router.service.config.warned_ids(ANNA)
    asked: list[object] = []
    look = running_document.findings_by_id
    monkeypatch.setattr(
        running_document, "findings_by_id", lambda *given: asked.append(given[2]) or look(*given)
    )
    assert router.service.config.findings_by_id(ANNA, "queue", ids) == unknown
    assert asked == [["q1"]]
    router.put(queue("q3", max_limit_bps=Pair(400, 400)))
    assert len(router.service.config.findings_by_id(ANNA, "queue", ids)["q3"]) == 2


def test_thousands_of_changes_are_applied_while_they_are_written(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MANY", 1)
    written, applying = threading.Event(), threading.Event()
    router.agent.behave = lambda moment: moment != "before-apply" or (applying.set(), written.wait(60))
    append = WriteTransaction.append

    def slow_append(*given: Any, **named: Any) -> int:
        assert applying.wait(60), "the agent was not asked before the changes were written"
        number = append(*given, **named)
        written.set()
        return number

    monkeypatch.setattr(WriteTransaction, "append", slow_append)
    router.put(queue("q1"), queue("q2"))
    router.agree()


def test_thousands_of_changes_that_cannot_be_written_are_taken_back(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MANY", 1)
    router.put(queue("q1"))

    def refuse(*_given: Any, **_named: Any) -> int:
        raise Unavailable("no space", code="store-full")

    with monkeypatch.context() as patched:
        patched.setattr(WriteTransaction, "append", refuse)
        with pytest.raises(Unavailable, match="no space"):
            router.put(queue("q2"), queue("q3"))
    assert router.head == 1
    router.agree()


def test_queues_are_counted_before_anything_else(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    """The router's tables refuse 200,000 queues; that was said after a minute under the write lock."""
    monkeypatch.setattr(commit, "MANY", 5)
    router.put(queue("q1"), queue("q2"), queue("q3"))
    router.agent.class_capacity = 10
    asked: list[str] = []
    router.agent.behave = asked.append
    more = [queue(f"q{n}") for n in range(1, 12)]
    with pytest.raises(Unsupported, match="11 queues, and this router has room for 10") as caught:
        router.put(*more)
    assert caught.value.code == "too-many-queues"
    found = router.service.config.check(ANNA, [Edit("queue", item.id, item) for item in more])
    assert [(item.severity, item.code) for item in found] == [("error", "too-many-queues")]
    assert asked == []
    router.agent.more = "restart the router, and it has room for 20"
    with pytest.raises(Unsupported, match=r"room for 10; restart the router, and it has room for 20\. N"):
        router.put(*more)
    router.put(*more[:-1])
    assert len(router.running) == 10


def test_queues_of_a_candidate_and_of_a_restored_revision_are_counted_first(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MANY", 5)
    monkeypatch.setattr(candidates, "MANY", 5)
    many = [queue(f"q{n}") for n in range(1, 12)]
    router.put(*many)
    router.delete(*(item.id for item in many))
    router.agent.class_capacity = 10
    asked: list[str] = []
    router.agent.behave = asked.append
    service = router.service
    with pytest.raises(Unsupported, match="11 queues, and this router has room for 10"):
        service.revisions.restore(ANNA, 1)
    service.candidates.stage(ANNA, [Edit("queue", item.id, item) for item in many])
    effect = service.candidates.validate(ANNA)
    assert [(item.severity, item.code) for item in effect.findings] == [("error", "too-many-queues")]
    with pytest.raises(Unsupported, match="11 queues, and this router has room for 10"):
        service.candidates.commit(ANNA, "too many")
    assert asked == []
    assert service.candidates.get(ANNA) is not None, "what was staged is still there"
    router.agent.class_capacity = 11
    assert service.candidates.commit(ANNA, "just enough").revision == router.head == 3
