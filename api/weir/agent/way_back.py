# SPDX-License-Identifier: Apache-2.0
"""The way back from a change that waits for its confirmation, worked out before it is needed.

A change of 100,000 queues takes seconds to compile and to write down. Its way back is held in memory instead:
the state before it, the difference to it, and the records that the kernel's tables get. What is left to do at
the deadline are stores into the kernel's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.backends.tables import PackedTables
from weir.compiler import Compiled, Earlier, Plan, way_back
from weir.model.document import Change, Document
from weir.model.packed import LazyList


class Inverse(LazyList[Change]):
    """The way back over changes; each is made when it is looked at."""

    __slots__ = ("_changes",)

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    def __len__(self) -> int:
        return len(self._changes)

    def at(self, index: int) -> Change:
        return self._changes[len(self._changes) - 1 - index].inverse


@dataclass(frozen=True, slots=True)
class Before:
    """What ran before a plan. `document` is None where the one that runs was changed in place."""

    document: Document | None
    plan: Plan
    compiled: Earlier


@dataclass(frozen=True, slots=True)
class WayBack:
    """From `revision` to what was before it. `plan` fits one compiled state only; without it, the way is
    worked out when it is gone, which is quick for a few changes."""

    revision: int
    changes: Sequence[Change]
    document: Document | None = None
    plan: Plan | None = None
    tables: PackedTables | None = None

    def holds(self, compiled: Compiled) -> bool:
        """Whether nothing is left to work out."""
        return self.plan is not None and self.plan.base_generation == compiled.generation

    @classmethod
    def over(
        cls, revision: int, changes: Sequence[Change], before: Before | None, compiled: Compiled
    ) -> WayBack:
        """Back over changes that have just led to `compiled`."""
        back = Inverse(changes)
        plan = None if before is None else way_back(before.plan, before.compiled, compiled)
        if before is None or plan is None:
            return cls(revision, back)
        return cls(revision, back, before.document, plan)
