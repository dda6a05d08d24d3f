# SPDX-License-Identifier: Apache-2.0
"""Commits that undo themselves unless somebody who may decide confirms exactly them in time."""

from __future__ import annotations

import pytest

from tests.service.router import ANNA, Router, person, queue
from weir.model.problem import Conflict, Forbidden, Unavailable
from weir.service import ANYTHING, Committed, Edit, configuration
from weir.store.clock import wall_ms


def begin(router: Router, window_s: int = 60) -> Committed:
    router.put(queue("q1"))
    done = router.put(queue("q2"), confirm_within_s=window_s)
    assert done.confirm is not None
    return done


def token_of(done: Committed) -> str:
    assert done.confirm is not None
    return done.confirm.token


def test_with_the_token_anybody_who_may_write_confirms(router: Router) -> None:
    done = begin(router)
    pending = router.service.config.pending(ANNA)
    assert pending is not None and (pending.revision, pending.base_revision, pending.window_s) == (2, 1, 60)
    assert 55 < pending.seconds_left <= 60
    router.service.config.confirm(person("otto", "write", via="token"), done.revision, token_of(done))
    assert router.service.config.pending(ANNA) is None
    assert router.agent.settled == [1, 2, 2]
    router.put(queue("q3"))
    assert router.service.audit.list(ANNA, text="config.confirm")[0].actor == "otto"


def test_the_support_desk_keeps_and_takes_back_its_own_changes_only(router: Router) -> None:
    desk = person("desk", "support")
    done = begin(router)
    for settle in (
        lambda: router.service.config.confirm(desk, done.revision, token_of(done)),
        lambda: router.service.config.revert(desk),
    ):
        with pytest.raises(Forbidden, match="'anna'") as caught:
            settle()
        assert caught.value.code == "plans-only"
    router.service.config.confirm(ANNA, done.revision, token_of(done))
    edits = [Edit("queue", "q1", queue("q1", comment="asked twice"), ANYTHING)]
    own = router.service.config.commit(desk, edits, confirm_within_s=60)
    router.service.config.confirm(desk, own.revision, token_of(own))
    edits = [Edit("queue", "q1", queue("q1", comment="asked again"), ANYTHING)]
    router.service.config.commit(desk, edits, confirm_within_s=60)
    router.service.config.revert(desk)
    assert router.service.config.pending(ANNA) is None


def test_a_sign_in_after_the_commit_confirms_without_the_token(router: Router) -> None:
    done = begin(router)
    later = person("otto", "write", authenticated_at_ms=wall_ms() + 1000)
    router.service.config.confirm(later, done.revision)
    assert router.service.config.pending(ANNA) is None


@pytest.mark.parametrize(
    ("via", "offset_ms", "token", "code"),
    [
        ("session", -1000, None, "confirm-needs-proof"),
        ("token", 1000, None, "confirm-needs-proof"),
        ("session", 1000, "guess", "wrong-token"),
        ("session", -1000, "", "confirm-needs-proof"),
        ("session", -1000, "\ud800", "wrong-token"),
    ],
)
def test_without_proof_nobody_confirms(
    router: Router, via: str, offset_ms: int, token: str | None, code: str
) -> None:
    done = begin(router)
    who = person(via=via, authenticated_at_ms=wall_ms() + offset_ms)
    with pytest.raises(Forbidden) as caught:
        router.service.config.confirm(who, done.revision, token)
    assert caught.value.code == code
    assert router.service.config.pending(ANNA) is not None


def test_a_confirmation_is_for_one_revision_only(router: Router) -> None:
    done = begin(router)
    with pytest.raises(Conflict) as other:
        router.service.config.confirm(ANNA, done.revision + 1, token_of(done))
    assert other.value.code == "other-revision"
    router.service.config.confirm(ANNA, done.revision, token_of(done))
    with pytest.raises(Conflict) as again:
        router.service.config.confirm(ANNA, done.revision, token_of(done))
    assert again.value.code == "nothing-pending"


def test_a_token_of_an_earlier_commit_does_not_confirm_a_later_one(router: Router) -> None:
    first = begin(router)
    router.service.config.revert(ANNA)
    second = router.put(queue("q3"), confirm_within_s=60)
    with pytest.raises(Forbidden):
        router.service.config.confirm(ANNA, second.revision, token_of(first))


def test_other_commits_wait_until_it_is_decided(router: Router) -> None:
    begin(router)
    for attempt in (
        lambda: router.put(queue("q3")),
        lambda: router.delete("q1"),
        lambda: router.service.revisions.restore(ANNA, 0),
    ):
        with pytest.raises(Conflict) as caught:
            attempt()
        assert caught.value.code == "confirmation-pending"
    assert router.head == 2


def test_reverting_brings_the_base_back_at_once(router: Router) -> None:
    begin(router)
    done = router.service.config.revert(ANNA)
    assert done.revision == 3 and set(router.running) == {("queue", "q1")}
    revision = router.service.revisions.get(ANNA, 3)
    assert (revision.kind, revision.restores, revision.author) == ("rollback", 1, "anna")
    router.agree()
    with pytest.raises(Conflict):
        router.service.config.revert(ANNA)


def test_a_revert_that_the_agent_does_not_carry_out_leaves_the_timer_running(router: Router) -> None:
    begin(router)
    router.agent.__exit__()
    with pytest.raises(Unavailable):
        router.service.config.revert(ANNA)
    assert router.head == 2 and router.service.config.pending(ANNA) is not None


def test_a_confirmation_after_the_deadline_is_too_late(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = begin(router, window_s=5)
    now = configuration.boottime_ms()
    monkeypatch.setattr(configuration, "boottime_ms", lambda: now + 6_000)
    with pytest.raises(Conflict) as caught:
        router.service.config.confirm(ANNA, done.revision, token_of(done))
    assert caught.value.code == "too-late"
    assert router.service.config.pending(ANNA) is not None, "the rollback is still due"


def test_confirming_works_while_the_agent_is_away(router: Router) -> None:
    done = begin(router)
    router.agent.__exit__()
    router.service.config.confirm(ANNA, done.revision, token_of(done))
    assert router.service.config.pending(ANNA) is None


def test_the_token_is_not_in_the_files(router: Router) -> None:
    done = begin(router)
    for path in router.database.parent.iterdir():
        if path.is_file():
            assert token_of(done).encode() not in path.read_bytes()
