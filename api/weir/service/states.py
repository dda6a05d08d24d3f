# SPDX-License-Identifier: Apache-2.0
"""What the agent learnt about configured objects; while it is away, what it said last and since when."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds import DECLARED
from weir.model.objects import Kind
from weir.model.problem import NotFound, Unavailable
from weir.wire.client import AgentClient

MAX_KEPT = 20_000
"""Objects whose last state is remembered."""


@dataclass(frozen=True, slots=True)
class State:
    """`fields` has each field that the kind declares; None is what nobody knows.

    `at_ms` is when the agent said it, None when it never did; `stale_reason` why nothing newer is known.
    """

    id: str
    at_ms: int | None
    fields: dict[str, Any]
    stale_reason: str | None = None


class StateService:
    """Thread-safe."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Kind, str], State] = OrderedDict()

    @requires("config.read")
    def of(self, _by: Principal, kind: Kind, ids: Sequence[str]) -> list[State]:
        """The states of objects, in their order. Raises `NotFound` for a kind of which nothing is learnt."""
        declared = DECLARED.get(kind)
        names = () if declared is None else tuple(declared.state)
        if not names:
            raise NotFound(f"nothing is learnt about a {kind}", code="no-state", path=kind)
        try:
            answer = self._agent.call("state", {"kind": kind, "ids": list(ids)}) if ids else {}
        except (Unavailable, NotFound) as problem:
            return [self._remembered(kind, object_id, names, problem.message) for object_id in ids]
        found = [_state(object_id, names, answer) for object_id in ids]
        self._remember(kind, found)
        return found

    def _remembered(self, kind: Kind, object_id: str, names: tuple[str, ...], reason: str) -> State:
        with self._lock:
            kept = self._kept.get((kind, object_id))
        if kept is None:
            return State(object_id, None, dict.fromkeys(names), reason)
        return State(object_id, kept.at_ms, kept.fields, reason)

    def _remember(self, kind: Kind, found: Sequence[State]) -> None:
        with self._lock:
            for state in found:
                self._kept[kind, state.id] = state
                self._kept.move_to_end((kind, state.id))
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


def _state(object_id: str, names: tuple[str, ...], answer: dict[str, Any]) -> State:
    known = answer["objects"].get(object_id) or {}
    return State(object_id, answer["at_ms"], {name: known.get(name) for name in names})
