# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes are validated and compiled before anybody waits for them (docs/adr/0118).

It is done on a copy, beside the lock. What runs meanwhile is taken in when the changes are applied, by its
own plans, at the cost of those; where that cannot be done, who asked prepares once more.
"""

from __future__ import annotations

import secrets
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass

from weir.agent.executor import Timing
from weir.agent.running import Done, after_beside, completed, refuse_invalid
from weir.agent.undoing import Undoing
from weir.backends.tables import PackedTables
from weir.compiler import Missed, PlanAhead, Unfit
from weir.memory import give_back_soon
from weir.model.document import Change
from weir.model.problem import Conflict
from weir.wire.protocol import NOT_PREPARED

MAX_MISSED = 2000
"""More changes in between than in a minute at 30 a second: it was given up by who asked for it."""


@dataclass(slots=True)
class Prepared:
    """What is left to do is to take in what was missed, and to store the tables."""

    token: str
    changes: Sequence[Change]
    ahead: PlanAhead
    tables: PackedTables


class Preparing(Undoing, ABC):
    """Thread-safe. One set of changes is prepared at a time; the next takes its place."""

    _prepared: Prepared | None = None
    _preparing = ""
    """The token of what is being prepared, or is."""

    def prepare(self, changes: Sequence[Change]) -> str:
        """Validate and compile changes as they are to be applied soon; a token for `apply_prepared`.

        Raises `Invalid` with findings, `Unavailable`, `Unsupported`.
        """
        token = secrets.token_hex(8)
        with self.lock:
            self._require_store()
            document, compiled = self.document.copy(), self.compiled.copy()
            self._prepared, self._missed, self._preparing = None, [], token
        try:
            changes = completed(changes, document)
            after = after_beside(document, changes)
            refuse_invalid(after, changes)
            with self._refusing():
                ahead = PlanAhead(compiled, after, changes, self._now_local())
            prepared = Prepared(token, changes, ahead, self.executor.prepared(ahead.plan))
        except BaseException:
            self.forget(token)
            raise
        with self.lock:
            if self._preparing == token:
                self._prepared = prepared
        return token

    def forget(self, token: str | None = None) -> None:
        """Give up what was prepared: all, or what the token names."""
        with self.lock:
            if token in (None, self._preparing):
                self._prepared, self._missed, self._preparing = None, None, ""
        give_back_soon()

    def _advance_prepared(self, token: str) -> tuple[Sequence[Change], Done]:
        """As `_advance`, strictly. Raises also `Conflict` (`not-prepared`)."""
        prepared, missed = self._prepared, self._missed
        self.forget(token)
        if prepared is None or missed is None or prepared.token != token or len(missed) > MAX_MISSED:
            raise _not_prepared("the agent does not know what was prepared")
        self._take_in(prepared, missed)
        plan = prepared.ahead.plan
        self._state = "applying"
        effects = self._effects(plan, prepared.changes)
        try:
            timing = self._execute(plan, strict=True, packed=prepared.tables)
        except BaseException:
            self._state = self.drift.state
            raise
        self._take(prepared.ahead.document, prepared.changes, plan, complete=True)
        return prepared.changes, Done(plan, timing or Timing(0.0, 0.0), effects)

    def _take_in(self, prepared: Prepared, missed: Sequence[Missed]) -> None:
        """Raises `Conflict` (`not-prepared`), and `Invalid` where both are valid alone only."""
        document = prepared.ahead.document
        for one in missed:
            if any(document.get(change.kind, change.id) != change.old for change in one.changes):
                raise _not_prepared("an object was changed meanwhile that is changed here")
            document.apply(one.changes)
        changes = [change for one in missed for change in one.changes]
        if changes:
            refuse_invalid(document, changes)
        try:
            if prepared.ahead.follow(self.compiled, missed, self._now_local()):
                prepared.tables = self.executor.prepared(prepared.ahead.plan)
        except Unfit as reason:
            raise _not_prepared(str(reason)) from reason


def _not_prepared(reason: str) -> Conflict:
    return Conflict(f"{reason}; prepare it once more", code=NOT_PREPARED)
