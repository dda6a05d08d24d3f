# SPDX-License-Identifier: Apache-2.0
"""What the store keeps, as values: revisions, object versions, the pending confirmation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Literal

from weir.fields import Text
from weir.kinds import DECLARED
from weir.model.codec import from_json
from weir.model.objects import ConfigObject, Kind, Queue
from weir.store.clock import Deadline

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


def encode(item: ConfigObject) -> str:
    """Compact JSON without the fields that have their default value.

    The defaults are part of the stored format: a change of one needs a migration (ADR 0021).
    """
    return DECLARED[item.kind].to_stored_text(item)


def decode(kind: str, object_id: str, body: str) -> ConfigObject:
    """The object that `encode` wrote. Raises `Invalid` when a stored body breaks the model's rules."""
    return from_json(kind, json.loads(body), object_id, is_stored=True)


def columns(item: ConfigObject) -> tuple[str, str | None, int, int, int, int, str]:
    """name, parent, position, disabled, max limit up, max limit down, search text: for the indexes."""
    disabled = int(getattr(item, "disabled", False))
    search = "\n".join((item.id, item.name, _remark(item))).casefold()
    if isinstance(item, Queue):
        search = "\n".join((search, *item.target))
        limit = item.max_limit_bps
        return item.name, item.parent, item.position, disabled, limit.upload, limit.download, search
    return item.name, None, getattr(item, "position", 0), disabled, 0, 0, search


def _remark(item: ConfigObject) -> str:
    if isinstance(item, Queue):
        return item.comment
    return "\n".join([getattr(item, name) or "" for name in _texts_of(item.kind)])


@cache
def _texts_of(kind: Kind) -> tuple[str, ...]:
    """The fields that people write what they like in."""
    return tuple(member.name for member in DECLARED[kind].members if isinstance(member.field, Text))
