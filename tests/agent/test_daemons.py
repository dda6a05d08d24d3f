# SPDX-License-Identifier: Apache-2.0
"""A supervised daemon that is changed, refuses its file, hangs, or dies."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_parts import MirrorBackend, configured
from tests.agent.toy_backend import ToyBackend
from tests.compiler.test_parts_of_a_plan import WIDER
from tests.polling import until
from weir.adapters.daemon import SAID_BYTES, Daemon, Program
from weir.backends.backend import Comparison, Look
from weir.backends.daemons import ANSWER_S, SETTLED_S, DaemonDifference
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.problem import ApplyFailed, Problem, Unavailable
from weir.parts.effect import Sessions
from weir.parts.explained import Line
from weir.parts.part import EntriesPart, Parts

BOUND_S = 3 * SETTLED_S
"""A refusal and the way back, on a machine that others use as well."""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[ToyBackend]:
    found = ToyBackend(tmp_path)
    yield found
    found.daemon.stop()


def test_it_runs_as_long_as_it_has_something_to_do(toy: ToyBackend) -> None:
    assert toy.daemon.identity() is None and not toy.diff(toy.read(), "")
    toy.bring("one")
    assert toy.ask()["has"] == "one"
    assert not toy.diff(toy.read(), "one"), "nothing is left to do"
    toy.bring("")
    assert toy.daemon.identity() is None
    assert not toy.diff(toy.read(), "")


def test_a_changed_file_is_read_again_by_the_same_process(toy: ToyBackend) -> None:
    toy.bring("one")
    before = toy.ask()
    toy.bring("two")
    assert toy.ask() == {"has": "two", "reads": before["reads"] + 1, "pid": before["pid"]}


def test_a_late_answer_after_a_change_is_waited_for_and_none_is_told(
    toy: ToyBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit was rolled back with "it has not what its files say" where it had not been asked in time."""
    difference = toy.diff(toy.read(), "one")
    toy.apply(difference)
    late = iter([Unavailable("late"), Unavailable("late")])

    def answer(_timeout_s: float) -> object:
        for problem in late:
            raise problem
        return "one"

    monkeypatch.setattr(toy, "loaded", answer)
    toy.verify(difference)
    assert next(late, None) is None, "it was asked again"
    monkeypatch.setattr(toy, "loaded", lambda _timeout_s: "two")
    with pytest.raises(ApplyFailed, match="has not what its files say"):
        toy.verify(difference)
    os.kill(toy.ask()["pid"], signal.SIGSTOP)
    monkeypatch.undo()
    with pytest.raises(ApplyFailed, match="does not answer"):
        toy.verify(difference)


def test_it_outlives_the_agent_which_finds_it_again(toy: ToyBackend, tmp_path: Path) -> None:
    toy.bring("one")
    later = ToyBackend(tmp_path)
    assert later.daemon.identity() == toy.daemon.identity()
    assert not later.diff(later.read(), "one")


def test_a_file_that_its_checker_refuses_is_never_seen_by_it(toy: ToyBackend) -> None:
    toy.bring("one")
    before = toy.ask()
    with pytest.raises(ApplyFailed, match=r"toy refuses its files: .*refuse is no word") as refused:
        toy.bring("refuse")
    assert refused.value.code == "daemon-refused"
    assert toy.ask() == before
    assert not toy.diff(toy.read(), "one"), "its files are as before"


@pytest.mark.parametrize(
    ("word", "code", "said"),
    [
        ("hang", "daemon-hangs", "I stop here"),
        ("die", "daemon-died", "out of cheese"),
        ("ignore", "daemon-hangs", r"has not taken its files within [12]\.\d s: .*try again later"),
        ("endless-check", "daemon-hangs", "did not finish checking"),
    ],
)
def test_what_fails_is_told_in_its_words_and_the_way_back_is_bounded(
    toy: ToyBackend, word: str, code: str, said: str
) -> None:
    toy.bring("one")
    started_s = time.monotonic()
    with pytest.raises(Problem, match=said) as failed:
        toy.bring(word)
    assert failed.value.code == code
    toy.bring("one")
    assert time.monotonic() - started_s < BOUND_S
    assert toy.ask()["has"] == "one"


def test_one_that_dies_at_its_first_start_leaves_nothing(toy: ToyBackend) -> None:
    with pytest.raises(ApplyFailed, match="out of cheese"):
        toy.bring("die")
    toy.bring("")
    assert not toy.diff(toy.read(), "") and not toy.daemon.read()


