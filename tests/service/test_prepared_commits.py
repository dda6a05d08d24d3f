# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes are validated before the write lock. What is valid alone only never passes twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.service.router import ANNA, Router, person, queue, together
from weir.kinds.sets import Set, SetEntry
from weir.model import rules
from weir.model.document import Document
from weir.model.objects import Queue
from weir.model.problem import Conflict, Invalid, PreconditionFailed, Unavailable
from weir.model.rules import validate_all
from weir.service import ABSENT, Edit, commit, preparation, running_document, turn
from weir.service.running_document import Running
from weir.store import ConfigStore
from weir.store.checkpoint import Checkpointer

BOB = person("bob")


@pytest.fixture(autouse=True)
def three_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (commit, preparation, running_document):
        monkeypatch.setattr(module, "MANY", 2)


@pytest.fixture
def settled(router: Router) -> Router:
    """A parent with a child, and some more."""
    router.put(queue("q1", target=()), queue("q2", parent="q1"))
    router.put(queue("q3"), queue("q4"))
    return router


def put(router: Router, *items: Queue) -> Callable[[], object]:
    return lambda: router.service.config.commit(BOB, [Edit("queue", item.id, item) for item in items])


def many(*edits: Edit) -> Sequence[Edit]:
    """Enough that they are prepared."""
    return [*edits, *(Edit("queue", f"q{n}", queue(f"q{n}")) for n in range(50, 55))]


@contextmanager
def between(monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], object]) -> Iterator[list[object]]:
    """The next large commits let one action each pass after they were prepared, before they take the lock."""
    left, results = list(actions), list[object]()
    prepare = preparation.prepare

    def slow(*given: object) -> preparation.Prepared:
        prepared = prepare(*given)  # type: ignore[arg-type]
        if left:
            results.append(left.pop(0)())
        return prepared

    monkeypatch.setattr(commit, "prepare", slow)
    yield results
    monkeypatch.setattr(commit, "prepare", prepare)


def is_valid(router: Router) -> bool:
    document = Document(router.running.values())
    return not [found for found in validate_all(document) if found.severity == "error"]


