# SPDX-License-Identifier: Apache-2.0
"""What became of one static route, in words: FRR's line, and the kernel's route."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

from weir.adapters.frr import without_distance
from weir.adapters.route_messages import KernelRoute
from weir.backends.routes_own import port_of, words_of
from weir.backends.routes_state import RoutesState
from weir.backends.routes_wanted import entry_of, line_of
from weir.parts.explained import Line
from weir.parts.routes import RouteSpec


def in_frr(spec: RouteSpec, lines: Set[str]) -> Line:
    line = line_of(spec)
    if line in lines:
        return Line("destination", line, "FRR has it", True)
    start = " ".join(line.split()[:3]) + " "
    near = sorted(other for other in lines if other.startswith(start))
    if not near:
        return Line("destination", line, "FRR has no route of Weir to this destination", False)
    by_distance = [other for other in near if without_distance(other) == without_distance(line)]
    words = f"FRR has {' and '.join(by_distance or near)}"
    return Line("distance" if by_distance else "gateway", line, words, False)


def in_kernel(spec: RouteSpec, table: str, held: RoutesState, wanted: Collection[RouteSpec]) -> Line:
    """FRR's own, or else our copy of it, in one routing table."""
    place = table, spec.destination
    found, kept = held.installed.get(place), held.copies.get(place)
    meant = "in use while its next hop can be reached"
    better = [
        other.id
        for other in wanted
        if (other.destination, other.vrf) == (spec.destination, spec.vrf) and other.distance < spec.distance
    ]
    route = found or kept
    if route is None:
        return Line(
            "in use", meant, "not in the kernel: FRR installs it when its next hop can be reached", False
        )
    ways = _words_of(route)
    words = ways if found else f"{ways}, kept by Weir in place of FRR's"
    if leads(route, spec):
        return Line("in use", meant, words, True)
    if better:
        return Line("in use", f"waits behind {', '.join(sorted(better))}", words, True)
    return Line("in use", meant, f"by {words}: whether that leads to the gateway is not known", None)


def in_table(spec: RouteSpec, held: RoutesState) -> Iterator[Line]:
    """Of a route that the kernel keeps without FRR."""
    entry = entry_of(spec)
    present = held.own.get(entry.route.place, ())
    words = " and ".join(map(words_of, present))
    if entry in present:
        yield Line("destination", words_of(entry), "in the kernel's table", True)
    elif port_of(entry) not in held.ready:
        waits = f"not in the kernel's table: {spec.port} is down or has no link"
        yield Line("destination", words_of(entry), waits, not present)
    else:
        said = f"the kernel's table has {words}" if present else "not in the kernel's table"
        yield Line("destination", words_of(entry), said, False)


def leads(route: KernelRoute, spec: RouteSpec) -> bool:
    """Whether the kernel's route has the way that is asked for."""
    if spec.blackhole:
        return route.kind == "blackhole"
    return any(
        (spec.gateway is None or hop.gateway.split()[-1:] == [spec.gateway])
        and (spec.interface is None or hop.device == spec.interface)
        for hop in route.hops
    )


def _words_of(route: KernelRoute) -> str:
    return route.kind if not route.hops else ", ".join(" ".join(hop.words) for hop in route.hops)
