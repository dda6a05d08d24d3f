# SPDX-License-Identifier: Apache-2.0
"""What is learnt about the objects that streams ask for: asked of the agent in a thread of its own, as a
daemon may take its time, and handed on as what changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.service.states import State

log = logging.getLogger("weir.stats")
Json = dict[str, Any]
Asked = tuple[str, ...]
"""Each a kind, for the first thousand of its objects, or `kind/id`."""
Key = tuple[Kind, str]
EVERY_S = 2.0


class _Told:
    """What was learnt for one filter, and what of it was not handed on yet."""

    def __init__(self) -> None:
        self.states: dict[Key, State] = {}
        self.changed: set[Key] = set()
        self.at_ms: int | None = None
        self.is_new = False


class StateFeed:
    """Thread-safe. `of` gives the states of objects, None: of the first of a kind."""

    def __init__(
        self,
        of: Callable[[Kind, Sequence[str] | None], Sequence[State]],
        to_json: Callable[[State], Json],
        moment: Callable[[int | None], str | None],
    ) -> None:
        self._of = of
        self._to_json = to_json
        self._moment = moment
        self._lock = threading.Lock()
        self._told: dict[Asked, _Told] = {}

    def run(self, stop: threading.Event, asked: Callable[[], Iterable[Asked]]) -> None:
        """Look now and then, until it is stopped."""
        while not stop.wait(EVERY_S):
            try:
                self.look(asked())
            except Exception:
                log.exception("states are not streamed; it goes on")

    def begin(self, asked: Asked) -> None:
        """Ask for the first time. Raises `NotFound` for a kind of which nothing is learnt."""
        found = self._ask(asked)
        with self._lock:
            is_first = asked not in self._told
            self._note(asked, found)
            if is_first:  # told as a whole by who asks
                self._told[asked].changed, self._told[asked].is_new = set(), False

    def look(self, every: Iterable[Asked]) -> None:
        """Ask for all that streams want; what none wants any more is forgotten."""
        wanted = set(every)
        with self._lock:
            for gone in self._told.keys() - wanted:
                del self._told[gone]
        for asked in wanted:
            try:
                found = self._ask(asked)
            except Problem as problem:
                log.warning("no state of %s: %s", ", ".join(asked), problem.message)
                continue
            with self._lock:
                self._note(asked, found)

    def event(self, asked: Asked, *, always: bool) -> Json | None:
        """What changed since it was handed on to all, or (`always`) everything; None: nothing is new."""
        with self._lock:
            told = self._told.get(asked)
            if told is None or not (always or told.is_new):
                return None
            keys = list(told.states) if always else [key for key in told.states if key in told.changed]
            if not always:
                told.changed, told.is_new = set(), False
            items = [(kind, told.states[kind, name]) for kind, name in keys]
            at_ms = told.at_ms
        return {
            "at": self._moment(at_ms),
            "items": [{"kind": kind, **self._to_json(state)} for kind, state in items],
        }

    def _ask(self, asked: Asked) -> dict[Key, State]:
        ids: dict[Kind, list[str] | None] = {}
        for text in asked:
            kind, _, name = text.partition("/")
            if not name:
                ids[kind] = None
            elif (known := ids.setdefault(kind, [])) is not None:
                known.append(name)
        return {(kind, state.id): state for kind, some in ids.items() for state in self._of(kind, some)}

    def _note(self, asked: Asked, found: dict[Key, State]) -> None:
        told = self._told.setdefault(asked, _Told())
        told.changed |= {key for key, state in found.items() if _differs(told.states.get(key), state)}
        told.states, told.is_new = found, True
        fresh = [s.at_ms for s in found.values() if s.stale_reason is None and s.at_ms is not None]
        told.at_ms = min(fresh) if len(fresh) == len(found) and fresh else None


def _differs(old: State | None, new: State) -> bool:
    """The time alone is told once for all."""
    return old is None or (old.fields, old.stale_reason) != (new.fields, new.stale_reason)
