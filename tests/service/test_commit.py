# SPDX-License-Identifier: Apache-2.0
"""The commit protocol: whatever the agent does, all or nothing, and everybody agrees afterwards."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.service.router import ANNA, Router, person, queue, together, wait_until
from weir.model.objects import Pair
from weir.model.problem import (
    ApplyFailed,
    Conflict,
    Invalid,
    NotFound,
    PreconditionFailed,
    Problem,
    Unavailable,
)
from weir.service import ABSENT, Edit, Listing, commit
from weir.store import ConfigStore
from weir.store.steady import SteadyDatabase


def test_a_commit_is_in_store_kernel_and_history(router: Router) -> None:
    done = router.put(queue("q1"), queue("q2", parent="q1"), message="two queues")
    assert (done.revision, len(done.changes), done.applied["settled"]) == (1, 2, True)
    router.agree()
    assert router.agent.settled == [1]
    revision = router.service.revisions.get(ANNA, 1)
    assert (revision.author, revision.source, revision.message) == ("anna", "192.0.2.9", "two queues")
    assert router.service.audit.list(ANNA)[0].action == "config.commit"


def test_putting_what_is_there_already_writes_no_revision(router: Router) -> None:
    router.put(queue("q1"))
    assert router.put(queue("q1")).revision == 1
    assert (router.head, router.agent.settled) == (1, [1])


def test_an_error_of_validation_names_the_field_and_changes_nothing(router: Router) -> None:
    with pytest.raises(Invalid) as caught:
        router.put(queue("q1", parent="nobody"))
    assert caught.value.path == "queue/q1/parent"
    assert router.head == 0 and router.running == {}
    router.put(queue("q1"))
    router.agree()


def test_a_warning_comes_with_the_answer(router: Router) -> None:
    done = router.put(queue("q1", max_limit_bps=Pair(400, 400)))
    assert {finding.severity for finding in done.findings} <= {"warning", "notice"} and done.findings
    assert router.service.config.warned_ids(ANNA) == ["q1"]
    assert [item.id for item in router.service.config.page(ANNA, Listing("queue", warned=True)).items] == [
        "q1"
    ]
    assert router.service.config.page(ANNA, Listing("queue", warned=False)).total == 0
    router.put(queue("q1", max_limit_bps=Pair(10**6, 10**6)))
    assert router.service.config.warned_ids(ANNA) == []


def test_one_object_twice_in_a_commit_is_refused(router: Router) -> None:
    with pytest.raises(Invalid) as caught:
        router.put(queue("q1"), queue("q1", comment="x"))
    assert caught.value.code == "edited-twice"


def test_etags_protect_what_somebody_else_changed(router: Router) -> None:
    router.put(queue("q1"), expects=ABSENT)
    with pytest.raises(Conflict) as exists:
        router.put(queue("q1"), expects=ABSENT)
    assert exists.value.code == "exists"
    etag = router.service.config.get(ANNA, "queue", "q1").etag
    router.put(queue("q1", comment="first"), expects=etag)
    with pytest.raises(PreconditionFailed):
        router.put(queue("q1", comment="second"), expects=etag)
    with pytest.raises(PreconditionFailed):
        router.delete("q1", expects=etag)
    router.put(queue("q2"))
    router.delete("q1", expects=router.service.config.get(ANNA, "queue", "q1").etag)
    with pytest.raises(NotFound):
        router.put(queue("q1"), expects=etag)
    with pytest.raises(NotFound):
        router.delete("q1")
    router.agree()


def test_of_racing_writers_with_one_etag_exactly_one_wins(router: Router) -> None:
    router.put(queue("q1"))
    etag = router.service.config.get(ANNA, "queue", "q1").etag
    writes = [lambda n=n: router.put(queue("q1", comment=f"writer {n}"), expects=etag) for n in range(6)]
    results = together(*writes)
    assert sum(isinstance(result, PreconditionFailed) for result in results) == 5
    assert router.head == 2
    router.agree()


def test_concurrent_commits_of_different_objects_all_happen_one_by_one(router: Router) -> None:
    results = together(*(lambda n=n: router.put(queue(f"q{n}")) for n in range(1, 9)))
    assert not [result for result in results if isinstance(result, BaseException)]
    assert router.head == 8 and len(router.running) == 8
    assert router.agent.settled == list(range(1, 9))
    router.agree()


def test_new_ids_are_never_given_twice(router: Router) -> None:
    router.put(queue("q7"), queue("q9"))
    router.delete("q9")
    ids = together(*(lambda: router.service.config.new_queue_id(ANNA) for _ in range(8)))
    assert sorted(map(str, ids)) == sorted(f"q{number}" for number in range(10, 18))


def test_a_refusing_kernel_leaves_everything_as_it_was(router: Router) -> None:
    router.put(queue("q1"))
    router.agent.refuse = "no room for a class"
    with pytest.raises(ApplyFailed, match="no room"):
        router.put(queue("q2"))
    assert (router.head, set(router.running)) == (1, {("queue", "q1")})
    router.agent.refuse = None
    router.put(queue("q3"))
    assert router.head == 2
    router.agree()


def test_without_an_agent_reads_work_and_writes_say_so(router: Router) -> None:
    router.put(queue("q1"))
    router.agent.__exit__()
    with pytest.raises(Unavailable) as caught:
        router.put(queue("q2"))
    assert caught.value.code == "agent-down"
    assert router.head == 1 and router.service.config.get(ANNA, "queue", "q1").etag == "r1"
    router.service.candidates.stage(ANNA, [Edit("queue", "q2", queue("q2"))])
    effect = router.service.candidates.diff(ANNA).effect
    assert effect is not None and effect.preview is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("moment", ["before-apply", "after-apply"])
def test_an_agent_that_dies_before_it_answers_undoes_the_commit(router: Router, moment: str) -> None:
    router.put(queue("q1"))

    def die(at: str) -> None:
        if at == moment:
            raise SystemExit

    router.agent.behave = die
    with pytest.raises(Unavailable):
        router.put(queue("q2"))
    assert router.head == 1 and ("queue", "q2") not in router.running
    router.agent.behave = lambda at: None
    router.agree()
    router.put(queue("q3"))
    router.agree()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_agent_that_dies_at_settle_leaves_the_new_revision(router: Router) -> None:
    router.put(queue("q1"))

    def die(at: str) -> None:
        if at == "settle":
            raise SystemExit

    router.agent.behave = die
    done = router.put(queue("q2"))
    assert (done.revision, done.applied["settled"]) == (2, False)
    router.agent.behave = lambda at: None
    wait_until(lambda: router.agent.reconciled > 0, "the agent did not ask the store")
    router.agree()


def test_an_agent_that_takes_too_long_undoes_the_commit(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    router.put(queue("q1"))
    released = threading.Event()
    router.agent.behave = lambda at: None if at == "settle" else bool(released.wait(60)) and None
    monkeypatch.setattr(commit, "APPLY_TIMEOUT_S", 0.1)
    with pytest.raises(Unavailable) as caught:
        router.put(queue("q2"))
    assert caught.value.code == "agent-timeout"
    assert router.head == 1
    released.set()
    wait_until(lambda: router.agent.reconciled > 0, "the agent did not reconcile")
    router.agree()


def test_a_disk_that_fills_up_at_commit_undoes_the_kernel(router: Router) -> None:
    router.put(queue("q1"))
    store = router.service._store._database
    assert isinstance(store, SteadyDatabase) and store._held is not None
    writer = store._held.database._writer
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Unavailable) as caught:
        router.put(*(queue(f"q{n}", comment="x" * 900) for n in range(2, 200)))
    assert caught.value.code == "store-full"
    assert router.head == 1
    writer.execute("PRAGMA max_page_count = 1000000")
    router.agree()
    router.put(queue("q2"))
    router.agree()


def test_another_process_that_writes_is_followed(router: Router) -> None:
    """The agent's rollback timer commits on its own; the service notices at the next look."""
    router.put(queue("q1"))
    done = router.put(queue("q2"), confirm_within_s=60)
    other = ConfigStore.open(router.database)
    with other.write() as transaction:
        transaction.roll_back_pending()
    other.close()
    assert set(router.running) == {("queue", "q1")}
    assert router.service.config.pending(ANNA) is None
    with pytest.raises(Conflict):
        router.service.config.confirm(ANNA, done.revision, done.confirm.token if done.confirm else None)
    router.put(queue("q3"))
    router.agree()
    noted = [
        (entry.actor, entry.subject) for entry in router.service.audit.list(ANNA, text="config.rollback")
    ]
    assert noted == [("rollback timer", "revision 3")]


