# SPDX-License-Identifier: Apache-2.0
"""What the running kernel and its daemons can do, found by trying it once at start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir.adapters import tc
from weir.adapters.datapath_records import Capability
from weir.adapters.frr import Frr

QDISCS = {
    "fq": ("pacing of departure times (EDT)", "fq"),
    "fq_codel": ("short queues below HTB classes", "fq_codel"),
    "cake": ("CAKE leaves", "cake"),
    "htb": ("the HTB shaper", "htb default 0"),
}


def qdisc_refusals() -> dict[str, str]:
    """Qdisc kind -> why it does not work here, "" when it does."""
    tried = tc.probe(arguments for _, arguments in QDISCS.values())
    return {kind: _short(tried[arguments]) for kind, (_, arguments) in QDISCS.items()}


def shaper_refusals(qdiscs: Mapping[str, str], probed: list[Capability]) -> dict[str, str]:
    """As `qdisc_refusals`, and fq counts only if packets were seen to be paced on it."""
    pacing = next((item for item in probed if item.id == "edt-pacing"), None)
    refusals = dict(qdiscs)
    if pacing is not None and not pacing.available and not refusals["fq"]:
        refusals["fq"] = pacing.reason
    return refusals


def to_json(refusals: Mapping[str, str], probed: list[Capability], frr: Frr) -> list[dict[str, Any]]:
    """The list that `status` answers."""
    found = [
        {"id": f"qdisc-{kind}", "available": not reason, "reason": reason or f"works: {QDISCS[kind][0]}"}
        for kind, reason in refusals.items()
    ]
    found += [{"id": item.id, "available": item.available, "reason": item.reason} for item in probed]
    down = frr.unavailable_reason()
    found.append({"id": "frr", "available": not down, "reason": down or "works: static routes"})
    return found


def _short(reason: str) -> str:
    """iproute2 prefixes its errors; the sentence is what counts."""
    return reason.removeprefix("tc: ").removeprefix("Error: ").rstrip(".")
