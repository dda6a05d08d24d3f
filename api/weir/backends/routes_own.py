# SPDX-License-Identifier: Apache-2.0
"""Static routes that the kernel keeps without FRR (docs/adr/0260): which entries come and go.

An entry is there while its port is up and has a link, as zebra would have it: so another route of a larger
distance takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from weir.adapters.route_messages import Entry, Place
from weir.backends.routes_state import RoutesState
from weir.backends.routes_wanted import Asked


def compared(asked: Asked, held: RoutesState, places: Iterable[Place]) -> tuple[set[Entry], set[Entry]]:
    """What comes and what goes at some places."""
    put: set[Entry] = set()
    drop: set[Entry] = set()
    for place in places:
        entry = asked.own.get(place)
        present = held.own.get(place, ())
        if entry is not None and port_of(entry) in held.ready:
            if entry not in present:
                put.add(entry)
            drop.update(one for one in present if one.metric != entry.metric)
        else:
            drop.update(one for one in present if not _waits_for_frr(one, asked, held))
    return put, drop


def waiting(asked: Asked, held: RoutesState, places: Iterable[Place]) -> set[Place]:
    """Where an entry is asked for whose port is not ready."""
    return {place for place in places if (e := asked.own.get(place)) and port_of(e) not in held.ready}


def _waits_for_frr(entry: Entry, asked: Asked, held: RoutesState) -> bool:
    """Whether FRR is to have the route from now on, leading to the same gateway, and has not put it into the
    kernel yet."""
    place, hop = entry.route.place, entry.route.hops[0]
    is_asked = (place[1], hop.gateway) in asked.gateways and place not in asked.own
    return is_asked and hop.device in held.ready and place not in held.installed


def port_of(entry: Entry) -> str:
    return entry.route.hops[0].device


def missing(
    put: Set[Entry], own: Mapping[Place, tuple[Entry, ...]], ready: Set[str], why: Mapping[Entry, str]
) -> Iterator[str]:
    """What the kernel has not taken although the port is ready."""
    for entry in put:
        if entry not in own.get(entry.route.place, ()) and port_of(entry) in ready:
            said = f": {why[entry]}" if entry in why else ""
            yield f"the kernel has not taken the route {words_of(entry)}{said}"


def left(drop: Set[Entry], own: Mapping[Place, tuple[Entry, ...]]) -> Iterator[str]:
    for entry in drop:
        if entry in own.get(entry.route.place, ()):
            yield f"the kernel still has the route {words_of(entry)}"


def words_of(entry: Entry) -> str:
    """As `ip` takes it, with the distance."""
    hops = " ".join(word for hop in entry.route.hops for word in hop.words)
    return f"{entry.route.destination} {hops} distance {entry.metric >> 24}"
