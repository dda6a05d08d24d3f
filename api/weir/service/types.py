# SPDX-License-Identifier: Apache-2.0
"""What goes into the service and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from weir.model.codec import to_json
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.service.field_changes import FieldChange, compare_objects
from weir.service.way_in import YourWay
from weir.store.candidates import Summary
from weir.store.rows import ChangeCounts, Revision

ABSENT = "absent"
"""The edit expects that the object does not exist."""
ANYTHING = "anything"
"""The edit does not care what is there."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`new is None` deletes. `expects`: ABSENT, ANYTHING, or the etag that the object must have."""

    kind: Kind
    id: str
    new: ConfigObject | None
    expects: str = ANYTHING


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Shown once, to the user who committed: with `token` the revision can be confirmed."""

    revision: int
    base_revision: int
    token: str
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Committed:
    """`revision` is the running one now; without changes no revision was written.

    `applied` is the agent's answer, with `settled: False` when it went away after the commit: then
    it brings the kernel to this revision as soon as it is back.
    """

    revision: int
    changes: Sequence[Change]
    findings: Sequence[Finding]
    applied: dict[str, Any]
    confirm: Confirmation | None
    timing_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingView:
    revision: int
    base_revision: int
    author: str
    message: str
    created_at_ms: int
    deadline_at_ms: int
    window_s: int
    seconds_left: float


@dataclass(frozen=True, slots=True)
class CandidateView:
    owner: str
    base_revision: int
    created_at_ms: int
    summary: Summary

    @property
    def change_count(self) -> int:
        return sum(self.summary.kinds.values())


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """One object of a comparison; JSON and fields are made when they are looked at.

    Of a staged change also its version, and when it was staged where that is known.
    """

    change: Change
    etag: str | None = None
    staged_at_ms: int | None = None

    @property
    def kind(self) -> Kind:
        return self.change.kind

    @property
    def id(self) -> str:
        return self.change.id

    @property
    def name(self) -> str:
        item = self.change.new or self.change.old
        return "" if item is None else item.name

    @property
    def action(self) -> Literal["add", "change", "remove"]:
        if self.change.old is None:
            return "add"
        return "remove" if self.change.new is None else "change"

    @property
    def old(self) -> dict[str, Any] | None:
        return None if self.change.old is None else to_json(self.change.old)

    @property
    def new(self) -> dict[str, Any] | None:
        return None if self.change.new is None else to_json(self.change.new)

    @property
    def fields(self) -> list[FieldChange]:
        return compare_objects(self.change.old, self.change.new)


@dataclass(frozen=True, slots=True)
class Effect:
    """What validation says of changes, and what they would do to the kernel (None: the agent does not
    answer, or there are errors)."""

    preview: dict[str, Any] | None
    findings: Sequence[Finding]
    reason: str | None = None
    """Why there is no preview; None: the agent does not answer."""
    your_way: YourWay | None = None
    """What becomes of the caller's own way to the router; None where validation finds errors."""


@dataclass(frozen=True, slots=True)
class Diff:
    """How many objects a comparison names, and a page of them; `after` is where the next one begins."""

    counts: ChangeCounts
    objects: list[ObjectDiff]
    after: int | None


@dataclass(frozen=True, slots=True)
class CandidateDiff:
    """A page of a candidate's changes. `effect` is None while it is still being worked out,
    and where it was not asked for."""

    base_revision: int
    head_revision: int
    diff: Diff
    effect: Effect | None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """What one revision did to one object."""

    revision: Revision
    diff: ObjectDiff
