# SPDX-License-Identifier: Apache-2.0
"""Why a column of `stats/queues` can have no value on this router, from how its ports shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

IDLE = "no packet passed in the last second"
UNMEASURED = "the queue was not measured twice yet"
NO_CLASS = "the queue has no class in the kernel: it is disabled or outside its hours"


@dataclass(frozen=True, slots=True)
class Absent:
    """Clauses without a full stop; "" where the column has values.

    `partly_slow`: why some ports have no fast path.
    """

    delay: str = ""
    fast: str = ""
    partly_slow: str = ""


def absent_of(shapers: Mapping[str, Mapping[str, Any]]) -> Absent:
    """By the agent's `shapers`. Nothing is said as long as no port shapes."""
    if not shapers:
        return Absent()
    slow = {name: str(item.get("fast_path_reason") or "") for name, item in shapers.items()}
    slow = {name: why for name, why in slow.items() if not shapers[name].get("fast_path")}
    said = _by_port(slow)
    return Absent(
        delay="" if any(item.get("mode") == "edt" for item in shapers.values()) else _no_delay(shapers),
        fast=f"no port has a fast path: {said}" if len(slow) == len(shapers) else "",
        partly_slow=f"not every port has a fast path: {said}" if slow else "",
    )


def without_delays(history: dict[str, Any], absent: Absent) -> dict[str, Any]:
    """A queue's history, where delays that were not measured are None; what was measured earlier stays."""
    waited = any(any(history[way]["worst_delay_us"]) for way in ("upload", "download"))
    history["delay_reason"] = absent.delay if absent.delay and not waited else None
    if history["delay_reason"]:
        for way in ("upload", "download"):
            history[way]["worst_delay_us"] = [None] * len(history[way]["worst_delay_us"])
    return history


def _no_delay(shapers: Mapping[str, Mapping[str, Any]]) -> str:
    """Packets get no departure times: they are dropped, or wait in a tree that does not say for how long."""
    policed = {
        name: str(item.get("reason") or "") for name, item in shapers.items() if item.get("mode") == "police"
    }
    trees = sorted(name for name, item in shapers.items() if item.get("mode") == "htb")
    parts = [f"nothing waits, what is over a limit is dropped: {_by_port(policed)}"] if policed else []
    parts += [f"{_listed(trees)}: HTB does not measure it"] if trees else []
    return "; ".join(parts)


def _by_port(reasons: Mapping[str, str]) -> str:
    """`lan0, wan0: reason; net0: another`; ports with the same reason together."""
    ports: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        ports.setdefault(reason, []).append(name)
    return "; ".join(f"{_listed(names)}: {why}" if why else _listed(names) for why, names in ports.items())


def _listed(names: Iterable[str]) -> str:
    """At most four; a router may have hundreds."""
    found = list(names)
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