def test_reads_do_not_wait_for_a_commit_that_is_being_applied(router: Router) -> None:
    router.put(queue("q1"))
    entered, release = threading.Event(), threading.Event()

    def wait(at: str) -> None:
        if at == "before-apply":
            entered.set()
            release.wait(60)

    router.agent.behave = wait
    thread = threading.Thread(target=lambda: router.put(queue("q2")))
    thread.start()
    assert entered.wait(60)
    assert router.head == 1
    assert [item.id for item in router.service.config.page(ANNA, Listing("queue")).items] == ["q1"]
    assert router.service.config.check(ANNA, [Edit("queue", "q3", queue("q3", parent="zz"))])
    assert router.service.auth.bootstrap(), "accounts are written meanwhile"
    release.set()
    thread.join()
    assert router.head == 2


def test_moving_a_queue_changes_only_its_position(router: Router) -> None:
    router.put(*(queue(f"q{n}", position=n * 10) for n in range(1, 5)))
    done = router.service.config.move(ANNA, "q4", "q2")
    assert [change.id for change in done.changes] == ["q4"]
    page = router.service.config.page(ANNA, Listing("queue"))
    assert [item.id for item in page.items] == ["q1", "q4", "q2", "q3"]
    with pytest.raises(PreconditionFailed):
        router.service.config.move(ANNA, "q4", None, expects="r1")
    with pytest.raises(NotFound):
        router.service.config.move(ANNA, "q99", None)
    router.agree()


