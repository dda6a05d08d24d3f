# SPDX-License-Identifier: Apache-2.0
"""Connections that keep their uplink: which uplinks new ones are shared by, and what the kernel needs for it.

Without a weight at any uplink there is nothing of it. With one, each uplink has a number, a table of its own
and a rule for its mark, whatever its own weight and state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from weir.adapters.netlink import Link
from weir.adapters.uplink_marks import Marking
from weir.adapters.uplink_routes import FIRST_METRIC, UplinkRoute, table_of
from weir.adapters.uplink_rules import UplinkRule, numbers_of, rules_of
from weir.parts.uplinks import DOWN_DISTANCE, UplinkSpec, keep_connections


class Known(Protocol):
    """What is known of an uplink (`WantedUplink`)."""

    @property
    def spec(self) -> UplinkSpec: ...
    @property
    def gateway(self) -> str | None: ...
    @property
    def distance(self) -> int: ...


class KeptLink(NamedTuple):
    """Of an interface. `leads`: it is up and has carrier, so that routes by it lead somewhere."""

    ifindex: int
    leads: bool


def kept_links(links: Mapping[str, Link]) -> dict[str, KeptLink]:
    return {name: KeptLink(link.index, link.up and link.carrier) for name, link in links.items()}


@dataclass(frozen=True, slots=True)
class Kept:
    """`marking` None: connections keep nothing."""

    rules: frozenset[UplinkRule] = frozenset()
    routes: frozenset[UplinkRoute] = frozenset()
    marking: Marking | None = None


def shares_of(wanted: Mapping[str, Known], links: Mapping[str, KeptLink]) -> dict[str, int]:
    """The uplinks that new connections leave by, with their weights: the best one that works, with those of
    its priority if they have weights. Empty: none works, or connections keep nothing."""
    if not keep_connections(one.spec for one in wanted.values()):
        return {}
    works = sorted(
        (
            one
            for one in wanted.values()
            if one.distance < DOWN_DISTANCE and one.gateway is not None and _leads(one, links)
        ),
        key=lambda one: one.spec.rank,
    )
    if not works:
        return {}
    first = works[0].spec
    if first.weight is None:
        return {first.id: 1}
    same = (one.spec for one in works if one.spec.priority == first.priority)
    return {spec.id: spec.weight for spec in same if spec.weight is not None}


def _leads(one: Known, links: Mapping[str, KeptLink]) -> bool:
    link = links.get(one.spec.interface)
    return link is not None and link.leads


def kept_of(wanted: Mapping[str, Known], links: Mapping[str, KeptLink], held: Collection[UplinkRule]) -> Kept:
    """`held` are the rules that there are, by which interfaces have their numbers."""
    if not keep_connections(one.spec for one in wanted.values()):
        return Kept()
    ranked = sorted(wanted.values(), key=lambda one: one.spec.rank)
    present = {one.spec.id: links[one.spec.interface] for one in ranked if one.spec.interface in links}
    numbers = numbers_of(held, sorted(link.ifindex for link in present.values()))
    if not numbers:
        return Kept()
    of_id = {name: numbers[link.ifindex] for name, link in present.items()}
    shares = shares_of(wanted, links)
    devices = tuple(sorted((wanted[name].spec.interface, number) for name, number in of_id.items()))
    marking = Marking(devices, tuple((of_id[name], weight) for name, weight in shares.items()))
    return Kept(rules_of(numbers), frozenset(_routes(ranked, present)), marking)


def _routes(ranked: Collection[Known], present: Mapping[str, KeptLink]) -> Iterator[UplinkRoute]:
    """Each in its own table, while the link leads somewhere."""
    for one in ranked:
        link = present.get(one.spec.id)
        if link is not None and link.leads and one.gateway is not None:
            yield UplinkRoute(one.gateway, one.spec.interface, FIRST_METRIC, table_of(link.ifindex))
