# SPDX-License-Identifier: Apache-2.0
"""FRR's routes of one protocol in the kernel, our copies of them, and the routes that the kernel has without
FRR: read as a whole once, then followed by what the kernel tells of each change.

Some changes it does not tell (a route that goes with its interface, its address or its next hop), and some
are lost: then only a look at the whole will do, as in the beginning.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable

from weir.adapters.events import listen, messages, receive_all
from weir.adapters.link_messages import links
from weir.adapters.netlink import OUR_PROTO
from weir.adapters.route_messages import Entry, KernelRoute, Place, decoded, devices, listed, protocol_of
from weir.adapters.standing_routes import FRR_STATIC_PROTO, METRIC, is_own_metric

_GROUPS = [1, 5, 7, 9, 11, 32]
"""RTNLGRP of links, addresses and routes of both families, next hops."""
_NEW_ROUTE, _DEL_ROUTE = 24, 25
_SILENT = {16, 17, 20, 21, 105}
"""RTM_NEWLINK, DELLINK, NEWADDR, DELADDR, DELNEXTHOP: routes go with these without a word."""


class FollowedRoutes:
    """One route of each protocol at a place, as FRR and we make them. Not thread-safe."""

    def __init__(self, protocol: int = FRR_STATIC_PROTO, metric: int = METRIC) -> None:
        """`metric` is that of the copies."""
        self._protocol = protocol
        self._metric = metric
        self.installed: dict[Place, KernelRoute] = {}
        """FRR's."""
        self.copies: dict[Place, KernelRoute] = {}
        self.odd: set[Place] = set()
        """Where the two differ."""
        self.moved: set[str] = set()
        """Destinations whose route of FRR came, went or changed since `look`."""
        self.own: dict[Place, tuple[Entry, ...]] = {}
        """Those without FRR."""
        self.own_moved: set[Place] = set()
        """Of `own` where something came, went or changed since `look`, or FRR's route did."""
        self.ready: frozenset[str] = frozenset()
        """The interfaces that are up and have a link."""
        self._told: socket.socket | None = None
        self._names: dict[int, str] = {}

    def look(self) -> None:
        """Read all of both. Raises `Unavailable`."""
        if self._told is None:
            self._told = listen(socket.NETLINK_ROUTE, _GROUPS)
        receive_all(self._told)  # what is told from here on is not in what is read, or is in it as well
        self._names = devices()
        frr = (decoded(body, self._names).route for body in listed(self._protocol))
        self.installed = {route.place: route for route in frr}
        self.ready = frozenset(link.name for link in links() if link.up and link.running)
        self.copies, self.own = {}, {}
        for entry in (decoded(body, self._names) for body in listed(OUR_PROTO)):
            if entry.metric == self._metric:
                self.copies[entry.route.place] = entry.route
            elif is_own_metric(entry.metric):
                self._put(entry)
        places = self.installed.keys() | self.copies.keys()
        self.odd = {place for place in places if self.installed.get(place) != self.copies.get(place)}
        self.moved, self.own_moved = set(), set()

    def follow(self) -> bool:
        """Take what was told since. False: that does not do, and `look` is needed."""
        if self._told is None:
            return False
        is_whole = True
        for data in receive_all(self._told):
            is_whole = is_whole and bool(data)  # an empty one stands for what was lost
            for kind, start, end in messages(data):
                is_whole = is_whole and kind not in _SILENT and self._take(kind, data, start, end)
        return is_whole

    def close(self) -> None:
        """Follow no more; the next `look` begins again."""
        if self._told is not None:
            self._told.close()
            self._told = None

    def copies_to(self, destinations: Iterable[str]) -> list[KernelRoute]:
        """In any table."""
        tables = {table for table, _ in self.copies}
        places = [(table, destination) for destination in destinations for table in tables]
        return [self.copies[place] for place in places if place in self.copies]

    def _take(self, kind: int, data: bytes, start: int, end: int) -> bool:
        """False: it is about a part of a route, or about one that is not known."""
        if kind not in (_NEW_ROUTE, _DEL_ROUTE) or end - start < 12:
            return True
        protocol = protocol_of(data, start)
        if protocol not in (self._protocol, OUR_PROTO):
            return True
        entry = decoded(data[start:end], self._names)
        metric, route = entry
        if protocol == OUR_PROTO and is_own_metric(metric):
            return self._take_own(kind, entry)
        if protocol == OUR_PROTO and metric != self._metric:
            return True  # a tunnel's, or the copy of another protocol's
        held = self.installed if protocol == self._protocol else self.copies
        place = route.place
        if kind == _NEW_ROUTE:
            held[place] = route
        elif held.get(place) == route:
            del held[place]
        else:
            return False
        if self.installed.get(place) == self.copies.get(place):
            self.odd.discard(place)
        else:
            self.odd.add(place)
        if protocol == self._protocol:
            self.moved.add(route.destination)
            if place in self.own:
                self.own_moved.add(place)
        return True

    def _take_own(self, kind: int, entry: Entry) -> bool:
        place = entry.route.place
        self.own_moved.add(place)
        if kind == _NEW_ROUTE:
            self._put(entry)
            return True
        held = self.own.get(place, ())
        left = tuple(one for one in held if one != entry)
        if left:
            self.own[place] = left
        else:
            self.own.pop(place, None)
        return left != held

    def _put(self, entry: Entry) -> None:
        place = entry.route.place
        others = (one for one in self.own.get(place, ()) if one.metric != entry.metric)
        self.own[place] = (*others, entry)
