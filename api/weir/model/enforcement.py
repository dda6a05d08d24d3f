# SPDX-License-Identifier: Apache-2.0
"""Which fields of a queue the router acts on in this version; read by the API's answers and the UI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.document import Document, interface_targets
from weir.model.objects import NO_TOTAL, Pair, Queue, QueueType, Total


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
    FieldEnforcement("bucket_size_ms", True, "at least 20 ms (policing: 300 ms) and four full packets"),
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
_FIFO_NOTE = "kept by departure times: its length is a time at the queue's rate"
_NATIVE_NOTES = {
    "pfifo": _FIFO_NOTE,
    "bfifo": _FIFO_NOTE,
    "mq-pfifo": f"{_FIFO_NOTE}, as a pfifo's; queues are not tied to a card's transmit queues",
    "none": "kept by the clocks themselves: nothing waits, what is above the rate and the bucket is dropped",
}
"""Kind -> how it is kept without a qdisc of its own."""
NATIVE_KINDS = frozenset(_NATIVE_NOTES)
"""The other kinds need a qdisc of Linux."""
_POLICED_NOTE = "where an interface polices, nothing waits"
_WHY_A_QDISC = "those have one fq for all queues, which cannot choose among the packets of one"
_PCQ_NOTE = "one sub-queue for each address, but below HTB, where all share one queue"
_UNNAMED = BUILTIN_QUEUE_TYPES["default-small"]
_DEFAULTS = Queue(id="defaults", name="defaults")
_WAYS = ("upload", "download")
_NEEDS = (
    ("burst_threshold_bps", "burst_limit_bps"),
    ("burst_time_ms", "burst_limit_bps"),
    ("bucket_size_ms", "max_limit_bps"),
)
"""Fields, of a queue and of its total, and what each has no effect without."""
_NO_PARENT = "shares are among the queues below one parent, and this one has none"


def enforcement_of(queue: Queue, document: Document) -> list[FieldEnforcement]:
    """What this queue asks for and does not get, or gets with a condition. Empty when all is as asked."""
    found = [
        entry
        for entry in ENFORCEMENT
        if not entry.enforced and getattr(queue, entry.field) != getattr(_DEFAULTS, entry.field)
    ]
    found.extend(_without_effect(queue))
    found.extend(_waiting("queue_type", queue.queue_type, document))
    found.extend(_of_total(queue.total, document))
    if interface_targets(queue):
        found.append(_INTERFACE_NOTE)
    return found


def not_enforced(queue: Queue, document: Document) -> list[str]:
    """The fields that this queue sets and the router does not act on."""
    return [entry.field for entry in enforcement_of(queue, document) if not entry.enforced]


def enforcement_of_type(queue_type: QueueType, document: Document) -> list[FieldEnforcement]:
    """Whether packets of queues that name this type wait as its kind says."""
    return [] if queue_type is _UNNAMED else [_kept("type", {queue_type.type}, document)]


def _without_effect(queue: Queue) -> Iterator[FieldEnforcement]:
    """Values to which another field, that is not given, would give an effect."""
    if queue.parent is None:
        for field in ("limit_at_bps", "priority"):
            if getattr(queue, field) != getattr(_DEFAULTS, field):
                yield FieldEnforcement(field, False, _NO_PARENT)
    for field, needed in _NEEDS:
        value: Pair[int] = getattr(queue, field)
        default: Pair[int] = getattr(_DEFAULTS, field)
        if value == default:
            continue
        given = [way for way in _WAYS if getattr(value, way) != getattr(default, way)]
        idle = [way for way in given if not getattr(getattr(queue, needed), way)]
        if idle:
            yield FieldEnforcement(
                field, len(idle) < len(given), f"no effect on {' and '.join(idle)} without {needed}"
            )


def _of_total(total: Total, document: Document) -> Iterator[FieldEnforcement]:
    if total is NO_TOTAL or total == NO_TOTAL:
        return
    if not total.max_limit_bps and not total.limit_at_bps:
        yield FieldEnforcement("total", False, "without a max_limit_bps or limit_at_bps of its own")
        return
    for field, needed in _NEEDS:
        if getattr(total, field) != getattr(NO_TOTAL, field) and not getattr(total, needed):
            yield FieldEnforcement(f"total.{field}", False, f"no effect without total.{needed}")
    kind = document.queue_type(total.queue_type)
    if kind is not None and kind is not _UNNAMED:
        if kind.type in NATIVE_KINDS:
            note = "its length is a time at the total's rate; none waits below HTB or a policer"
            yield FieldEnforcement("total.queue_type", True, note)
        else:
            note = "a total limits, and its packets wait in their queue; only the fifo kinds bound that"
            yield FieldEnforcement("total.queue_type", False, note)


def _waiting(field: str, names: Pair[str], document: Document) -> Iterator[FieldEnforcement]:
    """Whether packets wait as the queue's types say, which depends on who holds them."""
    types = [document.queue_type(name) for name in names]
    kinds = {item.type for item in types if item is not None and item is not _UNNAMED}
    for together in (kinds - {"pcq"}, kinds & {"pcq"}):
        if together:
            yield _kept(field, together, document)


def _kept(field: str, kinds: set[str], document: Document) -> FieldEnforcement:
    """Whether these kinds hold packets on the router's interfaces."""
    enabled = [item for item in document.interfaces() if not item.disabled and item.is_port]
    trees = sorted(item.id for item in enabled if item.shaper == "htb")
    if kinds <= NATIVE_KINDS:
        return FieldEnforcement(field, True, _native_note(kinds, trees))
    names = " and ".join(sorted(kinds - NATIVE_KINDS))
    if kinds == {"pcq"}:
        return FieldEnforcement(field, not trees, _PCQ_NOTE)
    if trees and len(trees) == len(enabled):
        note = f"{names} as a qdisc below HTB, not by departure times: {_WHY_A_QDISC}"
        return FieldEnforcement(field, True, f"{note}; explain says if it is another")
    where = f"only on {', '.join(trees)}: elsewhere" if trees else "on no interface:"
    what = "are qdiscs" if len(kinds - NATIVE_KINDS) > 1 else "is a qdisc"
    return FieldEnforcement(
        field,
        False,
        f"{names} {what} below HTB, {where} packets wait for departure times instead, and {_WHY_A_QDISC} "
        "(set the shaper of an interface to htb to have it)",
    )


def _native_note(kinds: set[str], trees: list[str]) -> str:
    """How kinds are kept that need no qdisc, and which one they are where there is a tree all the same."""
    notes = list(dict.fromkeys(_NATIVE_NOTES[kind] for kind in sorted(kinds)))
    if kinds != {"none"}:
        notes.append(_POLICED_NOTE)
    if trees:
        fifos = sorted({"bfifo" if kind == "bfifo" else "pfifo" for kind in kinds})
        notes.append(f"on {', '.join(trees)} {' and '.join(fifos)} below HTB")
    return "; ".join(notes)
