# SPDX-License-Identifier: Apache-2.0
"""What a change of a bond costs. Members that stay notice nothing; what makes the bond again is said by the
part `network`, which does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.backends.backend import Look
from weir.parts.bonds import BondSpec
from weir.parts.delta import Delta
from weir.parts.effect import Effect

MOVES_MS = 1000
"""What a member carried that leaves, or is the active one no more, the others carry within this."""


def bonds_effects(look: Look[Any, Mapping[str, BondSpec], Any]) -> Iterator[Effect]:
    """By what is configured before and after: the device may not be there yet."""
    delta: Delta[BondSpec] = look.delta or Delta()
    for old, new in delta.set:
        if old is not None:
            yield from _of_bond(old, new)


def _of_bond(old: BondSpec, new: BondSpec) -> Iterator[Effect]:
    name, before = new.ifname, {member.ifname for member in old.members}
    after = {member.ifname for member in new.members if member.up}
    gone = sorted(before - {member.ifname for member in new.members})
    if before and not after:
        yield Effect("interface", name, "drops-sessions", f"{name} has no member any more that is enabled")
    elif gone:
        text = f"{', '.join(gone)} {'leaves' if len(gone) == 1 else 'leave'} {name}"
        yield Effect("interface", name, "resets", f"{text}, and the other members carry on", MOVES_MS)
    if new.mode == old.mode == "802.3ad":
        yield from _joining(name, sorted(after - before), before)
    if new.primary and new.primary != old.primary and old.mode == new.mode:
        text = f"{new.primary} becomes the active member of {name}, if its link is up"
        yield Effect("interface", name, "resets", text, MOVES_MS)
    least, least_before = new.settings.get("min_links", 0), old.settings.get("min_links", 0)
    if least > max(least_before, len(after)):
        text = f"{name} is down with fewer than {least} links, and has {len(after)} enabled members"
        yield Effect("interface", name, "drops-sessions", text)


def _joining(name: str, come: list[str], before: set[str]) -> Iterator[Effect]:
    """Each end learns when the other one takes frames by a message, and many only ask whether it agrees."""
    if come and before:
        joins, it, takes = ("joins", "it", "it take") if len(come) == 1 else ("join", "them", "them take")
        text = f"{', '.join(come)} {joins} {name}"
        early = f"the other end may send to {it} before LACP lets {takes} packets, and those packets are lost"
        yield Effect("interface", name, "resets", f"{text}: {early}", MOVES_MS)
