# SPDX-License-Identifier: Apache-2.0
"""BGP's sessions: what FRR says of them, and which of them a change ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from weir.adapters.frr import Frr
from weir.backends.backend import Look
from weir.parts.delta import Delta
from weir.parts.effect import Effect, Sessions
from weir.parts.routing.block import Block, Peer

ASK_S = 1.0
_AGAIN = re.compile(
    r"(?:no )?neighbor \S+ (?:remote-as|update-source|ebgp-multihop|password|passive|capability|activate"
    r"|route-reflector-client)(?: |$)"
)
"""bgpd begins a session again for another value of these (peer_change_reset in bgpd/bgpd.c)."""
_ALL_AGAIN = ("bgp router-id ",)

Told = Mapping[tuple[str, str], Mapping[str, Any]]
"""What bgpd says of each neighbour, by VRF and address."""


def told(frr: Frr) -> Told:
    """Raises `Unavailable` when bgpd is silent; empty when there is none."""
    if not frr.listens("bgpd"):
        return {}
    answer = frr.show("bgpd", "show bgp vrf all neighbors json", ASK_S)
    return {
        (vrf, address): neighbor
        for vrf, neighbors in answer.items()
        if isinstance(neighbors, dict)
        for address, neighbor in neighbors.items()
        if isinstance(neighbor, dict)
    }


def learn(frr: Frr, peers: Callable[[], Iterable[Peer]]) -> Callable[[Collection[str] | None], Any]:
    """The source of what is learnt about neighbours; `peers` are those that are configured now."""

    def state(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found = told(frr)
        return {
            peer.object[1]: _state(found[peer.vrf, peer.address])
            for peer in peers()
            if (ids is None or peer.object[1] in ids) and (peer.vrf, peer.address) in found
        }

    return state


def _state(neighbor: Mapping[str, Any]) -> dict[str, Any]:
    is_up = neighbor.get("bgpState") == "Established"
    families = neighbor.get("addressFamilyInfo") or {}
    return {
        "session": neighbor.get("bgpState"),
        "up_s": neighbor.get("bgpTimerUpMsec", 0) // 1000 if is_up else None,
        "prefixes_received": _total(families, "acceptedPrefixCounter") if is_up else None,
        "prefixes_sent": _total(families, "sentPrefixCounter") if is_up else None,
        "last_error": _last_error(neighbor),
    }


def _total(families: Mapping[str, Mapping[str, Any]], name: str) -> int | None:
    counted = [family[name] for family in families.values() if name in family]
    return sum(counted) if counted else None


def _last_error(neighbor: Mapping[str, Any]) -> str | None:
    reason = neighbor.get("lastResetDueTo") or neighbor.get("lastNotificationReason")
    notified = neighbor.get("lastNotificationReason")
    return ": ".join(dict.fromkeys(str(words) for words in (reason, notified) if words)) or None


def effects(frr: Frr, look: Look[Any, Mapping[str, Block], Any]) -> Iterator[Effect]:
    """By what is asked for: a session that is not established is not ended."""
    delta: Delta[Block] = look.delta or Delta()
    changes = [*delta.set, *((old, None) for old in delta.removed)]
    if not any(old is not None and old.peers for old, _ in changes):
        return
    found = told(frr)
    up = {key for key, neighbor in found.items() if neighbor.get("bgpState") == "Established"}
    owners = {block.owner for block in look.wanted.values()}
    for old, new in changes:
        if old is None or not old.peers:
            continue
        ended = [peer for peer in old.peers if (peer.vrf, peer.address) in up]
        if new is None or _lines(old, _ALL_AGAIN) != _lines(new, _ALL_AGAIN):
            yield from _all(old, old.owner in owners, len(ended))
        else:
            yield from _some(old, new, ended)


def _all(old: Block, stays: bool, count: int) -> Iterator[Effect]:
    if old.owner is None or not count:
        return
    sessions = "its session" if count == 1 else f"its {count} sessions"
    if stays:
        yield Effect(*old.owner, "resets", f"{sessions} start{'s' * (count == 1)} again")
    else:
        yield Effect(
            *old.owner, "drops-sessions", f"{sessions} end{'s' * (count == 1)}", None, Sessions(count, True)
        )


def _some(old: Block, new: Block, ended: Iterable[Peer]) -> Iterator[Effect]:
    left = {peer.address: peer for peer in new.peers}
    for peer in ended:
        after = left.get(peer.address)
        if after is None:
            text = f"the session with {peer.address} ends"
            yield Effect(*peer.object, "drops-sessions", text, None, Sessions(1, True))
        elif _decisive(old, peer) != _decisive(new, after):
            yield Effect(*after.object, "resets", f"the session with {peer.address} starts again")


def _decisive(block: Block, peer: Peer) -> frozenset[object]:
    """What makes a session the same one."""
    start = f"neighbor {peer.address} "
    lines = (path for path in block.lines if path[-1].startswith(start) and _AGAIN.match(path[-1]))
    place = "/".join((*peer.object, ""))
    return frozenset((*lines, *(pair for pair in block.secrets if pair[0].startswith(place))))


def _lines(block: Block, starts: tuple[str, ...]) -> list[str]:
    return [path[-1] for path in block.lines if path[-1].startswith(starts)]
