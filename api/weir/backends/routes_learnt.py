# SPDX-License-Identifier: Apache-2.0
"""What is learnt about static routes: whether they are in use, and by which way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from weir.adapters import standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.frr import Frr
from weir.adapters.route_lookup import is_chosen
from weir.adapters.standing_routes import MAIN_TABLE
from weir.backends.daemons import Learn
from weir.backends.routes_explained import leads
from weir.backends.routes_wanted import entry_of, line_of
from weir.parts.routes import RouteSpec


def learn(frr: Frr, specs: Callable[[], Mapping[str, RouteSpec]]) -> Learn:
    """The source; `specs` are the routes that are configured now."""

    def state(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        wanted = specs()
        chosen = {name: wanted[name] for name in (wanted if ids is None else ids) if name in wanted}
        if not chosen:
            return {}
        kernel = FollowedRoutes()
        kernel.look()
        tables = standing_routes.vrf_tables() if any(spec.vrf for spec in chosen.values()) else {}
        own = {name: _own(kernel, spec) for name, spec in chosen.items() if spec.port is not None}
        found = {
            name: _in_kernel(kernel, tables.get(spec.vrf) if spec.vrf else MAIN_TABLE, spec)
            for name, spec in chosen.items()
            if spec.port is None
        }
        # What FRR has in the kernel it reaches: zebra is asked for the others, a question each.
        installed = {name for name, state in found.items() if state["in_use"] and not state["kept"]}
        reachable = _reachable(frr, [line_of(chosen[name]) for name in found.keys() - installed])
        of_frr = {
            name: {
                **state,
                "next_hop_reachable": None
                if reachable is None
                else name in installed or line_of(chosen[name]) in reachable,
            }
            for name, state in found.items()
        }
        return {**own, **of_frr}

    return state


def _reachable(frr: Frr, lines: Sequence[str]) -> Collection[str] | None:
    """The lines whose next hop FRR finds; None when it cannot be asked."""
    return None if frr.down_reason() else frr.reached(lines)


def _own(kernel: FollowedRoutes, spec: RouteSpec) -> dict[str, Any]:
    """Of one that the kernel keeps without FRR, which may have put a better one beside it."""
    entry = entry_of(spec)
    is_there = entry in kernel.own.get(entry.route.place, ())
    in_use = False if not is_there else is_chosen(spec.destination, entry.metric)
    return {
        "in_use": in_use,
        "leaves_by": spec.port if in_use else None,
        "kept": False,
        "next_hop_reachable": spec.port in kernel.ready,
    }


def _in_kernel(kernel: FollowedRoutes, table: str | None, spec: RouteSpec) -> dict[str, Any]:
    """Another route may have the place: one with a smaller distance, or of another protocol."""
    place = table or "", spec.destination
    of_frr, kept = kernel.installed.get(place), kernel.copies.get(place)
    route = of_frr or kept
    if route is None or not leads(route, spec):
        return {"in_use": False, "leaves_by": None, "kept": False}
    devices = sorted({hop.device for hop in route.hops if hop.device})
    return {"in_use": True, "leaves_by": ", ".join(devices) or None, "kept": of_frr is None}
