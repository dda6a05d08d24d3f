# SPDX-License-Identifier: Apache-2.0
"""Interfaces: VLANs and VRFs made, up or down, MTU, addresses.

Ours are the addresses and interfaces with our mark; those of others stay, on our interfaces too. What an
interface's MTU and MAC address were before we first changed them is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from weir.adapters import bonds, modules, tunnel_links
from weir.adapters.link_messages import index_of
from weir.adapters.netlink import Links, RoutingRule
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.devices import DeviceChanges, device_changes
from weir.backends.leaving import leaving_bonds
from weir.backends.network_effects import NetworkEffects
from weir.backends.network_explained import explain_interface
from weir.backends.originals import Originals
from weir.backends.own_macs import MacChanges
from weir.backends.tunnel_ends import EndsChange, apply_ends, ends_changes, wrong_ends
from weir.backends.vlans import VlanChanges, lower_first, vlan_changes, vlan_of
from weir.backends.vrfs import VrfChanges, gone_vrfs, vrf_changes, vrf_text
from weir.model.interface import Interface, Vlan
from weir.model.objects import ConfigObject
from weir.parts.bonds import speaks_lacp
from weir.parts.delta import Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.network import DEVICES, NetworkSpec
from weir.parts.tunnels import TUNNELS, Ends

ROUTER_SETTINGS = {
    # Else an address takes the others of its network along when it goes: also the one that takes its place.
    "net/ipv4/conf/all/promote_secondaries": "1",
}


_MADE = frozenset(("vlan", "vrf", *DEVICES))


@dataclass(frozen=True, slots=True)
class LinkState:
    """One interface as the kernel holds it; `ours` are addresses with our mark."""

    up: bool
    mtu: int
    ours: frozenset[str]
    foreign: frozenset[str]
    kind: str = "physical"
    vlan: Vlan | None = None
    made_by_us: bool = False
    master: str = ""
    vrf_table: int = 0
    made_with: tuple[tuple[str, int], ...] = ()
    ends: Ends | None = None
    """Of a VXLAN or GRE tunnel."""
    mac: str = ""
    """Of one that is not there yet, or that has no frames: ""."""


@dataclass(frozen=True, slots=True)
class NetworkState:
    links: Mapping[str, LinkState]
    sysctls: Mapping[str, str | None]
    original_mtus: Mapping[str, int]
    rules: frozenset[RoutingRule] = frozenset()
    original_macs: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class NetworkDifference:
    """(interface, value) pairs in the order they are done; `missing` interfaces cannot be served.

    `blocked` of `vlans`, `vrfs` and `devices` are those that cannot be as long as somebody else is in their
    place.
    """

    vlans: VlanChanges = field(default_factory=VlanChanges)
    vrfs: VrfChanges = field(default_factory=VrfChanges)
    devices: DeviceChanges = field(default_factory=DeviceChanges)
    released: list[str] = field(default_factory=list)
    """Members of bonds that are to be none any more."""
    ends: list[EndsChange] = field(default_factory=list)
    sysctls: dict[str, str] = field(default_factory=dict)
    mtus: list[tuple[str, int]] = field(default_factory=list)
    remembered_mtus: dict[str, int] = field(default_factory=dict)
    macs: MacChanges = field(default_factory=MacChanges)
    up: list[tuple[str, bool]] = field(default_factory=list)
    add: list[tuple[str, str]] = field(default_factory=list)
    remove: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        changes = (
            self.released or self.ends or self.sysctls or self.mtus or self.up or self.add or self.remove
        )
        made = self.vlans.remove or self.vlans.make or self.vlans.blocked or self.vrfs or self.devices
        return bool(changes or made or self.macs)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("network", "change", "interface", f"{name} out of its bond") for name in self.released),
            *(step("network", "remove", "interface", name) for name in self.vlans.remove),
            *(step("network", "add", "interface", f"{n}: {vlan.text}") for n, vlan in self.vlans.make),
            *self.devices.steps(),
            *(step("network", "change", "interface", f"{one.ifname} {one.wanted.text}") for one in self.ends),
            *self.vrfs.steps(),
            *(step("network", "change", "setting", f"{k} = {v}") for k, v in self.sysctls.items()),
            *(step("network", "change", "interface", f"{name} mtu {mtu}") for name, mtu in self.mtus),
            *self.macs.steps(),
            *(step("network", "change", "interface", f"{n} {'up' if up else 'down'}") for n, up in self.up),
            *(step("network", "add", "address", f"{name} {text}") for name, text in self.add),
            *(step("network", "remove", "address", f"{name} {text}") for name, text in self.remove),
        ]


class NetworkBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "leases"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, links: Links, memory: Path) -> None:
        """`memory`: the file that remembers MTUs; on a file system that is empty after a boot."""
        self._links = links
        self._mtus = Originals(memory, _whole)
        self._macs = Originals(memory.with_name("original-macs.json"), str)

    def read(self) -> NetworkState:
        links = self._links.links()
        names = {link.index: name for name, link in links.items()}
        ours: dict[str, set[str]] = {name: set() for name in links}
        foreign: dict[str, set[str]] = {name: set() for name in links}
        for address in self._links.addresses():
            name = names.get(address.ifindex)
            if name is not None:
                (ours if address.ours else foreign)[name].add(address.text)
        tunnels = tunnel_links.read() if any(link.kind in TUNNELS for link in links.values()) else {}
        return NetworkState(
            {
                name: LinkState(
                    link.up,
                    link.mtu,
                    frozenset(ours[name]),
                    frozenset(foreign[name]),
                    link.kind,
                    vlan_of(link, names),
                    link.ours and link.kind in _MADE,
                    names.get(link.master, ""),
                    link.vrf_table,
                    tunnels[name].made_with if name in tunnels else link.made_with,
                    tunnels[name].ends if name in tunnels else None,
                    link.mac,
                )
                for name, link in links.items()
            },
            {name: read_sysctl(name) for name in ROUTER_SETTINGS},
            self._mtus.read(),
            self._links.rules(),
            self._macs.read(),
        )

    def diff(self, held: NetworkState, wanted: Mapping[str, NetworkSpec]) -> NetworkDifference:
        wanted = lower_first(wanted)
        gone = gone_vrfs(held.links, wanted)
        devices = device_changes(held.links, wanted)
        leaving = leaving_bonds(held.links, wanted, devices.remove)
        there = {name: state for name, state in held.links.items() if name not in devices.remove}
        there.update((name, replace(there[name], up=False, master="")) for name in leaving.all)
        there.update((name, _new(wanted[name])) for name, _ in devices.make if name not in there)
        stay = {name: state for name, state in there.items() if name not in gone}
        vlans = vlan_changes(stay, wanted, devices.remove)
        links = {name: state for name, state in there.items() if name not in vlans.gone}
        new = {name for name, _ in (*vlans.make, *devices.make)}
        vrfs = vrf_changes(links, gone, wanted, held.rules, new)
        vrfs.cycled |= leaving.all
        found = NetworkDifference(vlans, vrfs, devices, leaving.released)
        made_devices = dict(devices.make)
        staying = {name: state for name, state in there.items() if name not in made_devices}
        found.ends = ends_changes(staying, {n: s for n, s in wanted.items() if n not in devices.blocked})
        if wanted:
            found.sysctls = {k: v for k, v in ROUTER_SETTINGS.items() if held.sysctls.get(k) not in (v, None)}
        links = {name: state for name, state in links.items() if name in stay}
        made, made_vrfs = dict(vlans.make), dict(vrfs.make)
        mtus = {name: state.mtu for name, state in links.items()}
        found.macs.known.update((name, state.mac) for name, state in links.items())
        for name, spec in wanted.items():
            if name in made:
                mtu = links[made[name].parent].mtu  # it is made before the parent's changes
                links[name] = LinkState(False, mtu, frozenset(), frozenset(), "vlan", made[name], True)
            if name in made_devices:
                links[name] = _new(spec)
            if name in made_vrfs:
                links[name] = LinkState(False, 0, frozenset(), frozenset(), "vrf", None, True)
            if any(name in changes.blocked for changes in (found.vlans, found.vrfs, found.devices)):
                continue
            state = links.get(name)
            if state is None:
                found.missing.append(name)
            else:
                mtus[name] = self._diff_mtu(found, held, name, state, spec, mtus)
                found.macs.compare(name, state, spec, held.original_macs)
                self._diff_link(found, name, state, spec)
        for name, state in links.items():
            if name not in wanted:
                found.remove.extend((name, text) for text in sorted(state.ours))
                self._diff_mtu(found, held, name, state, None, mtus)
                found.macs.compare(name, state, None, held.original_macs)
        return found

    def apply(self, difference: NetworkDifference) -> None:
        for name in difference.released:
            self._links.set_master(name, "")
        for name in (*difference.vlans.remove, *difference.devices.remove, *difference.vrfs.remove):
            self._links.remove_link(name)
        for name, _ in difference.devices.make:
            self._make(difference.devices.specs[name])
        for name, vlan in difference.vlans.make:
            self._links.add_vlan(name, vlan.parent, vlan.id, vlan.protocol)
        apply_ends(difference.ends)
        self._apply_vrfs(difference.vrfs)
        for setting, value in difference.sysctls.items():
            write_sysctl(setting, value)
        self._mtus.remember(difference.remembered_mtus)
        for name, mtu in difference.mtus:
            self._links.set_mtu(name, mtu)
        self._macs.remember(difference.macs.remembered)
        difference.macs.apply()  # before it is up, so that nobody sees another one
        for name, up in difference.up:
            self._links.set_up(name, up)
        for name, text in difference.add:
            self._links.add_address(name, text)
        for name, text in difference.remove:
            self._links.remove_address(name, text)

    def _make(self, spec: NetworkSpec) -> None:
        name = spec.ifname
        if spec.ends is not None:
            tunnel_links.make(name, spec.device, spec.made_with, spec.ends, spec.mtu or DEVICES[spec.device])
            return
        if spec.device == bonds.KIND:
            modules.load_bonds()
        self._links.add_device(name, spec.device, spec.made_with)
        if speaks_lacp(spec.made_with):
            bonds.collect_before_distributing(name, index_of(name))

    def _apply_vrfs(self, changes: VrfChanges) -> None:
        for name, table in changes.make:
            self._links.add_vrf(name, table)
        for rule in changes.add_rules:
            self._links.change_rule("add", rule)
        for rule in changes.remove_rules:
            self._links.change_rule("delete", rule)
        for name, vrf in changes.masters:
            self._links.set_master(name, vrf)

    def effects(
        self, look: Look[NetworkState, Mapping[str, NetworkSpec], NetworkDifference]
    ) -> Iterator[Effect]:
        return NetworkEffects(look).all()

    def explain(
        self,
        found: Comparison[NetworkState, Mapping[str, NetworkSpec], NetworkDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        if not isinstance(item, Interface):
            return iter(())  # a DHCPv6 server, of whose pools no interface takes a part
        return explain_interface(found, item)

    def verify(self, difference: NetworkDifference) -> None:
        held = self.read()
        wrong = _wrong_vlans(difference.vlans, held.links) + _wrong_vrfs(difference.vrfs, held)
        wrong += [*difference.devices.wrong(held.links), *wrong_ends(difference.ends, held.links)]
        wrong += [
            f"{k} is {held.sysctls.get(k)}" for k, v in difference.sysctls.items() if held.sysctls.get(k) != v
        ]
        for name, mtu in difference.mtus:
            state = held.links.get(name)
            if state is None or state.mtu != mtu:
                wrong.append(f"{name}: the MTU is not {mtu}")
        wrong += difference.macs.wrong(held.links)
        for name, up in difference.up:
            state = held.links.get(name)
            if state is None or state.up != up:
                wrong.append(f"{name} is not {'up' if up else 'down'}")
        for name, text in difference.add:
            state = held.links.get(name)
            if state is None or text not in state.ours | state.foreign:
                wrong.append(f"{name} has no address {text}")
        for name, text in difference.remove:
            state = held.links.get(name)
            if state is not None and text in state.ours:
                wrong.append(f"{name} still has the address {text}")
        refuse("network", wrong)

    def _diff_link(self, found: NetworkDifference, name: str, state: LinkState, spec: NetworkSpec) -> None:
        # What comes up takes all VLANs on it along, and what goes down loses its IPv6 addresses.
        below = "" if state.vlan is None else state.vlan.parent
        if below in found.vrfs.cycled:
            found.vrfs.cycled.add(name)
        taken_along = (below, True) in found.up or below in found.vrfs.cycled
        joins = bool(spec.bond) and state.master != spec.bond  # which needs it to be down
        if not joins and not spec.dialled and (state.up != spec.up or (taken_along and not spec.up)):
            found.up.append((name, spec.up))
        present = state.ours | state.foreign
        if name in found.vrfs.cycled:
            present = frozenset(text for text in present if ":" not in text)
        found.add.extend((name, text) for text in spec.addresses if text not in present)
        found.remove.extend((name, text) for text in sorted(state.ours) if text not in spec.addresses)

    def _diff_mtu(
        self,
        found: NetworkDifference,
        held: NetworkState,
        name: str,
        state: LinkState,
        spec: NetworkSpec | None,
        mtus: Mapping[str, int],
    ) -> int:
        """The MTU that the interface will have. Without a configured one that from before our first change
        comes back; a VLAN of ours has its parent's, which is in `mtus` by then."""
        original = held.original_mtus.get(name)
        target = None if spec is None else spec.mtu
        if target is None:
            below = state.vlan if state.made_by_us else None
            target = original if below is None else mtus[below.parent]
        if target is None or target == state.mtu:
            return state.mtu
        found.mtus.append((name, target))
        if not state.made_by_us:
            found.remembered_mtus[name] = state.mtu if original is None else original
        return target


