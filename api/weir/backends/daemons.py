# SPDX-License-Identifier: Apache-2.0
"""The base of every part that a supervised daemon does.

Its files are checked by the daemon's own checker before anything else sees them, replaced at once, and read
again by a signal; then the daemon is asked until it says that it has them. All of that within `SETTLED_S`, or
`STARTED_S` where it is started. A daemon that refuses, hangs or dies fails the commit, and what was before is
brought back in the same way and the same time; one that does not answer is started again for that. A daemon
with nothing to do does not run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from weir.adapters.daemon import POLL_S, UNIT_S, Daemon
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Problem
from weir.parts.delta import Step
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line

W = TypeVar("W")
Learnt = Mapping[str, Mapping[str, Any]]
"""By id and field. What nobody knows is left out or None: never zero."""
Learn = Callable[[Collection[str] | None], Learnt]

SETTLED_S = 2.0
"""The store's write lock is held meanwhile. What takes longer (a server that answers) is state, not apply."""
STARTED_S = 5.0
"""The same for one that has to start: a slow machine loads the program and its libraries first."""
ANSWER_S = 0.3
"""One that runs answers within this time; it is asked once more before it is taken for one that hangs."""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """Files by name; `process` None = it does not run; `loaded` is what it says it has, None = nothing."""

    files: Mapping[str, str]
    process: tuple[int, int] | None
    loaded: object


@dataclass(frozen=True, slots=True)
class DaemonDifference:
    """`wanted` without files: it is to end. `expected`: what it says when it has them."""

    name: str
    held: DaemonState
    wanted: Mapping[str, str]
    expected: object

    def __bool__(self) -> bool:
        if not self.wanted:
            return bool(self.held.files or self.held.process)
        return self.held.files != self.wanted or self.held.process is None or self.is_behind

    @property
    def is_behind(self) -> bool:
        """Whether what the daemon has differs from its files, or it does not answer."""
        return self.held.loaded != self.expected

    def steps(self) -> Sequence[Step]:
        if not self.wanted:
            return [step(self.name, "remove", "daemon", f"{self.name} ends")]
        if self.held.process is None:
            return [step(self.name, "add", "daemon", f"{self.name} starts")]
        if self.held.loaded is None:
            text = f"{self.name} does not answer: it is asked once more, then started again"
            return [step(self.name, "change", "daemon", text)]
        changed = ", ".join(self.changed_files) or "its files"
        return [step(self.name, "change", "daemon", f"{self.name} reads {changed}")]

    @property
    def changed_files(self) -> list[str]:
        """The names of those that are not as they are wanted."""
        names = self.held.files.keys() | self.wanted.keys()
        return sorted(name for name in names if self.held.files.get(name) != self.wanted.get(name))


