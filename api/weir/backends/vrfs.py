# SPDX-License-Identifier: Apache-2.0
"""VRFs: which are made and which go, which interfaces are in them, and what keeps them to themselves.

A kernel's VRF keeps its routing table for life, so one that is to have another is recreated. Only what
carries our mark is removed; an equal one of somebody else's is used as it is, and interfaces that somebody
else put into a VRF that is not configured stay there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from weir.adapters.netlink import RoutingRule
from weir.backends.backend import step
from weir.parts.delta import Step
from weir.parts.network import NetworkSpec

_LOCAL_TABLE = 255
_FAMILIES: tuple[Literal[4, 6], ...] = (4, 6)


class Device(Protocol):
    """What is asked of an interface that the kernel has. `master` is what it belongs to, "" = nothing."""

    @property
    def kind(self) -> str: ...
    @property
    def master(self) -> str: ...
    @property
    def vrf_table(self) -> int: ...
    @property
    def made_by_us(self) -> bool: ...


@dataclass(slots=True)
class VrfChanges:
    """`masters`: (interface, VRF or "" for out of it). `blocked`: interface -> why it cannot be, in words.

    The kernel takes an interface down for a moment when it comes into a VRF or leaves it: `cycled` are those.
    """

    remove: list[str] = field(default_factory=list)
    make: list[tuple[str, int]] = field(default_factory=list)
    masters: list[tuple[str, str]] = field(default_factory=list)
    cycled: set[str] = field(default_factory=set)
    add_rules: list[RoutingRule] = field(default_factory=list)
    remove_rules: list[RoutingRule] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        rules = self.add_rules or self.remove_rules
        return bool(self.remove or self.make or self.masters or rules or self.blocked)

    def steps(self) -> Iterator[Step]:
        yield from (step("network", "remove", "interface", name) for name in self.remove)
        yield from (step("network", "add", "interface", f"{n}: {vrf_text(table)}") for n, table in self.make)
        for name, vrf in self.masters:
            yield step(
                "network", "change", "interface", f"{name} {f'into VRF {vrf}' if vrf else 'out of its VRF'}"
            )
        yield from (step("network", "add", "rule", rule.text) for rule in self.add_rules)
        yield from (step("network", "remove", "rule", rule.text) for rule in self.remove_rules)


def vrf_text(table: int) -> str:
    return f"VRF with table {table}"


def gone_vrfs(held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec]) -> set[str]:
    """Ours that are not wanted, or not with this table."""
    return {
        name
        for name, device in held.items()
        if device.kind == "vrf"
        and device.made_by_us
        and (name not in wanted or wanted[name].vrf_table != device.vrf_table)
    }


def vrf_changes(
    held: Mapping[str, Device],
    gone: Collection[str],
    wanted: Mapping[str, NetworkSpec],
    rules: frozenset[RoutingRule],
    new: Collection[str],
) -> VrfChanges:
    """`held` without the VLANs that go, `new` those that come; `gone` by `gone_vrfs`."""
    found = VrfChanges(remove=sorted(gone))
    kept = {name: device for name, device in held.items() if name not in gone}
    _make(found, kept, wanted)
    ours = {name for name, spec in wanted.items() if spec.vrf_table}
    there = {*kept, *(name for name, _ in found.make)}
    for name in [*(name for name in wanted if name in kept or name in new), *(kept.keys() - wanted.keys())]:
        spec = wanted.get(name)
        vrf = (spec and spec.vrf) or ""
        if name not in ours and (not vrf or vrf in there):
            _put(found, name, vrf, kept, ours)
    found.cycled |= {name for name, device in kept.items() if device.master in gone}
    _change_rules(found, bool(ours), rules)
    return found


def _make(found: VrfChanges, kept: Mapping[str, Device], wanted: Mapping[str, NetworkSpec]) -> None:
    owners = {device.vrf_table: name for name, device in kept.items() if device.kind == "vrf"}
    for name, spec in wanted.items():
        device, table = kept.get(name), spec.vrf_table
        if not table or (device is not None and device.kind == "vrf" and device.vrf_table == table):
            continue
        if device is not None:
            what = vrf_text(device.vrf_table) if device.kind == "vrf" else device.kind
            found.blocked[name] = f"{name} is a {what} that Weir did not make, not a {vrf_text(table)}"
        elif table in owners:
            found.blocked[name] = (
                f"table {table} of VRF {name} is that of VRF {owners[table]}, which Weir did not make"
            )
        else:
            found.make.append((name, table))


def _put(found: VrfChanges, name: str, vrf: str, kept: Mapping[str, Device], ours: Collection[str]) -> None:
    """One interface into its VRF, or ("") out of one that is ours to fill."""
    master = kept[name].master if name in kept else ""
    above = kept.get(master)
    if above is None:
        master = ""
    elif above.kind != "vrf":
        if vrf:
            found.blocked[name] = f"{name} belongs to the {above.kind} {master}, so it cannot be in VRF {vrf}"
        return
    elif not vrf and not above.made_by_us and master not in ours:
        return
    if vrf != master:
        found.masters.append((name, vrf))
        found.cycled.add(name)


def _change_rules(found: VrfChanges, has_vrfs: bool, rules: frozenset[RoutingRule]) -> None:
    """The kernel looks for a packet of a VRF among the addresses that the router has outside VRFs, then in
    the VRF's table, then in the main one. So: those addresses later, and nothing after the VRF's table."""
    for family in _FAMILIES:
        early = RoutingRule(family, 0, _LOCAL_TABLE, ours=False)
        late = RoutingRule(family, 32765, _LOCAL_TABLE)
        end = RoutingRule(family, 2000, 0, l3mdev=True, unreachable=True)
        held = {rule.meaning: rule for rule in rules if rule.family == family}
        if has_vrfs and held:
            found.add_rules += [rule for rule in (end, late) if rule.meaning not in held]
            found.remove_rules += [held[early.meaning]] if early.meaning in held else []
        elif late.meaning in held and held[late.meaning].ours:
            found.add_rules += [early] if early.meaning not in held else []
            found.remove_rules += [held[meaning] for meaning in sorted(held) if held[meaning].ours]
