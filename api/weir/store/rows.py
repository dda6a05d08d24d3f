# SPDX-License-Identifier: Apache-2.0
"""What the store keeps, as values: revisions, object versions, the pending confirmation.

This module loads no kinds: a process that hands on bodies without making objects of them has half the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from weir.store.clock import Deadline

if TYPE_CHECKING:
    from weir.model.objects import ConfigObject, Kind

RevisionKind = Literal["initial", "commit", "restore", "rollback"]


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """How many objects a comparison adds, changes and removes."""

    added: int
    changed: int
    removed: int

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True)
class Revision:
    """`changes` counts the objects that differ from the revision before; `restores` names the one
    whose content came back."""

    number: int
    kind: RevisionKind
    author: str
    source: str
    message: str
    created_at_ms: int
    restores: int | None
    changes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """An object and the version of it: `revision` is the one that made it what it is."""

    kind: Kind
    id: str
    object: ConfigObject
    etag: str
    revision: int


MAX_DAMAGE = 100
"""As many are named; a disk that fails may damage all."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written. `kind` and `id` are those of an object, or "" when it cannot
    be told whose it was."""

    kind: str
    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Event:
    """What one revision did to one object; `old` is None when it came, `new` when it went."""

    revision: Revision
    old: ConfigObject | None
    new: ConfigObject | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A committed revision that is undone at its deadline unless somebody confirms it.

    Two deadlines: boot time for the boot in which it was made, wall time for after a reboot.
    """

    revision: int
    base_revision: int
    window_s: int
    deadline_wall_ms: int
    boot_id: str
    deadline_boottime_ms: int
    token_hash: bytes
    author: str
    created_at_ms: int

    def seconds_left(self, now_wall_ms: int, boot_id: str, now_boottime_ms: int) -> float:
        """Seconds until the rollback, 0 when it is due; after a reboot within [0, window]."""
        deadline = Deadline(self.window_s, self.deadline_wall_ms, self.boot_id, self.deadline_boottime_ms)
        return deadline.seconds_left(now_wall_ms, boot_id, now_boottime_ms)


def etag_of(revision: int) -> str:
    return f"r{revision}"