class DaemonBackend(ABC, Generic[W]):
    """`W` is what the part wants. A daemon's backend renders it, and knows how to ask the daemon."""

    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons",))
    learns: ClassVar[tuple[Kind, ...]] = ()
    """The kinds whose state `learn` tells."""
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.name = daemon.program.name

    @abstractmethod
    def files(self, wanted: W) -> Mapping[str, str]:
        """Its files; none when there is nothing to do."""

    @abstractmethod
    def expected(self, wanted: W) -> object:
        """What `loaded` answers when the daemon has taken these files."""

    @abstractmethod
    def loaded(self, timeout_s: float) -> object:
        """Ask the running daemon what it has. Raises a `Problem` when it does not answer in time."""

    def learn(self, _ids: Collection[str] | None) -> Learnt:
        """Of these objects (None: of all) what the daemon knows, by id and field. Thread-safe."""
        return {}

    def pass_time(self) -> bool:
        """Called every minute: whether its files are to be others now by time alone."""
        return False

    def check(self, difference: DaemonDifference, deadline_s: float) -> None:
        """Have files looked at before anything else sees them. Raises a `Problem`."""
        self.daemon.check(difference.wanted, deadline_s)

    def can_reload(self, difference: DaemonDifference) -> bool:
        """Whether the daemon takes these files while it runs; else it is started again."""
        return True

    def reload(self) -> None:
        """Have the running daemon read its files again. Raises a `Problem`."""
        self.daemon.reload()

    def start(self, deadline_s: float) -> None:
        """Start the daemon, which does not run. Raises `Unavailable`."""
        self.daemon.start(max(deadline_s - time.monotonic(), UNIT_S))

    def read(self) -> DaemonState:
        return self._read(ANSWER_S)

    def _read(self, answer_s: float) -> DaemonState:
        process = self.daemon.identity()
        loaded = None
        if process is not None:
            try:
                loaded = self.loaded(answer_s)
            except Problem:
                loaded = None
        return DaemonState(self.daemon.read(), process, loaded)

    def diff(self, held: DaemonState, wanted: W) -> DaemonDifference:
        return DaemonDifference(self.name, held, self.files(wanted), self.expected(wanted))

    def apply(self, difference: DaemonDifference) -> None:
        begun_s, daemon, held = time.monotonic(), self.daemon, difference.held
        if not difference.wanted:
            daemon.stop()
            daemon.remove()
            return
        if held.process is not None and held.files == difference.wanted and self._answers_late(difference):
            return
        reloads = held.process is not None and held.loaded is not None and self.can_reload(difference)
        deadline_s = begun_s + (SETTLED_S if reloads else STARTED_S)
        if held.files != difference.wanted:
            self.check(difference, deadline_s)
            daemon.write(difference.wanted)
        if reloads:
            self.reload()
        else:
            if held.process is not None:  # one that systemd is about to start is waited for
                daemon.stop()
            self.start(deadline_s)
        daemon.wait(lambda until_s: self._has(difference.expected, until_s), deadline_s)

    def _answers_late(self, difference: DaemonDifference) -> bool:
        """On a busy machine the question may take longer than `ANSWER_S`, chronyc being a program of its own;
        a start would lose what was measured."""
        if difference.held.loaded is not None:
            return False
        try:
            return self.loaded(SETTLED_S) == difference.expected
        except Problem:
            return False

    def effects(self, look: Look[DaemonState, W, DaemonDifference]) -> Iterator[Effect]:
        """The process that runs reads its files again, or starts again for them; one whose sessions end for
        that says so itself."""
        held, difference = look.held, look.difference
        if held.process and difference and difference.wanted and not self.can_reload(difference):
            text = f"{self.name} starts again"
            yield from for_each(look.changed_of(*self.learns), "resets", text, int(STARTED_S * 1000))

    def explain(
        self, found: Comparison[DaemonState, W, DaemonDifference], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        """The process, its files, and what it says it has. None of them is printed: they may hold secrets."""
        held, difference = found.held, found.difference
        runs = held.process is not None
        meant = "it runs" if difference.wanted else "it does not run"
        words = f"it runs as process {held.process[0]}" if held.process else "it does not run"
        yield Line(self.name, meant, words, runs == bool(difference.wanted))
        if not difference.wanted:
            return
        wrong = ", ".join(difference.changed_files)
        files = ", ".join(sorted(difference.wanted))
        yield Line("files", files, f"{wrong} differs" if wrong else "as they were written", not wrong)
        if held.loaded is None:
            yield Line("loaded", "what the files say", f"it does not answer: {self.daemon.said()}", False)
            return
        for compiled in told or ("what the files say",):
            words = "something else" if difference.is_behind else "this, as far as it can be asked"
            yield Line("loaded", compiled, f"it has {words}", not difference.is_behind)

    def verify(self, difference: DaemonDifference) -> None:
        found = self._read_once_it_answers(difference)
        wrong = []
        if found.files != difference.wanted:
            wrong.append("its files are not as they were written")
        if not difference.wanted and found.process is not None:
            wrong.append("it still runs")
        if difference.wanted and found.loaded != difference.expected:
            words = "it does not answer" if found.loaded is None else "it has not what its files say"
            wrong.append(f"{words}: {self.daemon.said()}")
        refuse(self.name, [f"{self.name}: {words}" for words in wrong])

    def _read_once_it_answers(self, difference: DaemonDifference) -> DaemonState:
        """One that has just said that it has its files may answer the next question late, on a busy machine:
        no answer is no difference, until `SETTLED_S` have passed."""
        deadline_s = time.monotonic() + SETTLED_S
        found = self.read()
        while difference.wanted and found.process and found.loaded is None and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
            found = self._read(_part_of(deadline_s))
        return found

    def _has(self, expected: object, until_s: float) -> bool:
        return self.loaded(_part_of(until_s)) == expected


def _part_of(deadline_s: float) -> float:
    """Half of the time that is left, so that a slow answer is waited for and a lost question asked again."""
    left_s = max(deadline_s - time.monotonic(), POLL_S)
    return max(left_s / 2, min(left_s, ANSWER_S))