CONTRADICTIONS = {
    "a parent goes, a child comes": (
        [Edit("queue", "q2", None), Edit("queue", "q1", None)],
        [queue("q9", parent="q1")],
    ),
    "a child comes, its parent goes": ([Edit("queue", "q9", queue("q9", parent="q3"))], None),
    "two of one name": ([Edit("queue", "q8", queue("q8", name="one"))], [queue("q9", name="one")]),
    "one is renamed, another gets the name": (
        [Edit("queue", "q3", queue("q3", name="one"))],
        [queue("q4", name="one")],
    ),
    "a loop of two halves": (
        [Edit("queue", "q3", queue("q3", parent="q4"))],
        [queue("q4", parent="q3")],
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_is_valid_alone_only_does_not_pass_together(
    settled: Router, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    edits, theirs = CONTRADICTIONS[name]
    head = settled.head

    def other() -> object:
        return settled.delete("q3") if theirs is None else put(settled, *theirs)()

    with between(monkeypatch, other), pytest.raises(Invalid) as caught:
        settled.service.config.commit(ANNA, many(*edits))
    assert any(found.severity == "error" for found in caught.value.findings)
    assert settled.head == head + 1, "theirs came first"
    assert is_valid(settled)
    settled.agree()


def test_a_single_change_passes_while_thousands_are_prepared(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    with between(monkeypatch, put(settled, queue("q4", comment="theirs"))) as theirs:
        done = settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    assert len(theirs) == 1
    assert done.revision == settled.head == 4
    assert settled.running["queue", "q4"].comment == "theirs"  # type: ignore[union-attr]
    assert settled.running["queue", "q3"].comment == "mine"  # type: ignore[union-attr]
    settled.agree()


@pytest.mark.parametrize("is_disabled", (False, True))
def test_objects_are_flagged_as_they_are_after_what_passed_meanwhile(
    router: Router, monkeypatch: pytest.MonkeyPatch, is_disabled: bool
) -> None:
    """Entries of a set that somebody disables while they are prepared have a warning."""
    monkeypatch.setattr(rules, "_FEW_CHANGES", 2)
    router.put(Set("blocked"), *(Set(f"s{n}") for n in range(5)))
    flagged = router.service.config.warned_ids(ANNA, "set-entry")
    entries = [SetEntry(f"e{n}", "blocked", f"10.0.{n}.0/24") for n in range(8)]
    theirs = [Edit("set", "blocked", Set("blocked", disabled=is_disabled, comment="theirs"))]
    with between(monkeypatch, lambda: router.service.config.commit(BOB, theirs)) as done:
        router.service.config.commit(ANNA, [Edit(item.kind, item.id, item) for item in entries])
    assert flagged == [] and len(done) == 1
    wanted = {item.id for item in entries} if is_disabled else set()
    assert set(router.service.config.warned_ids(ANNA, "set-entry")) == wanted


def test_nothing_is_validated_under_the_lock_again(settled: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look = preparation.tried

    def noted(*given: object) -> running_document.Trial:
        asked.append("locked" if settled.service.config._committer._turn.is_taken else "free")
        return look(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "tried", noted)
    settled.service.config.commit(ANNA, many())
    assert asked == ["free"]


def test_what_was_committed_meanwhile_is_validated_before_the_lock(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validating 1,400 single changes took the commit of 50,000 four seconds, in which all others waited."""
    looked: list[str] = []
    validate = preparation.validate

    def noted(*given: object) -> object:
        looked.append("locked" if settled.service.config._committer._turn.is_taken else "free")
        return validate(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(preparation, "validate", noted)
    with between(monkeypatch, put(settled, queue("q4", comment="theirs"))):
        settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    assert looked == ["free"]
    assert settled.running["queue", "q4"].comment == "theirs"  # type: ignore[union-attr]
    settled.agree()


def test_where_both_change_an_object_it_is_prepared_once_more(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = settled.service.config.get(ANNA, "queue", "q3").etag
    edits = many(Edit("queue", "q3", queue("q3", comment="mine"), etag))
    with between(monkeypatch, put(settled, queue("q3", comment="theirs"))), pytest.raises(PreconditionFailed):
        settled.service.config.commit(ANNA, edits)
    edits = many(Edit("queue", "q9", queue("q9"), ABSENT))
    with between(monkeypatch, put(settled, queue("q9"))), pytest.raises(Conflict) as caught:
        settled.service.config.commit(ANNA, edits)
    assert caught.value.code == "exists"
    settled.agree()


def test_a_commit_that_is_always_overtaken_is_made_under_the_lock_at_last(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [put(settled, queue("q3", comment=f"theirs {n}")) for n in range(preparation.ROUNDS)]
    with between(monkeypatch, *steps) as theirs:
        settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    assert len(theirs) == preparation.ROUNDS
    assert settled.running["queue", "q3"].comment == "mine"  # type: ignore[union-attr]
    settled.agree()


def test_a_candidate_that_is_changed_while_it_is_prepared_is_read_again(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = settled.service.candidates
    staged.stage(ANNA, many())
    with between(monkeypatch, lambda: staged.stage(ANNA, [Edit("queue", "q60", queue("q60"))])):
        staged.commit(ANNA, "")
    assert ("queue", "q60") in settled.running and staged.get(ANNA) is None
    staged.stage(ANNA, [Edit("queue", f"q{n}", queue(f"q{n}", comment="late")) for n in range(50, 55)])
    with (
        between(monkeypatch, put(settled, queue("q51", comment="theirs"))),
        pytest.raises(Conflict) as caught,
    ):
        staged.commit(ANNA, "")
    assert [found.id for found in caught.value.findings] == ["q51"]
    settled.agree()


def test_a_revision_that_is_restored_is_compared_with_the_head_that_it_replaces(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled.service.config.commit(ANNA, many())
    with between(monkeypatch, put(settled, queue("q70"))) as theirs:
        settled.service.revisions.restore(ANNA, 2)
    assert len(theirs) == 1
    assert {object_id for _, object_id in settled.running} == {"q1", "q2", "q3", "q4"}
    settled.agree()


def moments(router: Router, *forgetful: int) -> list[str]:
    """What the agent is asked, from now on; at these places in the list it knows nothing of a preparation."""
    seen: list[str] = []

    def note(moment: str) -> None:
        if len(seen) in forgetful:
            router.agent.prepared.clear()
        seen.append(moment)

    router.agent.behave = note
    return seen


def test_a_single_change_passes_while_the_agent_prepares_thousands(settled: Router) -> None:
    seen: list[str] = []

    def meanwhile(moment: str) -> None:
        seen.append(moment)
        if moment == "prepare":
            put(settled, queue("q4", comment="theirs"))()

    settled.agent.behave = meanwhile
    settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    single = ["before-apply", "after-apply", "settle"]
    assert seen == ["prepare", *single, *single]
    assert settled.running["queue", "q4"].comment == "theirs"  # type: ignore[union-attr]
    assert settled.running["queue", "q3"].comment == "mine"  # type: ignore[union-attr]
    settled.agree()


def test_an_agent_that_forgot_what_it_prepared_is_asked_once_more(settled: Router) -> None:
    seen = moments(settled, 1)
    settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    assert seen == ["prepare", "before-apply", "prepare", "before-apply", "after-apply", "settle"]
    assert settled.head == 3
    settled.agree()


def test_an_agent_that_always_forgets_gets_the_changes_under_the_lock_at_last(settled: Router) -> None:
    seen = moments(settled, 1, 3, 5)
    settled.service.config.commit(ANNA, many(Edit("queue", "q3", queue("q3", comment="mine"))))
    tried = ["prepare", "before-apply"] * preparation.ROUNDS
    assert seen == [*tried, "before-apply", "after-apply", "settle"]
    assert settled.head == 3
    settled.agree()


@pytest.mark.parametrize("seed", range(4))
def test_commits_at_once_leave_a_valid_configuration_in_any_order(router: Router, seed: int) -> None:
    """Writers add children, remove parents, rename and move at once, in commits of few and of many."""
    generator = random.Random(seed)
    router.put(*(queue(f"q{n}", target=()) for n in range(1, 7)), *(queue(f"q{n}") for n in range(10, 16)))
    plans = [[_edits(generator) for _ in range(6)] for _ in range(4)]

    def work(plan: list[list[Edit]]) -> Callable[[], object]:
        def run() -> int:
            made = 0
            for edits in plan:
                try:
                    router.service.config.commit(ANNA, edits)
                    made += 1
                except (Invalid, Conflict, PreconditionFailed):
                    continue
                except Exception as error:
                    if getattr(error, "code", "") != "not-found":
                        raise
            return made

        return run

    results = together(*map(work, plans))
    assert all(isinstance(result, int) for result in results), results
    assert sum(results) > 0  # type: ignore[arg-type]
    assert is_valid(router)
    router.agree()


def _edits(generator: random.Random) -> list[Edit]:
    found: dict[str, Edit] = {}
    for _ in range(generator.choice((1, 4, 6))):
        number = generator.randrange(10, 30)
        what = generator.random()
        if what < 0.25:
            parent = f"q{generator.randrange(1, 7)}"
            found[parent] = Edit("queue", parent, None)
        elif what < 0.7:
            item = queue(f"q{number}", parent=f"q{generator.randrange(1, 7)}")
            found[item.id] = Edit("queue", item.id, item)
        else:
            item = queue(f"q{number}", name=f"name {generator.randrange(4)}")
            found[item.id] = Edit("queue", item.id, item)
    return list(found.values())


def test_who_waits_for_thousands_of_changes_is_told_how_long(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("WAIT_S", 0.05), ("MAX_WAIT_S", 0.05), ("MANY", 2), ("FIRST_GUESS_S", 2.0)):
        monkeypatch.setattr(turn, name, value)
    settled.service.config._committer._turn = turn.Turn()
    entered, release = threading.Event(), threading.Event()
    settled.agent.behave = lambda at: at == "before-apply" and (entered.set(), release.wait(20))  # type: ignore[assignment,return-value]
    large = threading.Thread(target=lambda: settled.service.config.commit(ANNA, many()))
    large.start()
    assert entered.wait(20)
    with pytest.raises(
        Unavailable, match=r"a commit of 5 changes is being written for .* about 10 s"
    ) as caught:
        settled.put(queue("q4", comment="late"))
    assert caught.value.code == "store-busy" and caught.value.retry_after_s in (9, 10)
    settled.agent.behave = lambda at: None
    release.set()
    large.join()
    settled.agree()


class Watched(list[Edit]):
    """Edits that note, whenever they are gone through, whether somebody else could look meanwhile."""

    def watch(self, running: Running) -> None:
        self.running, self.could_look = running, list[bool]()

    def __iter__(self) -> Iterator[Edit]:
        looking = threading.Thread(target=self._look)
        looking.start()
        looking.join(2)
        self.could_look.append(not looking.is_alive())
        return super().__iter__()

    def _look(self) -> None:
        with self.running.document():
            pass


def test_nobody_waits_while_thousands_of_edits_are_looked_at(settled: Router) -> None:
    """Comparing 50,000 edits with the document took two seconds, in which no queue could be read."""
    edits = Watched(many())
    edits.watch(running_of(settled))
    settled.service.config.commit(ANNA, edits)
    assert edits.could_look and all(edits.could_look)


def test_who_looks_right_after_a_large_commit_reads_nothing_of_it_from_the_store(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried already; reading 50,000 changes took 20 s, during which nobody else could look."""
    seen: list[object] = []
    read: list[int] = []
    since = ConfigStore.changes_since

    def look(*_: object) -> None:
        with running_of(settled).document() as document:
            seen.append(document.get("queue", "q54"))

    def counted(store: ConfigStore, revision: int) -> object:
        read.append(revision)
        return since(store, revision)

    monkeypatch.setattr(Checkpointer, "committed", look)
    monkeypatch.setattr(ConfigStore, "changes_since", counted)
    settled.service.config.commit(ANNA, many())
    assert seen[0] == queue("q54")
    assert read == []


def test_a_large_commit_that_cannot_be_written_leaves_nothing_of_it(
    settled: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise Unavailable("the disk is full", code="store-full")

    with monkeypatch.context() as patched:
        patched.setattr(commit, "_arm", full)
        with pytest.raises(Unavailable):
            settled.service.config.commit(ANNA, many())
    with running_of(settled).document() as document:
        assert document.get("queue", "q54") is None
    settled.service.config.commit(ANNA, many())
    with running_of(settled).document() as document:
        assert document.get("queue", "q54") == queue("q54")


def running_of(router: Router) -> Running:
    return router.service._running
