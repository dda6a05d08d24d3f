# SPDX-License-Identifier: Apache-2.0
"""VLAN interfaces: which are made and which go, so that the kernel has those that are wanted.

A kernel's VLAN keeps its parent and its tag for life, so one that is to have others is recreated. What is
stacked on it goes with it. Only what carries our mark is removed; an equal VLAN of somebody else's is used
as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from weir.adapters.netlink import Link
from weir.model.interface import Vlan
from weir.parts.network import NetworkSpec

_PROTOCOLS: dict[int, Literal["802.1Q", "802.1ad"]] = {0x8100: "802.1Q", 0x88A8: "802.1ad"}


class Device(Protocol):
    """What is asked of an interface that the kernel has."""

    @property
    def kind(self) -> str: ...
    @property
    def vlan(self) -> Vlan | None: ...
    @property
    def made_by_us(self) -> bool: ...


@dataclass(slots=True)
class VlanChanges:
    """`gone` is all that is not there afterwards; `remove` what has to be removed for that, upper ones first.

    `make` has lower ones first. `blocked`: interface -> why it cannot be made, in words.
    """

    gone: set[str] = field(default_factory=set)
    remove: list[str] = field(default_factory=list)
    make: list[tuple[str, Vlan]] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)


def vlan_changes(
    held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec], made_again: Collection[str] = ()
) -> VlanChanges:
    """`wanted` has lower interfaces before those that are stacked on them (`lower_first`). What is on one
    that is `made_again` goes with it."""
    found = VlanChanges()
    found.gone = _gone(held, wanted, made_again)
    stacked = {name: device.vlan for name, device in held.items()}
    found.remove = sorted(
        (name for name in found.gone if held[name].made_by_us),
        key=lambda name: (-_depth(stacked, name), name),
    )
    kept = {name: device for name, device in held.items() if name not in found.gone}
    owners = {device.vlan: name for name, device in kept.items() if device.vlan is not None}
    there = set(kept)
    for name, spec in wanted.items():
        if spec.vlan is None:
            continue
        device = kept.get(name)
        if device is not None:
            if device.vlan != spec.vlan:
                found.blocked[name] = (
                    f"{name} is a {device.kind} that Weir did not make, not {spec.vlan.text}"
                )
        elif spec.vlan in owners:
            found.blocked[name] = f"{spec.vlan.text} is {owners[spec.vlan]}, which Weir did not make"
        elif spec.vlan.parent in there:
            found.make.append((name, spec.vlan))
            there.add(name)
    return found


def lower_first(wanted: Mapping[str, NetworkSpec]) -> dict[str, NetworkSpec]:
    """The same, each after what it is stacked on."""
    stacked = {name: spec.vlan for name, spec in wanted.items()}
    return {name: wanted[name] for name in sorted(wanted, key=lambda name: _depth(stacked, name))}


def _gone(
    held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec], made_again: Collection[str]
) -> set[str]:
    gone = {
        name
        for name, device in held.items()
        if device.kind == "vlan"
        and device.made_by_us
        and (name not in wanted or wanted[name].vlan != device.vlan)
    }
    above = {*gone, *made_again}
    while above:
        above = {
            name
            for name, device in held.items()
            if device.vlan is not None and device.vlan.parent in above and name not in gone
        }
        gone |= above
    return gone


def _depth(stacked: Mapping[str, Vlan | None], name: str) -> int:
    """How many VLANs an interface is, with those below it."""
    depth = 0
    while (vlan := stacked.get(name)) is not None and depth <= len(stacked):
        name, depth = vlan.parent, depth + 1
    return depth


def vlan_of(link: Link, names: Mapping[int, str]) -> Vlan | None:
    """What a VLAN interface is; None for another one, and for one whose parent is in another namespace."""
    tag, ethertype = link.vlan
    parent = names.get(link.lower)
    return Vlan(parent, tag, _PROTOCOLS[ethertype]) if parent and ethertype in _PROTOCOLS else None
