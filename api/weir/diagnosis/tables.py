# SPDX-License-Identifier: Apache-2.0
"""E1, E4 and E5: tables and sockets that outsiders can fill, and what is looked up for each packet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.diagnosis.sample import Table
from weir.diagnosis.symptom import Number, Span, Symptom
from weir.model.units import counted

FULL_SHARE = 0.8
CHAINED_SOCKETS = 16
SLOW_LISTENER_NS = 5_000
"""Beside the number of sockets; a guess."""
SLOW_ROUTE_NS = 400
"""Of a lookup of a random destination: a guess. Measured: 65 ns with no routes, 146 with 100,000."""
OVERFLOWS_PS = 1.0
SOCKET_DROPS_PS = 10.0


def full_neighbours(span: Span) -> Iterator[Symptom]:
    """A scan of a connected network makes an entry for each address."""
    yield from _full("neighbours-full", span.before.neighbours, span.now.neighbours, span.elapsed_s)


def full_connections(span: Span) -> Iterator[Symptom]:
    """Somebody opens connections faster than they are forgotten."""
    yield from _full("connections-full", span.before.connections, span.now.connections, span.elapsed_s)


def _full(
    code: str, before: Mapping[str, Table] | None, now: Mapping[str, Table] | None, elapsed_s: float
) -> Iterator[Symptom]:
    """A table is nearly full, or something found no room in it."""
    before = before or {}
    for name, table in (now or {}).items():
        fill = table.entries / table.limit if table.limit > 0 else 0.0
        earlier = before[name].refused if name in before else None
        refused = 0 if table.refused is None or earlier is None else max(table.refused - earlier, 0)
        if fill > FULL_SHARE or refused > 0:
            numbers = [
                Number("filled_share", fill, "share", FULL_SHARE),
                Number("entries", table.entries, ""),
            ]
            if table.refused is not None:
                numbers.append(Number("refused_ps", refused / elapsed_s, "1/s", 0.0))
            who = f", and {counted(refused, 'new one')} found no room" if refused else ""
            yield Symptom(code, name, tuple(numbers), who)


def crowded_addresses(span: Span) -> Iterator[Symptom]:
    """Many listening sockets of one address and port: a lookup walks them all (measured: 38 ns for one, 107
    for 32, 6,542 for 1,000, 267,605 for 8,000)."""
    for chain in span.now.chains or ():
        if chain.sockets > CHAINED_SOCKETS:
            numbers = [Number("sockets", chain.sockets, "", CHAINED_SOCKETS), Number("uid", chain.uid, "")]
            took = ""
            if chain.lookup_ns is not None:
                numbers.append(Number("lookup_ns", chain.lookup_ns, "ns", SLOW_LISTENER_NS))
                took = f", which takes {chain.lookup_ns:,} ns"
            yield Symptom("crowded-listener", chain.address, tuple(numbers), took)


def slow_routes(span: Span) -> Iterator[Symptom]:
    """Looking for the route of a packet takes long, as it does where the table outgrows the caches."""
    found = span.now.route_lookups
    if found is None or found.random_ns <= SLOW_ROUTE_NS:
        return
    numbers = (
        Number("random_ns", found.random_ns, "ns", SLOW_ROUTE_NS),
        Number("fixed_ns", found.fixed_ns, "ns"),
    )
    count = "an unknown number of" if found.routes is None else f"{found.routes:,}"
    yield Symptom("slow-route-lookup", "IPv4", numbers, count)


def overflows(span: Span) -> Iterator[Symptom]:
    """Connections came faster than their program accepts them."""
    before, now = span.before.overflows, span.now.overflows
    if before is not None and now is not None and (rate := (now - before) / span.elapsed_s) > OVERFLOWS_PS:
        yield Symptom("listener-overflow", "tcp", (Number("overflows_ps", rate, "1/s", OVERFLOWS_PS),))


def unread_sockets(span: Span) -> Iterator[Symptom]:
    """A program does not read what is sent to its UDP socket. The worst socket of each address counts."""
    if span.before.sockets is None or span.now.sockets is None:
        return
    before: dict[str, int] = {}
    now: dict[str, int] = {}
    for held, sockets in ((before, span.before.sockets), (now, span.now.sockets)):
        for socket in sockets:
            held[socket.address] = max(held.get(socket.address, 0), socket.drops)
    for address, drops in now.items():
        rate = (drops - before.get(address, drops)) / span.elapsed_s
        if rate > SOCKET_DROPS_PS:
            yield Symptom("socket-unread", address, (Number("drops_ps", rate, "packets/s", SOCKET_DROPS_PS),))


def reverse_path(span: Span) -> Iterator[Symptom]:
    """The kernel looks up the way back to the source of each packet as well (E5: 1,468 cycles, not 1,169)."""
    for where in span.now.reverse_path or ():
        yield Symptom("second-lookup", where, (Number("lookups", 2, "", 1),))
