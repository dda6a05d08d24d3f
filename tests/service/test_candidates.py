# SPDX-License-Identifier: Apache-2.0
"""Candidates: collected, compared, kept apart per user, and never committed over somebody else's change."""

from __future__ import annotations

import time

import pytest

from tests.service.router import ANNA, Router, person, queue
from weir.model.problem import Conflict, Invalid, NotFound, PreconditionFailed
from weir.service import ABSENT, ANYTHING, Edit, Listing, Service

OTTO = person("otto", "write")


def edit(object_id: str, expects: str = ANYTHING, **fields: object) -> Edit:
    return Edit("queue", object_id, queue(object_id, **fields), expects)


def remove(object_id: str, expects: str = ANYTHING) -> Edit:
    return Edit("queue", object_id, None, expects)


def test_a_candidate_is_staged_compared_validated_and_committed(router: Router) -> None:
    router.put(queue("q1"), queue("q2"))
    candidates = router.service.candidates
    view = candidates.stage(ANNA, [edit("q1", comment="new"), edit("q3"), remove("q2")])
    assert (view.base_revision, view.summary.conflict_count) == (1, 0)
    assert view.summary.kinds == {"queue": 3}
    assert router.head == 1 and candidates.get(OTTO) is None
    diff = candidates.diff(ANNA)
    assert {(item.id, item.action) for item in diff.diff.objects} == {
        ("q1", "change"),
        ("q2", "remove"),
        ("q3", "add"),
    }
    assert diff.effect is not None and diff.effect.preview is not None
    assert diff.effect.preview["counts"]["added"] == 3
    validated = candidates.validate(ANNA)
    assert validated.findings == [] and validated.preview == diff.effect.preview
    done = candidates.commit(ANNA, "all at once")
    assert done.revision == 2 and candidates.get(ANNA) is None
    router.agree()


def test_others_see_who_has_staged_a_change_of_an_object_and_not_what(router: Router) -> None:
    router.put(queue("q1"), queue("q2"))
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1", comment="anna's")])
    candidates.stage(OTTO, [remove("q1"), edit("q2")])
    (found,) = candidates.others(ANNA, "queue", "q1")
    assert (found.owner, found.deletes) == ("otto", True)
    assert abs(found.staged_at_ms / 1000 - time.time()) < 60
    assert [other.owner for other in candidates.others(OTTO, "queue", "q1")] == ["anna"]
    assert candidates.others(OTTO, "queue", "q2") == []
    assert candidates.others(ANNA, "interface", "q1") == []
    candidates.discard(OTTO)
    assert candidates.others(ANNA, "queue", "q1") == []
    assert [other.owner for other in candidates.others(OTTO, "queue", "q1")] == ["anna"]
    candidates.discard(ANNA)
    assert candidates.others(OTTO, "queue", "q1") == []
    assert candidates.get(ANNA) is None


@pytest.mark.parametrize("removed", [False, True])
def test_a_conflict_names_who_changed_or_removed_the_object(router: Router, removed: bool) -> None:
    router.put(queue("q1"))
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1", comment="anna's")])
    candidates.stage(OTTO, [remove("q1") if removed else edit("q1", comment="otto's")])
    candidates.commit(OTTO, "quicker")
    view = candidates.get(ANNA)
    assert view is not None
    (found,) = view.summary.conflicts
    assert (found.kind, found.id, found.author) == ("queue", "q1", "otto")
    assert found.at_ms is not None and abs(found.at_ms / 1000 - time.time()) < 60
    with pytest.raises(Conflict) as refused:
        candidates.commit(ANNA, "slower")
    assert [finding.message for finding in refused.value.findings] == ["otto changed it meanwhile"]


def test_a_candidate_survives_a_restart(router: Router) -> None:
    router.service.candidates.stage(ANNA, [edit("q1")])
    again = Service.open(router.database, router.agent.socket)
    objects = again.candidates.diff(ANNA).diff.objects
    assert [item.change.new for item in objects] == [queue("q1")]
    again.close()


def test_users_do_not_see_or_commit_each_others_changes(router: Router) -> None:
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1")])
    candidates.stage(OTTO, [edit("q2")])
    candidates.commit(OTTO, "")
    assert set(router.running) == {("queue", "q2")}
    candidates.commit(ANNA, "")
    assert set(router.running) == {("queue", "q1"), ("queue", "q2")}


def test_other_peoples_commits_rebase_it_silently_unless_they_touch_the_same_object(router: Router) -> None:
    router.put(queue("q1"), queue("q2"))
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1", comment="mine")])
    router.put(queue("q2", comment="theirs"))
    view = candidates.get(ANNA)
    assert view is not None and view.summary.conflict_count == 0
    router.put(queue("q1", comment="theirs"))
    view = candidates.get(ANNA)
    assert view is not None and view.summary.conflict_count == 1
    with pytest.raises(Conflict) as caught:
        candidates.commit(ANNA, "")
    assert caught.value.code == "candidate-conflict"
    assert [(finding.kind, finding.id) for finding in caught.value.findings] == [("queue", "q1")]
    assert router.head == 3 and candidates.get(ANNA) is not None


@pytest.mark.parametrize(("keep", "comment"), [("mine", "mine"), ("theirs", "theirs")])
def test_a_conflict_is_resolved_by_saying_whose_stays(router: Router, keep: str, comment: str) -> None:
    router.put(queue("q1"))
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1", comment="mine"), edit("q5")])
    router.put(queue("q1", comment="theirs"))
    view = candidates.resolve(ANNA, keep)  # type: ignore[arg-type]
    assert (view.summary.conflict_count, view.base_revision) == (0, 2)
    candidates.commit(ANNA, "")
    assert router.running["queue", "q1"] == queue("q1", comment=comment)
    assert ("queue", "q5") in router.running