def test_only_whole_lines_of_what_it_said_are_told(toy: ToyBackend, tmp_path: Path) -> None:
    """Of half a line nobody knows any more that it is a password."""
    toy.bring("one")
    (path,) = tmp_path.rglob("said")
    path.write_text(f"neighbor 192.0.2.2 password s3cret\n{'x' * (SAID_BYTES - 4)}\n")
    assert toy.daemon.said() == "x" * (SAID_BYTES - 4)
    path.write_text(f"password s3cret {'x' * SAID_BYTES}")
    assert toy.daemon.said() == "a line that is too long to be told"


def test_one_that_was_killed_is_started_again(toy: ToyBackend) -> None:
    toy.bring("one")
    pid = toy.ask()["pid"]
    os.kill(pid, signal.SIGKILL)
    until("it is gone", lambda: toy.daemon.identity() is None)
    assert toy.daemon.has_died()
    difference = toy.diff(toy.read(), "one")
    assert [step.text for step in difference.steps()] == ["toy starts"]
    toy.bring("one")
    assert toy.ask()["pid"] != pid and not toy.daemon.has_died()
    toy.daemon.stop()
    assert not toy.daemon.has_died(), "it was told to end"


def test_one_that_dies_again_and_again_is_left_alone_for_a_while(toy: ToyBackend) -> None:
    """The pause after a start doubles; other files are tried at once."""
    with pytest.raises(Unavailable, match="toy ended again and is started in a while") as refused:
        for _ in range(6):  # on a busy machine a start takes longer than the first pauses
            toy.bring("one")
            os.kill(toy.ask()["pid"], signal.SIGKILL)
            until("it is gone", lambda: toy.daemon.identity() is None)
    assert refused.value.code == "daemon-died"
    toy.bring("two")
    assert toy.ask()["has"] == "two"


class Restarted(ToyBackend):
    """One that takes no other files while it runs."""

    learns = ("interface",)

    def can_reload(self, difference: DaemonDifference) -> bool:
        return False


def test_one_that_cannot_read_its_files_again_starts_again_which_is_said_before(tmp_path: Path) -> None:
    toy = Restarted(tmp_path)

    def cost(word: str) -> list[str]:
        look = Look(toy, word, None, [("interface", "lan0")], lambda _networks: Sessions(0, True))
        return [f"{item.id} {item.severity}: {item.text}" for item in toy.effects(look)]

    try:
        assert cost("one") == [], "it did not run"
        toy.bring("one")
        pid = toy.ask()["pid"]
        assert cost("one") == [] and cost("two") == ["lan0 resets: toy starts again"]
        toy.bring("two")
        assert toy.ask()["has"] == "two" and toy.ask()["pid"] != pid
    finally:
        toy.daemon.stop()


def explained(toy: ToyBackend, word: str) -> dict[str, Line]:
    found = toy.explain(Comparison(toy, word), Interface("lan0", "lan"), [f"the word {word}"])
    return {line.field: line for line in found}


