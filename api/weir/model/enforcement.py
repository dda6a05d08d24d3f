# SPDX-License-Identifier: Apache-2.0
"""Which fields of a queue the router acts on in this version; read by the API's answers and the UI."""

from __future__ import annotations

from dataclasses import dataclass

from weir.model.document import interface_targets
from weir.model.objects import Queue


@dataclass(frozen=True, slots=True)
class FieldEnforcement:
    """`note` says what holds instead, or under which condition."""

    field: str
    enforced: bool
    note: str = ""

    def to_json(self) -> dict[str, str | bool]:
        return {"field": self.field, "enforced": self.enforced, "note": self.note}


_SHARING = "settles within a second of a change in demand, once a parent is short"
_BURST = "measured every 50 ms"

ENFORCEMENT: tuple[FieldEnforcement, ...] = (
    FieldEnforcement("name", True),
    FieldEnforcement("target", True),
    FieldEnforcement("dst", False, "the queue and those below it match nothing, rather than other traffic"),
    FieldEnforcement("parent", True),
    FieldEnforcement("position", True),
    FieldEnforcement("max_limit_bps", True),
    FieldEnforcement("limit_at_bps", True, _SHARING),
    FieldEnforcement("burst_limit_bps", True, _BURST),
    FieldEnforcement("burst_threshold_bps", True, _BURST),
    FieldEnforcement("burst_time_ms", True, _BURST),
    FieldEnforcement("priority", True, _SHARING),
    FieldEnforcement("queue_type", False, "kept, but packets wait as the interface's shaper decides"),
    FieldEnforcement("bucket_size_ms", True, "at least 20 ms and four full packets"),
    FieldEnforcement("time", True),
    FieldEnforcement("total", True, "guarantees and priorities count among totals below one total"),
    FieldEnforcement("comment", True),
    FieldEnforcement("disabled", True),
)
"""Every field but `id`, in the order of the API."""

_INTERFACE_NOTE = FieldEnforcement(
    "target",
    True,
    "an interface takes the packets that no queue's prefix takes, wherever it stands in the list",
)
_DEFAULTS = Queue(id="defaults", name="defaults")


def enforcement_of(queue: Queue) -> list[FieldEnforcement]:
    """What this queue asks for and does not get, or gets with a condition. Empty when all is as asked."""
    found = [
        entry
        for entry in ENFORCEMENT
        if not entry.enforced and getattr(queue, entry.field) != getattr(_DEFAULTS, entry.field)
    ]
    if interface_targets(queue):
        found.append(_INTERFACE_NOTE)
    return found


def not_enforced(queue: Queue) -> list[str]:
    """The fields that this queue sets and the router does not act on."""
    return [entry.field for entry in enforcement_of(queue) if not entry.enforced]
