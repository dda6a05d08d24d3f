# SPDX-License-Identifier: Apache-2.0
"""A part that the agent holds by itself, such as whom it tells what: a change takes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from weir.backends.backend import Comparison, Look, Topic, by_difference, refuse
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.part import EntriesPart

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HeldDifference(Generic[T]):
    part: EntriesPart[T]
    delta: Delta[T]
    wanted: Mapping[str, T]

    def __bool__(self) -> bool:
        return bool(self.delta)

    def steps(self) -> Sequence[Step]:
        return [*self.part.made(self.delta), *self.part.removed(self.delta)]


class HeldBackend(Generic[T]):
    """`changed` is called after each change, by the thread that makes it."""

    topics: ClassVar[frozenset[Topic]] = frozenset()
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, part: EntriesPart[T]) -> None:
        self._part = part
        self._held: Mapping[str, T] = {}
        self.changed: Callable[[Mapping[str, T]], None] = lambda held: None

    def read(self) -> Mapping[str, T]:
        return self._held

    def diff(self, held: Mapping[str, T], wanted: Mapping[str, T]) -> HeldDifference[T]:
        return HeldDifference(self._part, self._part.delta(held, wanted), wanted)

    def apply(self, difference: HeldDifference[T]) -> None:
        self._held = difference.wanted
        self.changed(self._held)

    def verify(self, difference: HeldDifference[T]) -> None:
        wrong = [] if self._held == difference.wanted else ["another change came between"]
        refuse(self._part.name, wrong)

    def effects(self, look: Look[Mapping[str, T], Mapping[str, T], HeldDifference[T]]) -> Iterator[Effect]:
        return iter(())  # no packet has to do with it

    def explain(
        self,
        found: Comparison[Mapping[str, T], Mapping[str, T], HeldDifference[T]],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        return by_difference(self._part.name, found, told)