def test_it_is_explained_by_its_process_its_files_and_what_it_says(toy: ToyBackend) -> None:
    toy.bring("one")
    assert [line.agrees for line in explained(toy, "one").values()] == [True, True, True]
    assert explained(toy, "one")["loaded"].compiled == "the word one"
    other = explained(toy, "two")
    assert (other["files"].system, other["loaded"].agrees) == ("toy.conf differs", False)
    pid = toy.ask()["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert explained(toy, "one")["loaded"].system.startswith("it does not answer")
    os.kill(pid, signal.SIGKILL)
    until("it is gone", lambda: toy.daemon.identity() is None)
    assert explained(toy, "one")["toy"] == Line("toy", "it runs", "it does not run", False)


def test_one_that_hangs_is_started_again(toy: ToyBackend) -> None:
    toy.bring("one")
    pid = toy.ask()["pid"]
    os.kill(pid, signal.SIGSTOP)
    difference = toy.diff(toy.read(), "one")
    (step,) = difference.steps()
    assert step.text == "toy does not answer: it is asked once more, then started again"
    toy.bring("one")
    assert toy.ask()["pid"] != pid


def test_one_that_answers_late_goes_on(toy: ToyBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine chronyc alone takes longer than the answer may, and chronyd was started again."""
    toy.bring("one")
    pid, asked, answer = toy.ask()["pid"], list[float](), toy.loaded

    def slow(timeout_s: float) -> object:
        asked.append(timeout_s)
        if timeout_s < 0.5:
            raise Unavailable("chronyc did not finish in time")
        return answer(timeout_s)

    monkeypatch.setattr(toy, "loaded", slow)
    difference = toy.diff(toy.read(), "one")
    assert difference
    toy.apply(difference)
    assert (toy.ask()["pid"], asked) == (pid, [ANSWER_S, SETTLED_S])
    toy.verify(difference)
    assert toy.ask()["pid"] == pid


def test_a_file_that_somebody_changed_is_written_again(toy: ToyBackend) -> None:
    toy.bring("one")
    (toy.daemon.config / "toy.conf").write_text("two\n")
    os.kill(toy.ask()["pid"], signal.SIGHUP)
    until("it has read the file", lambda: toy.ask()["has"] == "two")
    assert [step.text for step in toy.diff(toy.read(), "one").steps()] == ["toy reads toy.conf"]
    toy.bring("one")
    assert toy.ask()["has"] == "one"


def test_another_process_with_its_number_is_left_alone(toy: ToyBackend, tmp_path: Path) -> None:
    """The machine started again, or the numbers came round."""
    (tmp_path / "pid").write_text(f"{os.getpid()} 1")
    assert toy.daemon.identity() is None
    toy.daemon.stop()


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    run: Callable[[Path], tuple[str, ...]] = lambda config: ("/nowhere/toyd", str(config))  # noqa: E731
    daemon = Daemon(Program("toy", run, run), tmp_path)
    with pytest.raises(Unavailable, match="/nowhere/toyd cannot be run"):
        daemon.check({"toy.conf": "one"}, time.monotonic() + 1)
    with pytest.raises(Unavailable, match="/nowhere/toyd cannot be run"):
        daemon.start()


class ToyPart(EntriesPart[str]):
    """The comment of each interface is a word for the daemon; it takes the first."""

    name, what = "toy", "word"
    made_of = frozenset(("interface",))
    after = ("network",)

    def key(self, entry: str) -> str:
        return entry

    def wanted(self, document: Document) -> Mapping[str, str]:
        words = sorted(item.description for item in document.interfaces() if item.description)
        return {word: word for word in words[:1]}

    def text(self, old: str | None, new: str) -> str:
        return new


class OfPart(ToyBackend):
    def files(self, wanted: Any) -> Mapping[str, str]:
        return super().files(next(iter(wanted), ""))

    def expected(self, wanted: Any) -> object:
        return next(iter(wanted), "")


@pytest.mark.parametrize("word", ["refuse", "hang", "die"])
def test_a_commit_is_refused_or_rolled_back_whole(tmp_path: Path, word: str) -> None:
    """All parts of it, in bounded time, and the answer has the daemon's words."""
    toy, mirror = OfPart(tmp_path / "toy"), MirrorBackend()
    parts = Parts((*WIDER, ToyPart()))
    with configured(tmp_path, parts, toy=toy, mirrors=mirror) as configuration:
        first = Interface("lan0", "lan", description="one")
        configuration.apply(0, 1, [Change("interface", "lan0", None, first)])
        configuration._settled(configuration.following.judge(None))
        pid = toy.ask()["pid"]
        started_s = time.monotonic()
        changes = [
            Change("interface", "lan0", None, None),
            Change("interface", "lan1", None, Interface("lan1", "lan", description=word)),
        ]
        with pytest.raises(Problem, match="toy"):
            configuration.apply(0, 2, changes)
        assert time.monotonic() - started_s < BOUND_S
        assert configuration.document.get("interface", "lan1") is None
        assert (toy.ask()["has"], mirror.held) == ("one", "lan0")
        assert configuration.state == "ok"
        assert (toy.ask()["pid"] == pid) is (word == "refuse"), "a file that is refused disturbs nobody"
    toy.daemon.stop()


def test_a_daemon_with_a_user_of_its_own_can_read_its_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        daemon = ToyBackend(tmp_path / "daemons" / "toy").daemon
        daemon.write({"toy.conf": "one"})
    finally:
        os.umask(before)
    file = daemon.config / "toy.conf"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, daemon.config, *file.parents[1:3])]
    assert modes == [0o644, 0o755, 0o755, 0o755]


def test_no_file_of_a_change_is_left_behind(toy: ToyBackend, tmp_path: Path) -> None:
    for word in ("one", "two", "three"):
        toy.bring(word)
    assert sorted(path.name.partition(".")[0] for path in tmp_path.iterdir()) == [
        *("config", "files", "pid", "said", "toy")
    ]
