# SPDX-License-Identifier: Apache-2.0
"""The routes that checks of uplinks take, and what keeps connections at their uplinks
(`weir.backends.kept_uplinks`). Which uplink has the default route is FRR's, by its distance
(`weir.agent.uplinks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from weir.adapters import nft, uplink_marks, uplink_routes, uplink_rules
from weir.adapters.netlink import Links
from weir.adapters.standing_routes import MAIN_TABLE
from weir.adapters.uplink_marks import Marking
from weir.adapters.uplink_routes import FIRST_METRIC, UplinkRoute
from weir.adapters.uplink_rules import UplinkRule
from weir.backends.backend import Comparison, Look, Topic, because, refuse, step
from weir.backends.kept_uplinks import KeptLink, kept_links, kept_of, shares_of
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.objects import ConfigObject
from weir.parts.delta import Action, Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.uplinks import UplinkSpec, keep_connections

_MOVED = "connections to the internet may leave by another uplink, and begin again there"
_OWN_MOVED = (
    "the router's own connections, and those from before uplinks had weights, may leave by another uplink, "
    "and begin again there; all others stay"
)
_KEPT_NO_MORE = (
    "no uplink has a weight any more: connections that do not leave by the one in use begin again by that one"
)
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
    links: Mapping[str, KeptLink] = field(default_factory=dict)
    rules: frozenset[UplinkRule] = frozenset()
    table: str = ""
    """The table of marks, as `uplink_marks.held` prints it."""


@dataclass(frozen=True, slots=True)
class UplinksDifference:
    """`marking` is written if `marks` is not what there is."""

    put: tuple[UplinkRoute, ...]
    remove: tuple[UplinkRoute, ...]
    put_rules: tuple[UplinkRule, ...] = ()
    remove_rules: tuple[UplinkRule, ...] = ()
    marking: Marking | None = None
    marks: str = ""
    changes_marks: bool = False
    refused: dict[UplinkRoute, str] = field(default_factory=dict, compare=False)
    refused_rules: dict[UplinkRule, str] = field(default_factory=dict, compare=False)
    """Why the kernel did not take a change, once it was made."""

    def __bool__(self) -> bool:
        return bool(self.put or self.remove or self.put_rules or self.remove_rules or self.changes_marks)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("uplinks", "add", _what(route), _words(route)) for route in self.put),
            *(step("uplinks", "add", "rule", rule.text) for rule in self.put_rules),
            *(self._of_marks() if self.changes_marks else ()),
            *(step("uplinks", "remove", "rule", rule.text) for rule in self.remove_rules),
            *(step("uplinks", "remove", _what(route), _words(route)) for route in self.remove),
        ]

    def _of_marks(self) -> Iterator[Step]:
        verb: Action = "remove" if self.marking is None else "change"
        yield step("uplinks", verb, "table", f"inet {uplink_marks.TABLE}")


_Found = Comparison[UplinksState, Mapping[str, WantedUplink], UplinksDifference]
_Look = Look[UplinksState, Mapping[str, WantedUplink], UplinksDifference]


class UplinksBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "leases", "uplinks", "firewall"))
    """Not "routes": those of checks go with their link, and somebody else's removal is found by a scan."""
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self, links: Links, default_devices: Callable[[], Sequence[str]] = uplink_routes.default_devices
    ) -> None:
        self._links = links
        self._default_devices = default_devices
        self._learnt: tuple[Marking, str] | None = None

    def read(self) -> UplinksState:
        links = self._links.links()
        return UplinksState(
            uplink_routes.read(),
            frozenset(name for name, link in links.items() if link.up),
            kept_links(links),
            uplink_rules.read(),
            uplink_marks.held(nft.ruleset()),
        )

    def diff(self, held: UplinksState, wanted: Mapping[str, WantedUplink]) -> UplinksDifference:
        kept = kept_of(wanted, held.links, held.rules)
        asked = {route for route in _routes(wanted) if route.device in held.up} | kept.routes
        marks = "" if kept.marking is None else self._print_of(kept.marking)
        return UplinksDifference(
            tuple(sorted(asked - held.routes)),
            tuple(sorted(held.routes - asked)),
            tuple(sorted(kept.rules - held.rules)),
            tuple(sorted(held.rules - kept.rules)),
            kept.marking,
            marks,
            marks != held.table,
        )

    def apply(self, difference: UplinksDifference) -> None:
        """A packet has a mark only while a rule and a route are there for it."""
        routes, rules = difference.refused, difference.refused_rules
        routes.update(uplink_routes.change(difference.put, ()))
        rules.update(uplink_rules.change(difference.put_rules, ()))
        if difference.changes_marks:
            uplink_marks.apply(difference.marking)
        rules.update(uplink_rules.change((), difference.remove_rules))
        routes.update(uplink_routes.change((), difference.remove))

    def verify(self, difference: UplinksDifference) -> None:
        """An interface that went down meanwhile has taken its route along, which is an event."""
        held, why = self.read(), difference.refused
        missing = [r for r in difference.put if r.device in held.up and r not in held.routes]
        left = [r for r in difference.remove if r in held.routes]
        rules = [(rule, "no") for rule in difference.put_rules if rule not in held.rules]
        rules += [(rule, "still a") for rule in difference.remove_rules if rule in held.rules]
        table = f"the table inet {uplink_marks.TABLE} is not as it was written"
        refuse(
            "uplinks",
            [because(f"there is no {_what(route)} {_words(route)}", why.get(route)) for route in missing]
            + [because(f"there is still a {_what(route)} {_words(route)}", why.get(route)) for route in left]
            + [
                because(f"there is {is_} policy rule {rule.text}", difference.refused_rules.get(rule))
                for rule, is_ in rules
            ]
            + ([table] if difference.changes_marks and held.table != difference.marks else []),
        )

    def _print_of(self, marking: Marking) -> str:
        if self._learnt is None or self._learnt[0] != marking:
            self._learnt = (marking, uplink_marks.expected(marking))
        return self._learnt[1]

    def effects(self, look: _Look) -> Iterator[Effect]:
        delta: Delta[UplinkSpec] = look.delta or Delta()
        if not look.changed_of("uplink"):
            return
        keeps = keep_connections(one.spec for one in look.wanted.values())
        for old, new in delta.set:
            if old is None or _way(old) != _way(new):
                text = _MOVED if not keeps or old is None or old.rank == new.rank else _OWN_MOVED
                yield Effect("uplink", new.id, "resets", text, MOVED_MS)
        for spec in delta.removed:
            yield Effect("uplink", spec.id, "resets", _MOVED, MOVED_MS)
        if not keeps:
            weighed = [old for old, _ in delta.set if old is not None and old.weight is not None]
            for spec in weighed:
                yield Effect("uplink", spec.id, "resets", _KEPT_NO_MORE, MOVED_MS)

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
            yield from _share(found, wanted)

    def _default_route(self, every: Mapping[str, WantedUplink], wanted: WantedUplink) -> Line:
        first = min(every.values(), key=lambda one: one.distance)
        what = "in use" if first is wanted else f"waits behind {first.spec.id}"
        devices = self._default_devices()
        leaves = f"the default route leaves by {', '.join(devices)}" if devices else "there is none"
        agrees = (wanted.spec.interface in devices) == (first is wanted)
        return Line("default route", f"distance {wanted.distance}, {what}", leaves, agrees)


def _share(found: _Found, wanted: WantedUplink) -> Iterator[Line]:
    """What part of new connections it gets, where connections keep their uplinks."""
    if not keep_connections(one.spec for one in found.wanted.values()):
        return
    shares = shares_of(found.wanted, found.held.links)
    part, whole = shares.get(wanted.spec.id, 0), sum(shares.values())
    meant = f"{part} of {whole} shares of new connections"
    if not whole:
        meant = "no share: none works, and the default route decides"
    difference = found.difference
    differs = difference.changes_marks or difference.put_rules or difference.remove_rules
    has = "the kernel has other marks or rules" if differs else "the kernel's marks and rules say so"
    yield Line("share", meant, has, not differs)


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


def _what(route: UplinkRoute) -> str:
    return "route for checks" if route.table == MAIN_TABLE else "route for connections"


def _words(route: UplinkRoute) -> str:
    return f"via {route.gateway} dev {route.device}" if route.gateway else f"dev {route.device}"


def _way(spec: UplinkSpec) -> tuple[object, ...]:
    return spec.interface, spec.gateway, spec.priority
