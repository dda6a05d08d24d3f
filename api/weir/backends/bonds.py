# SPDX-License-Identifier: Apache-2.0
"""Bonds: who is a member of which, and their settings. Only what differs is touched.

The kernel takes a port into a bond only while it is down, and brings it up then; one that leaves it takes
down. So a port that joins or leaves is down for a moment, and no other port and not the bond itself. Those
that come are there before others go: a bond whose members are all exchanged keeps its address and carries on.

A bond of the configuration has the members that are configured and no others. A port that is not there waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from weir.adapters import bonds, link_messages
from weir.adapters.bonds import HeldBond, HeldLink
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.bonds_effects import bonds_effects
from weir.backends.bonds_explained import explain_bond
from weir.model.objects import ConfigObject
from weir.parts.bonds import BondMemberSpec, BondSpec
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line


@dataclass(frozen=True, slots=True)
class BondsState:
    bonds: Mapping[str, HeldBond]
    links: Mapping[str, HeldLink]


@dataclass(slots=True)
class BondsDifference:
    """In the order in which it is done. `wanted` is all that was asked for; `blocked` are bonds and members
    that cannot be as they should, with the reason in words."""

    wanted: Mapping[str, BondSpec] = field(default_factory=dict)
    settings: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)
    down: list[str] = field(default_factory=list)
    """Those that are up and have to be down to join."""
    join: list[tuple[str, str]] = field(default_factory=list)
    leave: list[str] = field(default_factory=list)
    primaries: list[tuple[str, str]] = field(default_factory=list)
    up: list[tuple[str, bool]] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Bonds that are not there."""
    waiting: list[str] = field(default_factory=list)
    """Ports that are not there, which join when they come."""
    blocked: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        made = self.settings or self.join or self.leave or self.primaries or self.up
        return bool(made or self.blocked)

    def steps(self) -> Sequence[Step]:
        return [
            *(_step("change", "bond", f"{name} {_text(values)}") for name, values in self.settings),
            *(_step("add", "member", f"{name} of {bond}") for name, bond in self.join),
            *(_step("remove", "member", name) for name in self.leave),
            *(_step("change", "bond", f"{name} primary {port or 'none'}") for name, port in self.primaries),
            *(_step("change", "member", f"{name} {'up' if up else 'down'}") for name, up in self.up),
        ]


_step = partial(step, "bonds")


def _text(settings: Mapping[str, int]) -> str:
    return " ".join(f"{name} {value}" for name, value in settings.items())


class BondsBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def read(self) -> BondsState:
        return BondsState(*bonds.read())

    def diff(self, held: BondsState, wanted: Mapping[str, BondSpec]) -> BondsDifference:
        found = BondsDifference(wanted)
        for name, spec in wanted.items():
            if name in held.bonds:
                _compare(found, held, spec)
            else:
                found.absent.append(name)
        joining = {name for name, _ in found.join}
        found.leave = [name for name in found.leave if name not in joining]
        return found

    def apply(self, difference: BondsDifference) -> None:
        for name, settings in difference.settings:
            bonds.set_bond(name, _index(name), settings)
        for name, bond in difference.join:
            if name in difference.down:
                link_messages.set_up(name, _index(name), False)
            link_messages.set_master(f"{name}: into {bond}", _index(name), _index(bond))
        for name in difference.leave:
            link_messages.set_master(f"{name}: out of its bond", _index(name), 0)
        for name, port in difference.primaries:
            bonds.set_primary(name, _index(name), _index(port) if port else 0)
        for name, up in difference.up:
            link_messages.set_up(name, _index(name), up)

    def verify(self, difference: BondsDifference) -> None:
        left = self.diff(self.read(), difference.wanted)
        absent = [f"there is no bond {name}" for name in left.absent]
        still = (f"{step.text} is still to do" for step in left.steps())
        refuse("bonds", [*absent, *left.blocked.values(), *still])

    def effects(self, look: Look[BondsState, Mapping[str, BondSpec], BondsDifference]) -> Iterator[Effect]:
        return bonds_effects(look)

    def explain(
        self,
        found: Comparison[BondsState, Mapping[str, BondSpec], BondsDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        spec = found.wanted.get(item.id)
        return iter(()) if spec is None else explain_bond(found, spec)


def _index(name: str) -> int:
    return link_messages.index_of(name)


def _compare(found: BondsDifference, held: BondsState, spec: BondSpec) -> None:
    """One bond with what the kernel holds of it."""
    bond = held.bonds[spec.ifname]
    listed = {member.ifname for member in spec.members}
    members = (name for name, link in held.links.items() if link.master == spec.ifname)
    found.leave += sorted(name for name in members if name not in listed)
    differing = {name: value for name, value in spec.settings.items() if bond.settings.get(name) != value}
    if differing:
        found.settings.append((spec.ifname, differing))
    for member in spec.members:
        _compare_member(found, held, spec, member)
    may_be = not spec.primary or spec.primary in held.links
    if may_be and spec.mode == "active-backup" and bond.primary != spec.primary:
        found.primaries.append((spec.ifname, spec.primary))


def _compare_member(found: BondsDifference, held: BondsState, spec: BondSpec, member: BondMemberSpec) -> None:
    name, link = member.ifname, held.links.get(member.ifname)
    if link is None:
        found.waiting.append(name)
        return
    if link.master == spec.ifname:
        if member.raises and not link.up:
            found.up.append((name, True))
        return
    if link.master and link.master not in found.wanted and link.master not in spec.bridges:
        what = f"{name} belongs to {link.master}"
        found.blocked[name] = f"{what}, so it cannot be a member of {spec.ifname}"
        return
    if link.up:
        found.down.append(name)
    found.join.append((name, spec.ifname))
    if not member.up:
        found.up.append((name, False))
