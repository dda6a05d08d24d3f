# SPDX-License-Identifier: Apache-2.0
"""Imports of thousands: what is committed, and that the objects never exist all at once."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from tests.service.router import ANNA, Router, queue
from weir.model.objects import Pair, Queue
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Conflict, Invalid, NotFound, PreconditionFailed, Problem, Unsupported
from weir.service.configuration import ConfigService
from weir.service.edits import expected_changes_of
from weir.service.imports import ImportService
from weir.service.packed_edits import PackedEdits
from weir.service.running_document import Running
from weir.service.types import ABSENT, ANYTHING, Edit

MANY = 3000
FEW_OBJECTS = 1500
"""The thousand queues that a packed document remembers, and some."""


def export(count: int, limit: str = "2M/10M") -> bytes:
    lines = ["/queue simple"]
    for n in range(count):
        lines.append(f"add max-limit={limit} name=customer-{n} target=10.{n >> 8}.{n & 255}.1/32")
    return "\n".join(lines).encode()


def living_queues() -> int:
    return sum(isinstance(item, Queue) for item in gc.get_objects())


@pytest.fixture
def imports(router: Router) -> ImportService:
    return ImportService(router.service)


def test_a_report_of_thousands_holds_no_objects_and_can_be_paged(imports: ImportService) -> None:
    before = living_queues()
    report = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)})
    assert living_queues() - before < FEW_OBJECTS
    assert report.counts == {"added": MANY, "changed": 0, "removed": 0}
    shown, more, total = report.page(2, "2")
    assert [line["object_id"] for line in shown] == ["customer-2", "customer-3"]
    assert (more, total) == ("4", MANY)
    assert report.page(5, None, text="CUSTOMER-2999")[2] == 1


def test_the_agent_works_on_a_report_while_it_is_validated_here(
    imports: ImportService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    preview, try_changes = ConfigService.preview, Running.try_changes

    def previewed(*given: Any) -> Any:
        found = preview(*given)
        answered.set()
        return found

    def tried(*given: Any) -> Any:
        assert answered.wait(10), "the agent was asked only after validation"
        return try_changes(*given)

    monkeypatch.setattr(ConfigService, "preview", previewed)
    monkeypatch.setattr(Running, "try_changes", tried)
    report = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)})
    assert report.preview is not None and report.preview["counts"]["added"] == MANY
    answered.clear()
    monkeypatch.setattr(Running, "try_changes", try_changes)
    report = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)}, preview=False)
    assert (report.preview, report.preview_reason) == (None, "It was not asked for.")
    assert not answered.is_set()


def test_a_commit_of_thousands_never_makes_all_objects_at_once(
    router: Router, imports: ImportService
) -> None:
    report = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)})
    before, during = living_queues(), []
    router.agent.behave = lambda moment: during.append(living_queues())
    committed = imports.commit(ANNA, report.id, "", None)
    assert during[0] - before < FEW_OBJECTS
    assert len(committed.changes) == MANY
    assert router.agent.kernel == router.running
    again = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)})
    assert not again.edits


def test_an_import_of_more_queues_than_there_is_room_for_is_counted_first_and_its_report_stays(
    router: Router, imports: ImportService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200,000 were read, compared, encoded and validated for a minute, and the report was lost."""
    router.agent.class_capacity = MANY - 1
    asked: list[str] = []
    router.agent.behave = asked.append
    report = imports.read(ANNA, "routeros", {"export.rsc": export(MANY)})
    words = f"There would be {MANY} queues, and this router has room for {MANY - 1}. Nothing was changed."
    assert ("error", "too-many-queues", words) in {
        (found.severity, found.code, found.message) for found in report.findings
    }
    assert report.preview_reason == words
    made: list[object] = []
    for name in ("at", "_of_queue"):
        monkeypatch.setattr(PackedChanges, name, lambda *given: made.append(given))
    with pytest.raises(Unsupported, match=words) as caught:
        imports.commit(ANNA, report.id, "", None)
    assert (caught.value.code, made, asked) == ("too-many-queues", [], [])
    monkeypatch.undo()
    assert imports.get(ANNA, report.id) is report
    router.agent.class_capacity = MANY
    imports.commit(ANNA, report.id, "", None)
    assert len(router.running) == MANY


def test_a_second_import_changes_what_differs_and_replaces_all_when_asked(
    router: Router, imports: ImportService
) -> None:
    router.put(queue("q9999"))
    imports.commit(ANNA, imports.read(ANNA, "routeros", {"a": export(MANY)}).id, "", None)
    report = imports.read(ANNA, "routeros", {"a": export(MANY - 1, "4M/4M")}, replace_all=True)
    assert report.counts == {"added": 0, "changed": MANY - 1, "removed": 2}
    imports.commit(ANNA, report.id, "", None)
    assert router.agent.kernel == router.running
    assert {item.max_limit_bps for item in router.running.values() if isinstance(item, Queue)} == {
        Pair(4_000_000, 4_000_000)
    }


def test_a_report_of_thousands_is_refused_when_the_configuration_moved_on(
    router: Router, imports: ImportService
) -> None:
    report = imports.read(ANNA, "routeros", {"a": export(MANY)})
    router.put(queue("q1"))
    with pytest.raises(Conflict, match="read the file again"):
        imports.commit(ANNA, report.id, "", None)
    router.agree()


def test_what_packed_edits_expect_is_checked_as_that_of_others(router: Router) -> None:
    """A queue that is there and one that is not: put and deleted, with each thing that can be expected."""
    router.put(queue("q1"))
    head = router.service.config.get(ANNA, "queue", "q1")
    edits = [
        Edit("queue", name, new, expects)
        for name in ("q1", "q2")
        for new in (Queue(name, name, comment="new"), None)
        for expects in (ABSENT, ANYTHING, head.etag, "r999")
    ]
    said = []
    for some in [*([edit] for edit in edits), [edits[1], edits[5]]]:
        both = [_refusal_of(router, given) for given in (some, PackedEdits(some))]
        assert both[0] == both[1]
        said.append(both[0])
    assert {kind for kind, _ in said} == {"", Conflict, NotFound, PreconditionFailed, Invalid}


def _refusal_of(router: Router, edits: Any) -> tuple[Any, str]:
    with (
        router.service.config.document(ANNA) as document,
        router.service.config._store.reading() as transaction,
    ):
        try:
            expected_changes_of(edits, document, transaction)
        except Problem as problem:
            return type(problem), problem.message
    return "", ""
