# SPDX-License-Identifier: Apache-2.0
"""The machine's name and its time zone. What it had before Weir is remembered, and comes back when the
configuration says nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from weir.adapters import files
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Problem
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.naming import OwnPart

log = logging.getLogger(__name__)


class Named(Protocol):
    """What has a word of its own (`MachineName`, `TimeZone`)."""

    def read(self) -> str: ...

    def set(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class NamingState:
    """`own` is what the machine had before Weir said another; None while Weir has not."""

    name: str
    own: str | None


@dataclass(frozen=True, slots=True)
class NamingDifference:
    part: OwnPart
    held: NamingState
    name: str
    """What the machine is to have."""
    own: str | None
    """What is to be remembered."""

    def __bool__(self) -> bool:
        return (self.name, self.own) != (self.held.name, self.held.own)

    def steps(self) -> Sequence[Step]:
        return [step(self.part.name, "change", self.part.what, f"{self.name} (was {self.held.name})")]


class NamingBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset()
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, part: OwnPart, machine: Named, memory: Path) -> None:
        """`memory`: a file that lasts as long as what is set in the machine does."""
        self._part = part
        self._machine = machine
        self._memory = memory
        self.changed: Sequence[Callable[[str], None]] = ()
        """Called with the new name. One that raises a `Problem` is logged: others are told all the same."""

    def read(self) -> NamingState:
        try:
            own = self._memory.read_text(encoding="utf-8") or None
        except (OSError, ValueError):
            own = None
        return NamingState(self._machine.read(), own)

    def diff(self, held: NamingState, wanted: str | None) -> NamingDifference:
        if wanted is None:
            return NamingDifference(self._part, held, held.own or held.name, None)
        return NamingDifference(self._part, held, wanted, held.own or held.name)

    def apply(self, difference: NamingDifference) -> None:
        if difference.own is not None:
            self._remember(difference.own)
        if difference.name != difference.held.name:
            self._machine.set(difference.name)
            self._tell(difference.name)
        if difference.own is None:
            self._memory.unlink(missing_ok=True)

    def verify(self, difference: NamingDifference) -> None:
        name = self._machine.read()
        refuse(self._part.name, [] if name == difference.name else [f"the machine's is {name}"])

    def effects(self, look: Look[NamingState, str | None, NamingDifference]) -> Iterator[Effect]:
        return iter(())  # no packet has to do with it

    def explain(
        self,
        found: Comparison[NamingState, str | None, NamingDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        words = found.wanted or f"{found.difference.name} (the machine's own)"
        yield Line(self._part.what, words, found.held.name, found.held.name == found.difference.name)

    def now(self) -> str:
        """What the machine has."""
        return self._machine.read()

    def _remember(self, name: str) -> None:
        try:
            files.replace(self._memory, name.encode())
        except OSError as error:
            text = f"{self._memory} cannot be written: {error.strerror}"
            raise ApplyFailed(text, code="memory") from error

    def _tell(self, name: str) -> None:
        for told in self.changed:
            try:
                told(name)
            except Problem as problem:
                log.warning("the new name %s is not taken everywhere: %s", name, problem.message)