def test_restoring_brings_a_revision_back_as_a_new_one(router: Router) -> None:
    router.put(queue("q1"), queue("q2"))
    router.put(queue("q1", comment="changed"))
    router.delete("q2")
    done = router.service.revisions.restore(ANNA, 1)
    assert done.revision == 4
    assert router.service.revisions.get(ANNA, 4).restores == 1
    assert router.service.revisions.diff(ANNA, 1, 4).objects == []
    router.agree()
    with pytest.raises(NotFound):
        router.service.revisions.restore(ANNA, 99)


def test_history_and_diff_tell_fields(router: Router) -> None:
    first = queue("q1", max_limit_bps=Pair(10**6, 10**6))
    router.put(first)
    router.put(queue("q2"))
    router.put(replace(first, max_limit_bps=Pair(10**6, 2 * 10**6)))
    router.delete("q1")
    entries = router.service.revisions.history(ANNA, "queue", "q1")
    assert [entry.revision.number for entry in entries] == [4, 3, 1]
    assert [(item.field, item.old, item.new) for item in entries[1].diff.fields] == [
        ("max_limit_bps.download", 10**6, 2 * 10**6)
    ]
    assert [
        entry.revision.number for entry in router.service.revisions.history(ANNA, "queue", "q1", 1, 4)
    ] == [3]
    diff = router.service.revisions.diff(ANNA, 1, 4)
    assert [(item.action, item.id) for item in diff.objects] == [("remove", "q1"), ("add", "q2")]


def test_bounds_of_message_and_window_are_checked(router: Router) -> None:
    for options in ({"message": "x" * 3000}, {"confirm_within_s": 0}, {"confirm_within_s": 10**9}):
        with pytest.raises(Invalid):
            router.put(queue("q1"), **options)
    assert router.head == 0


def test_a_defect_in_between_leaves_nothing_half_done(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    router.put(queue("q1"))

    def broken(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("defect")

    with monkeypatch.context() as patched:
        patched.setattr("weir.service.commit._arm", broken)
        with pytest.raises(RuntimeError):
            router.put(queue("q2"))
    router.put(queue("q3"))
    assert set(router.running) == {("queue", "q1"), ("queue", "q3")}
    router.agree()


def test_a_reader_may_not_write_through_any_door(router: Router) -> None:
    reader = person("rita", "read")
    config = router.service.config
    for attempt in (
        lambda: config.commit(reader, []),
        lambda: config.move(reader, "q1", None),
        lambda: config.confirm(reader, 1),
        lambda: config.revert(reader),
        lambda: router.service.candidates.stage(reader, []),
        lambda: router.service.candidates.commit(reader, ""),
        lambda: router.service.revisions.restore(reader, 0),
    ):
        with pytest.raises(Problem) as caught:
            attempt()
        assert caught.value.code == "forbidden"


def test_commits_that_wait_leave_connections_to_the_agent_for_others(router: Router) -> None:
    entered, release = threading.Event(), threading.Event()

    def wait(at: str) -> None:
        if at == "before-apply":
            entered.set()
            release.wait(60)

    router.agent.behave = wait
    threads = [threading.Thread(target=lambda n=n: router.put(queue(f"q{n}"))) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    assert entered.wait(60)
    for _ in range(3):  # four connections, one of them with the commit
        assert router.service.agent.call("status")["state"] == "ok"
    release.set()
    for thread in threads:
        thread.join()
    assert router.head == 8


def test_what_was_made_for_a_revision_is_committed_on_that_revision_only(router: Router) -> None:
    router.put(queue("q1"))
    edits = [Edit("queue", "q2", queue("q2"))]
    router.service.config.commit(ANNA, edits, expected_head=1)
    with pytest.raises(Conflict) as caught:
        router.service.config.commit(ANNA, [Edit("queue", "q3", queue("q3"))], expected_head=1)
    assert caught.value.code == "outdated"
    assert router.head == 2
