# SPDX-License-Identifier: Apache-2.0
"""Names of interfaces and VRFs that mean something else to FRR or to /proc/sys."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.problem import Finding
from weir.model.rule import error

RESERVED = {
    "lo": "the loopback, which is the router's own",
    "all": "all interfaces of /proc/sys, and all VRFs of FRR",
    "default": "new interfaces of /proc/sys, and FRR's VRF of what is in none",
    "any": "every interface, to who captures packets",
    "none": "no interface, in what is written for people",
    "blackhole": "FRR's routes that drop in silence",
    "reject": "FRR's routes that drop with an answer",
    "label": "a word of FRR's routes",
    "onlink": "a word of FRR's routes",
    "table": "a word of FRR's routes",
    "tag": "a word of FRR's routes",
    "vrf": "a word of FRR's routes",
    "color": "a word of FRR's routes",
    "nexthop-vrf": "a word of FRR's routes",
}
NULL = "null0"
NAMED = "interface"
"""The kind whose names are looked at."""


def meaning_of(name: str) -> str | None:
    """What else a name means, if it does."""
    folded = name.casefold()
    if NULL.startswith(folded):  # as staticd compares: any case, and any beginning of it
        return "FRR's interface that drops everything"
    return RESERVED.get(folded)


def naming_findings(change: Change) -> Iterator[Finding]:
    """An error for an interface or VRF that is new. One that is there from before stays as it is: it can be
    changed and deleted, and its deletion can be rolled back."""
    if change.kind != NAMED or change.old is not None:
        return
    new, meaning = change.new, meaning_of(change.id)
    if isinstance(new, Interface) and meaning is not None:
        what = "interface" if new.vrf_table is None else "VRF"
        text = f"{change.id!r} is the name of {meaning}: call the {what} something else"
        yield error("reserved-name", new, "id", text)