def _whole(value: object) -> int:
    return int(str(value))


def _new(spec: NetworkSpec) -> LinkState:
    """An interface that is going to be made; a tunnel with its MTU."""
    kind = spec.device
    mtu = DEVICES[kind] if spec.ends is None else spec.mtu or DEVICES[kind]
    return LinkState(False, mtu, frozenset(), frozenset(), kind, None, True)


def _wrong_vrfs(changes: VrfChanges, held: NetworkState) -> list[str]:
    made = dict(changes.make)
    links, rules = held.links, {(rule.family, rule.meaning) for rule in held.rules}
    return [
        *changes.blocked.values(),
        *(f"{name} is still there" for name in changes.remove if name in links and name not in made),
        *(
            f"{name} is not a {vrf_text(table)}"
            for name, table in made.items()
            if name not in links or links[name].vrf_table != table
        ),
        *(
            f"{name} is {f'in {links[name].master}' if links[name].master else 'in no VRF'}"
            for name, vrf in changes.masters
            if name in links and links[name].master != vrf
        ),
        *(
            f"rule {rule.text} is not there"
            for rule in changes.add_rules
            if (rule.family, rule.meaning) not in rules
        ),
        *(
            f"rule {rule.text} is still there"
            for rule in changes.remove_rules
            if (rule.family, rule.meaning) in rules
        ),
    ]


def _wrong_vlans(changes: VlanChanges, links: Mapping[str, LinkState]) -> list[str]:
    made = dict(changes.make)
    return [
        *changes.blocked.values(),
        *(f"{name} is still there" for name in changes.remove if name in links and name not in made),
        *(f"{n} is not {vlan.text}" for n, vlan in made.items() if n not in links or links[n].vlan != vlan),
    ]
