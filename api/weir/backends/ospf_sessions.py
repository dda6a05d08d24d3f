# SPDX-License-Identifier: Apache-2.0
"""OSPF's adjacencies: what FRR says of them, and which of them a change ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from weir.adapters.frr import Frr
from weir.backends.backend import Look
from weir.parts.delta import Delta
from weir.parts.effect import Effect, Sessions
from weir.parts.routing.block import Block
from weir.parts.routing.ospf import HEADER, header_of

ASK_S = 1.0
_KIND = "ospf-interface"
_DECISIVE = (
    "ip ospf area ",
    "ip ospf network ",
    "ip ospf hello-interval ",
    "ip ospf dead-interval ",
    "ip ospf passive",
    "ip ospf authentication ",
    "ip ospf message-digest-key ",
)
"""Neighbors with another value of these are none (RFC 2328, 10.5), or ospfd begins again on the interface."""

Told = Mapping[str, Mapping[str, Any]]
"""What ospfd says of each interface that takes part."""


def told(frr: Frr) -> Told:
    """Raises `Unavailable` when ospfd is silent; empty when there is none."""
    if not frr.listens("ospfd"):
        return {}
    found: Told = frr.show("ospfd", "show ip ospf interface json", ASK_S).get("interfaces") or {}
    return found


def learn(frr: Frr, devices: Callable[[], Mapping[str, str]]) -> Callable[[Collection[str] | None], Any]:
    """The source of what is learnt about interfaces; `devices` are those that are configured now, by id."""

    def state(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found = told(frr)
        return {
            name: _state(found[device])
            for name, device in devices().items()
            if (ids is None or name in ids) and device in found
        }

    return state


def _state(interface: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": interface.get("state"),
        "neighbors": interface.get("nbrCount"),
        "adjacencies": interface.get("nbrAdjacentCount"),
    }


def devices(blocks: Mapping[str, Block]) -> dict[str, str]:
    """The interfaces that take part, by the id of the object."""
    prefix = header_of("")
    return {
        block.owner[1]: header.removeprefix(prefix)
        for header, block in blocks.items()
        if block.owner is not None and block.owner[0] == _KIND
    }


def effects(frr: Frr, look: Look[Any, Mapping[str, Block], Any]) -> Iterator[Effect]:
    """By what is asked for: an adjacency that is not full is not ended."""
    delta: Delta[Block] = look.delta or Delta()
    changes = [*delta.set, *((old, None) for old in delta.removed)]
    if not any(old is not None and "ospfd" in old.daemons and old.owner for old, _ in changes):
        return
    full = {device: found.get("nbrAdjacentCount") or 0 for device, found in told(frr).items()}
    staying = {block.owner for block in look.wanted.values()}
    for old, new in changes:
        if old is None or old.owner is None or "ospfd" not in old.daemons:
            continue
        count = _count(old, full)
        if not count or (new is not None and _decisive(old) == _decisive(new)):
            continue
        words = "1 adjacency" if count == 1 else f"{count} adjacencies"
        if new is not None or old.owner in staying:
            yield Effect(*old.owner, "resets", f"{words} start{'s' * (count == 1)} again")
        else:
            text = f"{words} end{'s' * (count == 1)}"
            yield Effect(*old.owner, "drops-sessions", text, None, Sessions(count, True))


def _count(block: Block, full: Mapping[str, int]) -> int:
    if block.header == HEADER:
        return sum(full.values())
    return full.get(block.header.removeprefix(header_of("")), 0)


def _decisive(block: Block) -> tuple[object, ...]:
    starts = ("ospf router-id ",) if block.header == HEADER else _DECISIVE
    return (*(path[-1] for path in block.lines if path[-1].startswith(starts)), *block.secrets)
