# SPDX-License-Identifier: Apache-2.0
"""Routing in daily use: one static route among 50,000, and one BGP neighbor among 50."""

from __future__ import annotations

import statistics
from typing import Any

from bench.control import timed
from bench.rows import Row
from lab import plan
from tests.router import Router, running_router

ROUTES = 50_000
PER_REQUEST = 10_000
NEIGHBORS = 50
ROUNDS = 3
CHANGES = 30


def routes() -> list[Row]:
    load_s, route_ms = [], []
    for _ in range(ROUNDS):
        with running_router() as target:
            load_s.append(loaded_s(target))
            route_ms.append(statistics.median(route_changed_ms(target, number) for number in range(CHANGES)))
    what = f"one static route changed among {ROUTES:,}, request to verified: median"
    return [
        Row.of("route-50k-load", f"{ROUTES:,} static routes, staged, to the verified kernel", "s", load_s),
        Row.of("route-one", what, "ms", route_ms),
    ]


def neighbors() -> list[Row]:
    spent_ms = []
    for _ in range(ROUNDS):
        with running_router() as target:
            add_neighbors(target)
            spent_ms.append(
                statistics.median(neighbor_changed_ms(target, number) for number in range(CHANGES))
            )
    what = f"one BGP neighbor changed among {NEIGHBORS}, request to verified: median"
    return [Row.of("bgp-neighbor-one", what, "ms", spent_ms)]


def loaded_s(target: Router) -> float:
    """Different /28, none of them on the way to anything of the lab."""

    def load() -> None:
        for first in range(0, ROUTES, PER_REQUEST):
            routes = [route(number) for number in range(first, first + PER_REQUEST)]
            target.api.call("POST", "/static-routes/bulk?candidate=true", {"upsert": routes, "delete": []})
        target.api.call("POST", "/candidate/commit", {"message": "benchmark"})

    return timed(load)[0]


def route(number: int) -> dict[str, Any]:
    destination = f"{11 + (number >> 20)}.{number >> 12 & 255}.{number >> 4 & 255}.{(number & 15) << 4}/28"
    return {"id": f"r{number}", "destination": destination, "gateway": plan.NET.peer_v4}


def route_changed_ms(target: Router, number: int) -> float:
    return patched_ms(target, f"/static-routes/r{number * 1000}", {"distance": 2 + number})


def add_neighbors(target: Router) -> None:
    """None of them answers; what is measured is how a change of one gets to FRR."""
    target.api.call("PUT", "/bgp-instances/main", {"asn": 65_000})
    target.api.call("PUT", "/route-maps/all", {})
    target.api.call("POST", "/route-map-entries", {"route_map": "all", "action": "permit"})
    neighbors = [
        {
            "id": f"n{number}",
            "bgp": "main",
            "address": f"198.51.100.{number + 1}",
            "remote_as": 65_001 + number,
            "multihop": 4,
            "import_route_map": "all",
            "export_route_map": "all",
        }
        for number in range(NEIGHBORS)
    ]
    target.api.call("POST", "/bgp-neighbors/bulk", {"upsert": neighbors, "delete": []})


def neighbor_changed_ms(target: Router, number: int) -> float:
    return patched_ms(target, f"/bgp-neighbors/n{number}", {"description": f"changed {number}"})


def patched_ms(target: Router, path: str, body: dict[str, Any]) -> float:
    etag = target.api.call("GET", path)["etag"]
    headers = {"If-Match": f'"{etag}"', "Content-Type": "application/merge-patch+json"}
    return timed(lambda: target.api.call("PATCH", path, body, headers=headers))[0] * 1000
