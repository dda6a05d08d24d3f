# SPDX-License-Identifier: Apache-2.0
"""Bridges and bonds that yield to their members, because a queue has a member as its target (docs/adr/0094).

Which member a packet came by or leaves by is known to the member's programs alone. So what is above does not
shape then, its members do, and those that nobody configured are ports for as long as it lasts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from weir.adapters.datapath_records import NO_ABOVE, Above
from weir.adapters.netlink import Link
from weir.backends.modes import Decision
from weir.backends.stacking import OVER_MEMBERS
from weir.compiler.types import NO_SLOT, PortSpec
from weir.model.zones import NO_ZONE, OPEN


@dataclass(frozen=True, slots=True)
class Yielding:
    """`ports`: all, with the members of those that yield, which come last: until then they shape.

    `names` of what yields, and `above` for each of the members.
    """

    ports: Mapping[str, PortSpec] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    above: Mapping[str, Above] = field(default_factory=dict)

    @classmethod
    def of(cls, ports: Mapping[str, PortSpec], links: Mapping[str, Link]) -> Yielding:
        walk = _Walk(ports, links)
        for name in ports:
            link = links.get(name)
            if link is not None and not walk.is_below_a_port(link):
                walk.visit(link, NO_ABOVE)
        last = {name: walk.ports.pop(name) for name in walk.names}
        return cls({**walk.ports, **last}, frozenset(walk.names), walk.above)

    def decision(self, ifname: str) -> Decision | None:
        """How an interface shapes that yields; None for others."""
        if ifname not in self.names:
            return None
        return Decision("none", "its members shape, because a queue has one of them as its target")


NOBODY_YIELDS = Yielding()


class _Walk:
    """From interfaces to their members, as far as something yields."""

    def __init__(self, ports: Mapping[str, PortSpec], links: Mapping[str, Link]) -> None:
        self.ports = dict(ports)
        self.names: list[str] = []
        self.above: dict[str, Above] = {}
        self._by_index = {link.index: link for link in links.values()}
        self._by_master: dict[int, list[Link]] = defaultdict(list)
        for link in links.values():
            self._by_master[link.master].append(link)

    def is_below_a_port(self, link: Link) -> bool:
        master = self._by_index.get(link.master)
        return master is not None and master.name in self.ports and master.kind in OVER_MEMBERS

    def visit(self, link: Link, above: Above) -> None:
        if not any(self._is_target(member) for member in self._below(link)):
            return
        self.names.append(link.name)
        spec = self.ports[link.name]
        over = Above(above.ifindex or link.index, spec.interface_slot or above.slot)
        for member in self._members(link):
            known = self.ports.get(member.name) or PortSpec(member.name, spec.role, "auto", 0, NO_SLOT)
            self.ports[member.name] = _member(known, spec)
            self.above[member.name] = over
            self.visit(member, over)

    def _is_target(self, link: Link) -> bool:
        return link.name in self.ports and self.ports[link.name].interface_slot != NO_SLOT

    def _members(self, link: Link) -> list[Link]:
        return self._by_master[link.index] if link.kind in OVER_MEMBERS else []

    def _below(self, link: Link) -> Iterator[Link]:
        for member in self._members(link):
            yield member
            yield from self._below(member)


def _member(spec: PortSpec, above: PortSpec) -> PortSpec:
    """In the domain of what it belongs to, and shaped as that was where it asks for nothing of its own.

    But for HTB: a queue above several members would have its rate on each.
    """
    shaper = above.shaper if spec.shaper == "auto" and above.shaper != "htb" else spec.shaper
    overhead_bytes = spec.overhead_bytes or above.overhead_bytes
    return replace(
        spec,
        role=above.role if spec.role in (NO_ZONE, OPEN) else spec.role,
        domain=above.domain,
        shaper=shaper,
        overhead_bytes=overhead_bytes,
        known_only=spec.known_only or above.known_only,
    )
