# SPDX-License-Identifier: Apache-2.0
"""Copies of the static routes, and of those of OSPF, that FRR has put into the kernel, which stay when FRR
takes its own away; and static routes that the kernel has without FRR.

zebra removes all routes of a daemon at the moment it dies, and so does stopping FRR. A copy
has the same next hops, our protocol number and the worst metric there is: it is used only while FRR's own is
missing. FRR reads the first byte of the metric as the distance of 255, so it never takes a copy for a route.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.process import run
from weir.adapters.route_messages import Entry, KernelRoute
from weir.model.problem import ApplyFailed, Unavailable

log = logging.getLogger(__name__)

FRR_STATIC_PROTO = 196
"""RTPROT_ZSTATIC: what zebra marks staticd's routes with."""
BEHIND_ALL = 0xFF00_0000
"""From this metric on no route is used while there is another one, nor is it one to FRR."""
_DISTANCE_AT = 24
METRIC = BEHIND_ALL | OUR_PROTO
FRR_OSPF_PROTO = 188
"""RTPROT_OSPF."""
OSPF_METRIC = BEHIND_ALL | FRR_OSPF_PROTO
MAIN_TABLE = "254"
_REFUSED = re.compile(r"(?:^ip: )?(?:Error: |RTNETLINK answers: )?(\S.*?)\.? Command failed -:(\d+)")
"""Of what `ip -force -batch` says: each reason, and the line that it is of."""
Route = TypeVar("Route", bound=Hashable)


def _links_of_vrfs() -> list[dict[str, Any]]:
    command = "ip -j -N -d link show type vrf"
    try:
        found: list[dict[str, Any]] = json.loads(run(command.split()) or "[]")
    except ValueError as error:
        raise Unavailable(f"{command} printed no JSON: {error}", code="bad-answer") from error
    return found


def vrf_tables() -> dict[str, str]:
    """The routing table of each VRF that there is, by its name. Raises `Unavailable`."""
    return {
        str(item["ifname"]): str(item["linkinfo"]["info_data"]["table"])
        for item in _links_of_vrfs()
        if item  # ip fills the list with empty entries for interfaces of other types
    }


def own_metric(distance: int) -> int:
    """Of a route that the kernel keeps and FRR takes for one of its own choice: zebra reads the first byte of
    the metric as the distance (`netlink_route_change_read_unicast` of its rt_netlink.c)."""
    return distance << _DISTANCE_AT | OUR_PROTO


def is_own_metric(metric: int) -> bool:
    """Whether a route of our protocol is one that the kernel keeps, not a copy, a tunnel's or an uplink's."""
    distance = metric >> _DISTANCE_AT
    return 0 < distance < BEHIND_ALL >> _DISTANCE_AT and metric == own_metric(distance)


def change(put: Iterable[KernelRoute], remove: Iterable[KernelRoute], metric: int = METRIC) -> None:
    """Make copies, or make them so; then remove others. Each protocol's have a metric of their own."""
    change_entries([Entry(metric, route) for route in put], [Entry(metric, route) for route in remove])


def change_entries(put: Iterable[Entry], remove: Iterable[Entry]) -> dict[Entry, str]:
    """As `change`; what the kernel did not take or give up, and why, as `batch`."""
    return batch(
        [
            *((entry, _line("replace", entry)) for entry in put),
            *((entry, _line("del", entry)) for entry in remove),
        ]
    )


def batch(lines: Sequence[tuple[Route, str]]) -> dict[Route, str]:
    """Have `ip` do them all; a line has no options, and its destination tells the family. One that the kernel
    does not take any more, as its interface went meanwhile, is no fault: that is an event, and another look.

    Gives, by the route, why a line was not done, of as many as `ip` is quoted with. Raises `Unavailable`.
    """
    if not lines:
        return {}
    try:
        run(["ip", "-force", "-batch", "-"], text="".join(f"{line}\n" for _, line in lines))
    except ApplyFailed as problem:
        log.info("not every route was made or removed: %s", problem.message)
        return {lines[int(number) - 1][0]: why for why, number in _REFUSED.findall(problem.message)}
    return {}


def _line(verb: str, entry: Entry) -> str:
    metric, route = entry
    kind = "" if route.kind == "unicast" else f"{route.kind} "
    where = f"{route.destination} table {route.table} proto {OUR_PROTO} metric {metric}"
    return f"route {verb} {kind}{where} {' '.join(_hop_words(route))}".rstrip()


def _hop_words(route: KernelRoute) -> Iterator[str]:
    if len(route.hops) == 1:
        yield from route.hops[0].words
    else:
        for hop in route.hops:
            yield from ("nexthop", *hop.words, "weight", str(hop.weight))
