# SPDX-License-Identifier: Apache-2.0
"""Which fields of a queue the router acts on in this version; read by the API's answers and the UI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.document import Document, interface_targets
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
    FieldEnforcement("dst", True, "looked at where a packet leaves, so after DNAT"),
    FieldEnforcement("parent", True),
    FieldEnforcement("position", True),
    FieldEnforcement("max_limit_bps", True),
    FieldEnforcement("limit_at_bps", True, _SHARING),
    FieldEnforcement("burst_limit_bps", True, _BURST),
    FieldEnforcement("burst_threshold_bps", True, _BURST),
    FieldEnforcement("burst_time_ms", True, _BURST),
    FieldEnforcement("priority", True, _SHARING),
    FieldEnforcement("queue_type", True, "a fifo as time at the queue's rate; others below HTB"),
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
NATIVE_KINDS = frozenset({"pfifo", "bfifo", "mq-pfifo", "none"})
"""What departure times keep by themselves; the other kinds need a qdisc of Linux."""

_FIFO_NOTE = "its length is a time at the queue's rate; where an interface polices, nothing waits"
_PCQ_NOTE = "one sub-queue for each address, but below HTB, where all share one queue"
_UNNAMED = BUILTIN_QUEUE_TYPES["default-small"]
_DEFAULTS = Queue(id="defaults", name="defaults")


def enforcement_of(queue: Queue, document: Document) -> list[FieldEnforcement]:
    """What this queue asks for and does not get, or gets with a condition. Empty when all is as asked."""
    found = [
        entry
        for entry in ENFORCEMENT
        if not entry.enforced and getattr(queue, entry.field) != getattr(_DEFAULTS, entry.field)
    ]
    found.extend(_waiting(queue, document))
    if interface_targets(queue):
        found.append(_INTERFACE_NOTE)
    return found


def not_enforced(queue: Queue, document: Document) -> list[str]:
    """The fields that this queue sets and the router does not act on."""
    return [entry.field for entry in enforcement_of(queue, document) if not entry.enforced]


def _waiting(queue: Queue, document: Document) -> Iterator[FieldEnforcement]:
    """Whether packets wait as the queue's types say, which depends on who holds them."""
    types = [document.queue_type(name) for name in (queue.queue_type.upload, queue.queue_type.download)]
    kinds = {item.type for item in types if item is not None and item is not _UNNAMED}
    if not kinds:
        return
    if kinds <= NATIVE_KINDS:
        yield FieldEnforcement("queue_type", True, _FIFO_NOTE)
        return
    names = " and ".join(sorted(kinds - NATIVE_KINDS))
    enabled = [item for item in document.interfaces() if not item.disabled]
    trees = sorted(item.id for item in enabled if item.shaper == "htb")
    if kinds <= NATIVE_KINDS | {"pcq"}:
        yield FieldEnforcement("queue_type", not trees, _PCQ_NOTE)
    elif trees and len(trees) == len(enabled):
        yield FieldEnforcement(
            "queue_type", True, f"{names} as a qdisc below HTB; explain says if it is another"
        )
    else:
        where = f"only on {', '.join(trees)}: elsewhere" if trees else "on no interface:"
        yield FieldEnforcement(
            "queue_type",
            False,
            f"{names} is a qdisc below HTB, {where} packets wait for departure times instead "
            "(set the shaper of an interface to htb to have it)",
        )
