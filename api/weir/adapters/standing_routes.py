# SPDX-License-Identifier: Apache-2.0
"""Copies of the static routes that FRR has put into the kernel, which stay when FRR takes its own away.

zebra removes all static routes at the moment staticd dies, and so does stopping FRR. A copy
has the same next hops, our protocol number and the worst metric there is: it is used only while FRR's own is
missing. FRR reads the first byte of the metric as the distance of 255, so it never takes a copy for a route.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

log = logging.getLogger(__name__)

FRR_STATIC_PROTO = 196
"""RTPROT_ZSTATIC: what zebra marks staticd's routes with."""
METRIC = 0xFF00_0000 | OUR_PROTO
MAIN_TABLE = "254"


@dataclass(frozen=True, slots=True)
class Hop:
    gateway: str
    """With its family where that is another than the route's; "" = on the link."""
    device: str
    onlink: bool
    weight: int

    @property
    def words(self) -> list[str]:
        via = ["via", *self.gateway.split()] if self.gateway else []
        return [*via, "dev", self.device, *(["onlink"] if self.onlink else [])]


@dataclass(frozen=True, slots=True)
class KernelRoute:
    """What one route of a table does; `kind` is "unicast", "blackhole", ..."""

    destination: str
    table: str
    kind: str
    hops: tuple[Hop, ...]

    @property
    def place(self) -> tuple[str, str]:
        return self.table, self.destination


def read() -> tuple[frozenset[KernelRoute], frozenset[KernelRoute]]:
    """(FRR's static routes, our copies) of all tables. Raises `Unavailable` or `ApplyFailed`."""
    frr = (route_of(item, version) for version in (4, 6) for item in listed(version, FRR_STATIC_PROTO))
    ours = (
        route_of(item, version)
        for version in (4, 6)
        for item in listed(version, OUR_PROTO)
        if item.get("metric") == METRIC
    )
    return frozenset(frr), frozenset(ours)


def listed(version: int, protocol: int) -> list[dict[str, Any]]:
    return _asked(f"ip -j -N -d -{version} route show table all proto {protocol}")


def _asked(command: str) -> list[dict[str, Any]]:
    printed = run(command.split())
    try:
        found: list[dict[str, Any]] = json.loads(printed or "[]")
    except ValueError as error:
        raise Unavailable(f"{command} printed no JSON: {error}", code="bad-answer") from error
    return found


def vrf_tables() -> dict[str, str]:
    """The routing table of each VRF that there is, by its name. Raises `Unavailable`."""
    return {
        str(item["ifname"]): str(item["linkinfo"]["info_data"]["table"])
        for item in _asked("ip -j -N -d link show type vrf")
        if item  # ip fills the list with empty entries for interfaces of other types
    }


def change(put: Iterable[KernelRoute], remove: Iterable[KernelRoute]) -> None:
    """Make copies, or make them so; then remove others. One that the kernel does not take any more, as its
    interface went meanwhile, is no fault: that is an event, and another look."""
    lines = [*(_line("replace", route) for route in put), *(_line("del", route) for route in remove)]
    if not lines:
        return
    try:
        run(["ip", "-force", "-batch", "-"], text="\n".join(lines) + "\n")
    except ApplyFailed as problem:
        log.info("not every copy of a route was made or removed: %s", problem.message)


def _line(verb: str, route: KernelRoute) -> str:
    version = "-6 " if ":" in route.destination else ""
    kind = "" if route.kind == "unicast" else f"{route.kind} "
    where = f"{route.destination} table {route.table} proto {OUR_PROTO} metric {METRIC}"
    return f"{version}route {verb} {kind}{where} {' '.join(_hop_words(route))}".rstrip()


def _hop_words(route: KernelRoute) -> Iterator[str]:
    if len(route.hops) == 1:
        yield from route.hops[0].words
    else:
        for hop in route.hops:
            yield from ("nexthop", *hop.words, "weight", str(hop.weight))


_KINDS = {"1": "unicast", "6": "blackhole", "7": "unreachable", "8": "prohibit"}
"""RTN_*, as `ip -N` writes them."""


def route_of(item: dict[str, Any], version: int) -> KernelRoute:
    text = str(item["dst"])
    if text == "default":
        text = "::/0" if version == 6 else "0.0.0.0/0"
    kind = _KINDS.get(str(item.get("type", "1")), "unicast")
    parts = item.get("nexthops") or [item]
    hops = tuple(sorted(map(_hop, parts), key=str)) if kind == "unicast" else ()
    return KernelRoute(str(ip_network(text)), str(item.get("table", MAIN_TABLE)), kind, hops)


def _hop(item: dict[str, Any]) -> Hop:
    via = item.get("via") or {}
    gateway = f"{via['family']} {via['host']}" if via else str(item.get("gateway", ""))
    return Hop(
        gateway, str(item.get("dev", "")), "onlink" in item.get("flags", ()), int(item.get("weight", 1))
    )
