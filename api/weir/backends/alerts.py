# SPDX-License-Identifier: Apache-2.0
"""Alerts: what the agent tells to whom. It is held by the agent alone, so a change takes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from weir.backends.backend import Comparison, Look, Topic, by_difference, refuse
from weir.model.objects import ConfigObject
from weir.parts import ALERTS
from weir.parts.alerts import Spec
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

Wanted = Mapping[str, Spec]


@dataclass(frozen=True, slots=True)
class AlertsDifference:
    delta: Delta[Spec]
    wanted: Wanted

    def __bool__(self) -> bool:
        return bool(self.delta)

    def steps(self) -> Sequence[Step]:
        return [*ALERTS.made(self.delta), *ALERTS.removed(self.delta)]


class AlertsBackend:
    """`changed` is called after each change, by the thread that makes it."""

    topics: ClassVar[frozenset[Topic]] = frozenset()
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self) -> None:
        self._held: Wanted = {}
        self.changed: Callable[[Wanted], None] = lambda held: None

    def read(self) -> Wanted:
        return self._held

    def diff(self, held: Wanted, wanted: Wanted) -> AlertsDifference:
        return AlertsDifference(ALERTS.delta(held, wanted), wanted)

    def apply(self, difference: AlertsDifference) -> None:
        self._held = difference.wanted
        self.changed(self._held)

    def verify(self, difference: AlertsDifference) -> None:
        refuse("alerts", [] if self._held == difference.wanted else ["another change came between"])

    def effects(self, look: Look[Wanted, Wanted, AlertsDifference]) -> Iterator[Effect]:
        return iter(())  # no packet has to do with it

    def explain(
        self, found: Comparison[Wanted, Wanted, AlertsDifference], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        return by_difference("alerts", found, told)
