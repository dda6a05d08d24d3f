# SPDX-License-Identifier: Apache-2.0
"""How each port shapes: what was asked, what this kernel and this device can do, and why it is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.adapters.datapath_records import ANY_SIZE, NO_ABOVE, NO_TAG, Above, Mode, Role, Tag
from weir.backends.leaves import Leaf, leaf_of
from weir.compiler.types import PortSpec, Waiting


@dataclass(frozen=True, slots=True)
class Decision:
    """How a port shapes; and its share in the fast path: no role, FAST, or FAST and FLOW.

    `stacking` are the roles of ports that are upon another, or below one; `above` is what a member is under.
    XDP sends by it no packets of more than `largest_bytes`, because of routes. `full`: whether the firewall
    has to know whose class is full, and how that is told.
    """

    mode: Mode
    reason: str
    fast: Role = Role.NOTHING
    fast_reason: str = ""
    stacking: Role = Role.NOTHING
    tag: Tag = NO_TAG
    above: Above = NO_ABOVE
    largest_bytes: int = ANY_SIZE
    full: Role = Role.NOTHING


class PortModes:
    """Decides by what was tried: `refusals` has the reason for each qdisc kind that does not work here."""

    def __init__(self, refusals: Mapping[str, str]) -> None:
        self._refusals = dict(refusals)
        self._refused_on: dict[tuple[str, int], str] = {}

    def decide(self, spec: PortSpec, ifindex: int) -> Decision:
        """The mode for a port. `auto` is EDT where fq can pace, else policing."""
        if spec.shaper == "police":
            return Decision("police", "asked for")
        if spec.shaper == "htb":
            refusal = self._refusals.get("htb", "")
            return Decision("police", f"HTB: {refusal}") if refusal else Decision("htb", "asked for")
        refusal = self._refusals.get("fq", "") or self._refused_on.get((spec.ifname, ifindex), "")
        if refusal:
            return Decision("police", f"no pacing, because fq is not available: {refusal}")
        return Decision("edt", "asked for" if spec.shaper == "edt" else "fq paces what BPF schedules")

    def refuse(self, kind: str, reason: str) -> None:
        """Something that looked available does not work after all."""
        self._refusals[kind] = reason

    def refuse_pacing(self, ifname: str, ifindex: int, reason: str) -> None:
        """Remember that fq could not be put in place on this very device (until it is recreated)."""
        self._refused_on[ifname, ifindex] = reason

    def unpaced(self, ifname: str) -> str:
        """Why `fq` does not work on an interface; "" as far as is known."""
        of_device = (reason for (name, _), reason in list(self._refused_on.items()) if name == ifname)
        return self._refusals.get("fq", "") or next(of_device, "")

    def leaf(self, waiting: Waiting) -> Leaf:
        """The qdisc below an HTB class whose packets are to wait so."""
        return leaf_of(waiting, self._refusals)
