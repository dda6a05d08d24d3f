# SPDX-License-Identifier: Apache-2.0
"""What graphs mark: revisions of the configuration, and incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weir.service.incidents import event_of
from weir.store import Revision

MOST = 500
Json = dict[str, Any]


def marks(revisions: Callable[[int], Sequence[Revision]], incidents: Iterable[Json], since_ms: int) -> Json:
    """The answer of `diagnosis/marks`, the oldest first. `revisions` gives the newest ones, so many at most,
    the newest first; `incidents` are heads, with times in Unix seconds."""
    found = revisions(MOST + 1)
    told = [item for item in found[:MOST] if item.created_at_ms >= since_ms]
    is_cut = len(found) > MOST and len(told) == MOST
    items = {f"revision {item.number}": _of_revision(item) for item in told if item.kind != "initial"}
    for head in incidents:
        at_ms = round(head["at"] * 1000)
        rolled_back = items.get(head["subject"]) if head["code"] == "rollback" else None
        if rolled_back is not None:
            rolled_back["incident"] = head["id"]
        elif at_ms >= since_ms:
            items[f"incident {head['id']}"] = _of_incident(head, at_ms)
    return {
        "whole_since_ms": told[-1].created_at_ms if is_cut else since_ms,
        "items": sorted(items.values(), key=lambda mark: int(mark["at_ms"])),
    }


def _of_revision(item: Revision) -> Json:
    event = event_of(item)
    return {
        "at_ms": item.created_at_ms,
        "kind": event.code,
        "severity": event.severity,
        "sentence": event.sentence,
        "revision": item.number,
        "incident": None,
    }


def _of_incident(head: Json, at_ms: int) -> Json:
    return {
        "at_ms": at_ms,
        "kind": "incident",
        "severity": head["severity"],
        "sentence": head["sentence"],
        "revision": None,
        "incident": head["id"],
    }
