# SPDX-License-Identifier: Apache-2.0
"""Interfaces that leave a bond. The kernel takes them down, so they lose their IPv6 addresses, and what is
configured of them has to be set again; so they leave before that is done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from weir.backends.vrfs import Device
from weir.parts.network import NetworkSpec


@dataclass(slots=True)
class Leaving:
    """`released` have to be told to leave; of `all`, the others leave as their bond is removed."""

    released: list[str] = field(default_factory=list)
    all: set[str] = field(default_factory=set)


def leaving_bonds(
    held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec], removed: Collection[str]
) -> Leaving:
    """Those that stay members are no business of the part `network`, nor are those that nobody configured or
    that somebody else put into a bond of their own."""
    found = Leaving()
    for name, spec in wanted.items():
        device = held.get(name)
        bond = None if device is None else held.get(device.master)
        if device is None or bond is None or bond.kind != "bond" or spec.bond:
            continue
        if device.master in removed:
            found.all.add(name)
        elif bond.made_by_us or device.master in wanted:
            found.all.add(name)
            found.released.append(name)
    return found