@pytest.mark.parametrize("theirs", ["delete", "create"])
def test_creating_and_deleting_conflict_too(router: Router, theirs: str) -> None:
    candidates = router.service.candidates
    if theirs == "delete":
        router.put(queue("q1"))
    candidates.stage(ANNA, [edit("q1", comment="mine")])
    if theirs == "delete":
        router.delete("q1")
    else:
        router.put(queue("q1", comment="theirs"))
    with pytest.raises(Conflict):
        candidates.commit(ANNA, "")
    candidates.resolve(ANNA, "mine")
    candidates.commit(ANNA, "")
    assert router.running["queue", "q1"] == queue("q1", comment="mine")


def test_a_staged_delete_of_what_others_deleted_does_no_harm(router: Router) -> None:
    router.put(queue("q1"))
    candidates = router.service.candidates
    candidates.stage(ANNA, [remove("q1"), edit("q2")])
    router.delete("q1")
    candidates.resolve(ANNA, "mine")
    candidates.commit(ANNA, "")
    assert set(router.running) == {("queue", "q2")}


def test_etags_hold_within_a_candidate(router: Router) -> None:
    router.put(queue("q1"))
    candidates = router.service.candidates
    running = candidates.stored(ANNA, "queue", "q1")
    assert running.etag == "r1"
    candidates.stage(ANNA, [edit("q1", running.etag, comment="a")])
    staged = candidates.stored(ANNA, "queue", "q1")
    assert staged.etag != running.etag and staged.object == queue("q1", comment="a")
    with pytest.raises(PreconditionFailed):
        candidates.stage(ANNA, [edit("q1", running.etag, comment="b")])
    candidates.stage(ANNA, [remove("q1", staged.etag)])
    with pytest.raises(NotFound):
        candidates.stored(ANNA, "queue", "q1")
    with pytest.raises(NotFound):
        candidates.stage(ANNA, [remove("q1")])
    candidates.stage(ANNA, [edit("q1", ABSENT)])
    with pytest.raises(Conflict):
        candidates.stage(ANNA, [edit("q1", ABSENT)])


def test_what_was_only_ever_staged_disappears_without_a_trace(router: Router) -> None:
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1")])
    assert candidates.stage(ANNA, [remove("q1")]).change_count == 0


def test_a_refused_stage_changes_nothing(router: Router) -> None:
    candidates = router.service.candidates
    with pytest.raises(NotFound):
        candidates.stage(ANNA, [edit("q1"), remove("q9")])
    assert candidates.get(ANNA) is None


def test_an_invalid_candidate_stays_to_be_mended(router: Router) -> None:
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q1", parent="q9")])
    assert [finding.severity for finding in candidates.validate(ANNA).findings] == ["error"]
    effect = candidates.diff(ANNA).effect
    assert effect is not None and effect.preview is None
    with pytest.raises(Invalid):
        candidates.commit(ANNA, "")
    candidates.stage(ANNA, [edit("q9")])
    candidates.commit(ANNA, "")
    assert len(router.running) == 2


def test_a_refused_commit_keeps_the_candidate(router: Router) -> None:
    router.service.candidates.stage(ANNA, [edit("q1")])
    router.agent.refuse = "no"
    with pytest.raises(Exception, match="no"):
        router.service.candidates.commit(ANNA, "")
    assert router.service.candidates.get(ANNA) is not None and router.head == 0


def test_moving_stages_positions_as_the_candidate_sees_them(router: Router) -> None:
    router.put(queue("q1", position=10), queue("q2", position=20))
    candidates = router.service.candidates
    candidates.stage(ANNA, [edit("q3", position=30)])
    candidates.move(ANNA, "q3", "q1")
    assert set(router.running) == {("queue", "q1"), ("queue", "q2")}
    candidates.commit(ANNA, "")
    page = router.service.config.page(ANNA, Listing("queue"))
    assert [item.id for item in page.items] == ["q3", "q1", "q2"]


def test_unstage_discard_and_open(router: Router) -> None:
    candidates = router.service.candidates
    for attempt in (
        lambda: candidates.discard(ANNA),
        lambda: candidates.diff(ANNA),
        lambda: candidates.validate(ANNA),
        lambda: candidates.commit(ANNA, ""),
        lambda: candidates.resolve(ANNA, "mine"),
        lambda: candidates.unstage(ANNA, "queue", "q1"),
    ):
        with pytest.raises(NotFound) as caught:
            attempt()
        assert caught.value.code == "no-candidate"
    candidates.open(ANNA)
    candidates.stage(ANNA, [edit("q1"), edit("q2")])
    assert candidates.open(ANNA).change_count == 2
    assert candidates.unstage(ANNA, "queue", "q1").change_count == 1
    assert [item.id for item in candidates.diff(ANNA).diff.objects] == ["q2"]
    with pytest.raises(NotFound):
        candidates.unstage(ANNA, "queue", "q1")
    candidates.discard(ANNA)
    assert candidates.get(ANNA) is None and router.head == 0


def test_an_empty_candidate_commits_to_nothing(router: Router) -> None:
    router.service.candidates.open(ANNA)
    assert router.service.candidates.commit(ANNA, "").revision == 0
    assert router.service.candidates.get(ANNA) is None
