# SPDX-License-Identifier: Apache-2.0
"""The routes that checks of uplinks take. Which uplink has the default route is FRR's, by its distance
(`weir.agent.uplinks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from weir.adapters import uplink_routes
from weir.adapters.netlink import Links
from weir.adapters.uplink_routes import FIRST_METRIC, UplinkRoute
from weir.backends.backend import Comparison, Look, Topic, because, refuse, step
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.uplinks import UplinkSpec

MOVED_MS = 1000
"""FRR puts another next hop in the place of the one before within this."""


@dataclass(frozen=True, slots=True)
class WantedUplink:
    """`gateway` None: none is known; "" = there is none, the interface is a tunnel. `said`: what is known of
    it, in words."""

    spec: UplinkSpec
    gateway: str | None
    distance: int
    said: str = ""


@dataclass(frozen=True, slots=True)
class UplinksState:
    routes: frozenset[UplinkRoute]
    up: frozenset[str]
    """Interfaces that can have routes."""


@dataclass(frozen=True, slots=True)
class UplinksDifference:
    put: tuple[UplinkRoute, ...]
    remove: tuple[UplinkRoute, ...]
    refused: dict[UplinkRoute, str] = field(default_factory=dict, compare=False)
    """Why the kernel did not take a change, once it was made."""

    def __bool__(self) -> bool:
        return bool(self.put or self.remove)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("uplinks", "add", "checks' route", _words(route)) for route in self.put),
            *(step("uplinks", "remove", "checks' route", _words(route)) for route in self.remove),
        ]


_Found = Comparison[UplinksState, Mapping[str, WantedUplink], UplinksDifference]
_Look = Look[UplinksState, Mapping[str, WantedUplink], UplinksDifference]


class UplinksBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "leases", "uplinks"))
    """Not "routes": those of checks go with their link, and somebody else's removal is found by a scan."""
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self, links: Links, default_devices: Callable[[], Sequence[str]] = uplink_routes.default_devices
    ) -> None:
        self._links = links
        self._default_devices = default_devices

    def read(self) -> UplinksState:
        up = frozenset(name for name, link in self._links.links().items() if link.up)
        return UplinksState(uplink_routes.read(), up)

    def diff(self, held: UplinksState, wanted: Mapping[str, WantedUplink]) -> UplinksDifference:
        asked = {route for route in _routes(wanted) if route.device in held.up}
        return UplinksDifference(tuple(sorted(asked - held.routes)), tuple(sorted(held.routes - asked)))

    def apply(self, difference: UplinksDifference) -> None:
        difference.refused.update(uplink_routes.change(difference.put, difference.remove))

    def verify(self, difference: UplinksDifference) -> None:
        """An interface that went down meanwhile has taken its route along, which is an event."""
        held, why = self.read(), difference.refused
        missing = [r for r in difference.put if r.device in held.up and r not in held.routes]
        left = [r for r in difference.remove if r in held.routes]
        refuse(
            "uplinks",
            [because(f"there is no route for checks {_words(route)}", why.get(route)) for route in missing]
            + [
                because(f"there is still a route for checks {_words(route)}", why.get(route))
                for route in left
            ],
        )

    def effects(self, look: _Look) -> Iterator[Effect]:
        delta: Delta[UplinkSpec] = look.delta or Delta()
        moved = [new for old, new in delta.set if old is None or _way(old) != _way(new)]
        for spec in (*moved, *delta.removed):
            if look.changed_of("uplink"):
                text = "connections to the internet may leave by another uplink, and begin again there"
                yield Effect("uplink", spec.id, "resets", text, MOVED_MS)

    def explain(self, found: _Found, item: ConfigObject, told: Sequence[str]) -> Iterator[Line]:
        """What an uplink is judged by, the route of its checks, and whether it has the default route."""
        assert isinstance(item, Uplink | UplinkCheck), "the part is made of nothing else"
        wanted = found.wanted.get(item.id if isinstance(item, Uplink) else item.uplink)
        if wanted is None or not told:
            yield from _without(found.held, item)
            return
        yield Line(
            "checks", told[0], f"the uplink is {wanted.said}", None if wanted.said == "unknown" else True
        )
        yield _checks_route(found, wanted)
        if isinstance(item, Uplink):
            yield self._default_route(found.wanted, wanted)

    def _default_route(self, every: Mapping[str, WantedUplink], wanted: WantedUplink) -> Line:
        first = min(every.values(), key=lambda one: one.distance)
        what = "in use" if first is wanted else f"waits behind {first.spec.id}"
        devices = self._default_devices()
        leaves = f"the default route leaves by {', '.join(devices)}" if devices else "there is none"
        agrees = (wanted.spec.interface in devices) == (first is wanted)
        return Line("default route", f"distance {wanted.distance}, {what}", leaves, agrees)


def _without(held: UplinksState, item: Uplink | UplinkCheck) -> Iterator[Line]:
    """Of what is disabled."""
    left = isinstance(item, Uplink) and any(route.device == item.interface for route in held.routes)
    yield Line("disabled", "nothing", "it still has a route" if left else "nothing", not left)


def _checks_route(found: _Found, wanted: WantedUplink) -> Line:
    device, meant = wanted.spec.interface, "a route for its checks"
    route = next((route for route in _routes(found.wanted) if route.device == device), None)
    if route is None:
        unknown = "no gateway is known: none is configured, and no lease names one"
        return Line("gateway", meant, unknown, False)
    meant = f"{meant} {_words(route)}"
    if device not in found.held.up:
        return Line("interface", meant, f"{device} is down", False)
    has = route in found.held.routes
    return Line("gateway", meant, "the kernel has it" if has else "the kernel has none", has)


def _routes(wanted: Mapping[str, WantedUplink]) -> Iterator[UplinkRoute]:
    """Of those whose gateway is known, each with a metric of its own."""
    ranked = sorted(wanted.values(), key=lambda one: one.spec.rank)
    for number, one in enumerate(ranked):
        if one.gateway is not None:
            yield UplinkRoute(one.gateway, one.spec.interface, FIRST_METRIC + number)


def _words(route: UplinkRoute) -> str:
    return f"via {route.gateway} dev {route.device}" if route.gateway else f"dev {route.device}"


def _way(spec: UplinkSpec) -> tuple[object, ...]:
    return spec.interface, spec.gateway, spec.priority
