# SPDX-License-Identifier: Apache-2.0
"""Bridges: who is a port of which, with which settings and VLANs. Only what differs is touched.

A bridge of the configuration has the ports that are configured and no others. What nobody configured stays as
somebody else made it. A port that is not there waits; the bridge does without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

from weir.adapters import bridges, link_messages
from weir.adapters.bridges import NO_VLANS, HeldBridge, HeldLink, HeldVlans
from weir.adapters.hardware_address import change_address
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.bridges_effects import BridgesEffects
from weir.backends.bridges_explained import explain_bridge
from weir.model.frames import ranges_of, ranges_text
from weir.model.objects import ConfigObject
from weir.parts.bridges import FILTERING, TIMERS, BridgePortSpec, BridgeSpec, Settings, Vlans
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

NEW_PORT: Settings = {"priority": 32, "mode": 0, "guard": 0, "learning": 1, "isolated": 0}
"""What the kernel gives a port that joins (net/bridge/br_if.c, new_nbp)."""


@dataclass(frozen=True, slots=True)
class BridgesState:
    bridges: Mapping[str, HeldBridge]
    links: Mapping[str, HeldLink]
    vlans: Mapping[str, HeldVlans]


class VlanChange(NamedTuple):
    """Of one port, or (`own`) of a bridge itself. `tagged` and `untagged` are what it gets."""

    ifname: str
    own: bool
    remove: frozenset[int]
    tagged: frozenset[int]
    untagged: frozenset[int]
    pvid: int

    @property
    def text(self) -> str:
        texts = [
            f"{word} {ranges_text(ranges_of(ids))}"
            for word, ids in (("+", self.tagged | self.untagged), ("-", self.remove))
            if ids
        ]
        return f"{self.ifname} VLANs {' '.join(texts)}"


@dataclass(slots=True)
class BridgesDifference:
    """In the order in which it is done. `wanted` is all that was asked for; `blocked` are bridges and ports
    that cannot be as they should, with the reason in words."""

    wanted: Mapping[str, BridgeSpec] = field(default_factory=dict)
    leave: list[str] = field(default_factory=list)
    macs: list[tuple[str, str]] = field(default_factory=list)
    settings: list[tuple[str, Settings]] = field(default_factory=list)
    join: list[tuple[str, str]] = field(default_factory=list)
    port_settings: list[tuple[str, Settings]] = field(default_factory=list)
    vlans: list[VlanChange] = field(default_factory=list)
    filtering: list[str] = field(default_factory=list)
    """Bridges with ports that begin to filter when each port has its VLANs."""
    up: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Bridges that are not there."""
    waiting: list[str] = field(default_factory=list)
    """Ports that are not there, which join when they come."""
    blocked: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        made = self.leave or self.macs or self.settings or self.join or self.port_settings
        return bool(made or self.vlans or self.filtering or self.up or self.blocked)

    def steps(self) -> Sequence[Step]:
        return [
            *(_step("remove", "port", name) for name in self.leave),
            *(_step("change", "bridge", f"{name} MAC address {mac}") for name, mac in self.macs),
            *(_step("change", "bridge", f"{name} {_text(values)}") for name, values in self.settings),
            *(_step("add", "port", f"{name} of {bridge}") for name, bridge in self.join),
            *(_step("change", "port", f"{name} {_text(values)}") for name, values in self.port_settings),
            *(_step("change", "VLANs", change.text) for change in self.vlans),
            *(_step("change", "bridge", f"{name} filters VLANs") for name in self.filtering),
            *(_step("change", "port", f"{name} up") for name in self.up),
        ]


_step = partial(step, "bridges")


def _text(settings: Settings) -> str:
    return " ".join(f"{name} {value}" for name, value in settings.items())


class BridgesBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def read(self) -> BridgesState:
        found, links = bridges.read()
        may_filter = any(FILTERING in bridge.settings for bridge in found.values())
        return BridgesState(found, links, bridges.read_vlans() if may_filter else {})

    def diff(self, held: BridgesState, wanted: Mapping[str, BridgeSpec]) -> BridgesDifference:
        found = BridgesDifference(wanted)
        for name, spec in wanted.items():
            if name in held.bridges:
                _Comparing(found, held, spec).all()
            else:
                found.absent.append(name)
        return found

    def apply(self, difference: BridgesDifference) -> None:
        for name in difference.leave:
            self._set_master(name, "")
        for name, mac in difference.macs:
            change_address(name, _index(name), mac)
        for name, settings in difference.settings:
            bridges.set_bridge(name, _index(name), settings)
        for name, bridge in difference.join:
            self._set_master(name, bridge)
        for name, settings in difference.port_settings:
            bridges.set_port(name, _index(name), settings)
        for change in difference.vlans:
            _change_vlans(change)
        for name in difference.filtering:
            bridges.set_bridge(name, _index(name), {FILTERING: 1})
        for name in difference.up:
            link_messages.set_up(name, _index(name), True)

    @staticmethod
    def _set_master(name: str, bridge: str) -> None:
        what = f"{name}: into {bridge}" if bridge else f"{name}: out of its bridge"
        link_messages.set_master(what, _index(name), _index(bridge) if bridge else 0)

    def verify(self, difference: BridgesDifference) -> None:
        left = self.diff(self.read(), difference.wanted)
        absent = [f"there is no bridge {name}" for name in left.absent]
        refuse(
            "bridges",
            [*absent, *left.blocked.values(), *(f"{step.text} is still to do" for step in left.steps())],
        )

    def effects(
        self, look: Look[BridgesState, Mapping[str, BridgeSpec], BridgesDifference]
    ) -> Iterator[Effect]:
        return BridgesEffects(look).all()

    def explain(
        self,
        found: Comparison[BridgesState, Mapping[str, BridgeSpec], BridgesDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        spec = found.wanted.get(item.id)
        return iter(()) if spec is None else explain_bridge(found, spec)


def _index(name: str) -> int:
    return link_messages.index_of(name)


def _change_vlans(change: VlanChange) -> None:
    """What comes is there before what goes: frames that have a place in both lose none."""
    index = _index(change.ifname)
    if change.tagged:
        bridges.add_vlans(change.ifname, index, change.tagged, own=change.own, untagged=False)
    if change.untagged:
        bridges.add_vlans(
            change.ifname, index, change.untagged, own=change.own, untagged=True, pvid=change.pvid
        )
    if change.remove:
        bridges.remove_vlans(change.ifname, index, change.remove, own=change.own)


class _Comparing:
    """One bridge with what the kernel holds of it."""

    def __init__(self, found: BridgesDifference, held: BridgesState, spec: BridgeSpec) -> None:
        self._found, self._held, self._spec = found, held, spec
        self._bridge = held.bridges[spec.ifname]
        self._members = {name for name, link in held.links.items() if link.master == spec.ifname}
        self._forgets_vlans = False

    def all(self) -> None:
        spec, found = self._spec, self._found
        listed = {port.ifname for port in spec.ports}
        found.leave += sorted(self._members - listed)
        self._mac()
        self._settings()
        for port in spec.ports:
            self._port(port)
        if spec.vlans is not None and spec.ifname not in found.blocked:
            self._vlans(spec.ifname, spec.vlans, own=True, is_new=False)

    def _mac(self) -> None:
        """That of the first port that joins stays: neighbours would look for the router elsewhere else."""
        spec, mac = self._spec, self._spec.mac
        first = next((port.ifname for port in spec.ports if port.ifname in self._held.links), None)
        if mac is None and first is not None and not self._members:
            mac = self._held.links[first].mac
        if mac is not None and mac != self._bridge.mac:
            self._found.macs.append((spec.ifname, mac))

    def _settings(self) -> None:
        spec, held = self._spec, self._bridge.settings
        compared = {
            name: value
            for name, value in spec.settings.items()
            if name not in TIMERS or self._bridge.is_root or not held.get("stp_state")
        }
        differing = self._differing(spec.ifname, compared, held)
        if differing.get(FILTERING) and self._members:
            del differing[FILTERING]
            self._found.filtering.append(spec.ifname)
        self._forgets_vlans = "vlan_default_pvid" in differing
        if differing:
            self._found.settings.append((spec.ifname, differing))

    def _differing(self, what: str, wanted: Settings, held: Settings) -> dict[str, int]:
        absent = [name for name, value in wanted.items() if value and name not in held]
        if absent:
            text = f"{what}: this kernel has no {', '.join(absent)} of bridges"
            self._found.blocked[what] = text
        return {name: value for name, value in wanted.items() if held.get(name, value) != value}

    def _port(self, port: BridgePortSpec) -> None:
        found, link = self._found, self._held.links.get(port.ifname)
        if link is None:
            found.waiting.append(port.ifname)
            return
        joins = link.master != self._spec.ifname
        if joins and link.master and link.master not in found.wanted:
            what = f"{port.ifname} belongs to {link.master}"
            found.blocked[port.ifname] = f"{what}, so it cannot be a port of {self._spec.ifname}"
            return
        if joins:
            found.join.append((port.ifname, self._spec.ifname))
        differing = self._differing(port.ifname, port.settings, NEW_PORT if joins else link.settings)
        if joins and "cost" in port.settings:
            differing["cost"] = port.settings["cost"]
        if differing:
            found.port_settings.append((port.ifname, differing))
        if port.vlans is not None and self._spec.ifname not in found.blocked:
            self._vlans(port.ifname, port.vlans, own=False, is_new=joins)
        if port.raises and not link.up:
            found.up.append(port.ifname)

    def _vlans(self, name: str, wanted: Vlans, *, own: bool, is_new: bool) -> None:
        there = NO_VLANS if is_new else self._held.vlans.get(name, NO_VLANS)
        held = NO_VLANS if self._forgets_vlans else there
        moved = {held.pvid, wanted.pvid} if held.pvid != wanted.pvid else set()
        change = VlanChange(
            name,
            own,
            there.ids - wanted.tagged - wanted.untagged,
            frozenset(wanted.tagged - held.ids | wanted.tagged & (held.untagged | moved)),
            frozenset(wanted.untagged - held.untagged | wanted.untagged & moved),
            wanted.pvid,
        )
        if change.remove or change.tagged or change.untagged:
            self._found.vlans.append(change)
