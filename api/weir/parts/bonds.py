# SPDX-License-Identifier: Apache-2.0
"""Bonds: their settings and their members. The part `network` makes the device, in its mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.links import Bond
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta
from weir.parts.part import EntriesPart

MODES = {"active-backup": 1, "balance-xor": 2, "802.3ad": 4}
LACP_RATES = {"slow": 0, "fast": 1}
HASH_POLICIES = {"layer2": 0, "layer3+4": 1, "layer2+3": 2}
"""The kernel's numbers (linux/if_bonding.h)."""
BOND_FIELDS = {"miimon": "miimon_ms", "min_links": "min_links", "hash_policy": "hash_policy"}
"""Which field says what the kernel calls by another name."""


@dataclass(frozen=True, slots=True)
class BondMemberSpec:
    """`up`: it is not disabled. `raises`: nobody else brings it up, as it is not configured."""

    ifname: str
    up: bool
    raises: bool


@dataclass(frozen=True, slots=True)
class BondSpec:
    """`settings` are those that the mode has. `primary` "" = none.

    `bridges` are those of the configuration, which let a port go that becomes a member.
    """

    ifname: str
    mode: str
    settings: Mapping[str, int]
    members: tuple[BondMemberSpec, ...]
    primary: str
    bridges: frozenset[str] = field(default=frozenset(), compare=False)


class BondsPart(EntriesPart[BondSpec]):
    name, what = "bonds", "bond"
    made_of = frozenset(("interface",))
    after = ("network",)  # the devices are there, and who was in a VRF is out of it

    def key(self, entry: BondSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Mapping[str, BondSpec]:
        items = sorted(document.interfaces(), key=lambda item: item.id)
        bridges = frozenset(item.id for item in items if item.bridge is not None)
        return {item.id: _spec(item, item.bond, bridges, document) for item in items if item.bond is not None}

    def told(self, wanted: Mapping[str, BondSpec], item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: BondSpec | None, new: BondSpec) -> str:
        members = " ".join(member.ifname for member in new.members)
        return f"{new.ifname}: {new.mode}, {members or 'no members'}"


def made_with(bond: Bond) -> tuple[tuple[str, int], ...]:
    """What the kernel changes only while a bond is down and empty."""
    lacp = (("bond_ad_lacp_rate", LACP_RATES[bond.lacp_rate]),) if bond.mode == "802.3ad" else ()
    return (("bond_mode", MODES[bond.mode]), *lacp)


def speaks_lacp(made: tuple[tuple[str, int], ...]) -> bool:
    """Of what a bond is made with."""
    return ("bond_mode", MODES["802.3ad"]) in made


def bonded(document: Document) -> dict[str, Interface]:
    """By the name of a member: the bond that it belongs to."""
    bonds = (item for item in document.interfaces() if item.bond is not None)
    return {member.interface: item for item in bonds if item.bond for member in item.bond.members}


def _spec(item: Interface, bond: Bond, bridges: frozenset[str], document: Document) -> BondSpec:
    settings = {"miimon": bond.miimon_ms}
    if bond.mode != "active-backup":
        settings["hash_policy"] = HASH_POLICIES[bond.hash_policy]
    if bond.mode == "802.3ad":
        settings["min_links"] = bond.min_links
    members = tuple(_member(member.interface, document) for member in bond.members)
    primary = bond.primary if bond.mode == "active-backup" else None
    return BondSpec(item.id, bond.mode, settings, members, primary or "", bridges)


def _member(name: str, document: Document) -> BondMemberSpec:
    item = document.interface(name)
    return BondMemberSpec(name, item is None or not item.disabled, item is None)


def unconfigured_members(delta: Delta[BondSpec]) -> Iterator[str]:
    """The members that bonds get and did not have, of which nothing else is configured."""
    for old, new in delta.set:
        before = {member.ifname for member in old.members} if old is not None else set()
        yield from (one.ifname for one in new.members if one.raises and one.ifname not in before)


BONDS = BondsPart()
