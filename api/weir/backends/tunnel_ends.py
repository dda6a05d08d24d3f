# SPDX-License-Identifier: Apache-2.0
"""The ends of VXLAN and GRE tunnels, which change while the device stays and stays up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from weir.adapters import tunnel_links
from weir.parts.network import NetworkSpec
from weir.parts.tunnels import VXLAN, Ends

_PARKED_KEYS = 4_000_000_000
"""From here on are keys that hardly anybody has."""


class Device(Protocol):
    """What is asked of an interface that the kernel has."""

    @property
    def kind(self) -> str: ...
    @property
    def ends(self) -> Ends | None: ...


@dataclass(frozen=True, slots=True)
class EndsChange:
    """Of a device that is there."""

    ifname: str
    kind: str
    held: Ends
    wanted: Ends
    mtu: int

    def apply(self) -> None:
        tunnel_links.set_ends(self.ifname, self.kind, self.held, self.wanted, self.mtu)

    @property
    def lost(self) -> str:
        """What goes another way than before, in words; "" where nothing does."""
        if self.held.local != self.wanted.local:
            return f"packets of {self.ifname} come from {self.wanted.local or 'another address'}"
        if self.held.key != self.wanted.key:
            return f"{self.ifname} has another key"
        gone = sorted({*self.held.remotes} - {*self.wanted.remotes})
        return f"{self.ifname} does not lead to {', '.join(gone)} any more" if gone else ""


def ends_changes(held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec]) -> list[EndsChange]:
    """Of devices that stay; one that is made is made with its ends."""
    found = []
    for name, spec in wanted.items():
        device = held.get(name)
        if device is None or device.kind != spec.device or device.ends is None or spec.ends is None:
            continue
        if device.ends != spec.ends:
            found.append(EndsChange(name, spec.device, device.ends, spec.ends, spec.mtu or 0))
    return found


def apply_ends(changes: list[EndsChange]) -> None:
    """The kernel has no two tunnels with the same ends at any time, so each waits for the one whose place it
    takes; one of those that take each other's has a key of nobody's meanwhile."""
    left = list(changes)
    while left:
        change = next((one for one in left if not any(_in_way(other, one) for other in left)), None)
        if change is None:
            first = left[0]
            parked = replace(first.held, key=_free_key({one.held.key for one in left}))
            replace(first, wanted=parked).apply()
            left[0] = replace(first, held=parked)
        else:
            change.apply()
            left.remove(change)


def _in_way(other: EndsChange, change: EndsChange) -> bool:
    held, wanted = other.held, change.wanted
    return (
        other.kind != VXLAN
        and other.ifname != change.ifname
        and (other.kind, held.local, held.remotes, held.key)
        == (
            change.kind,
            wanted.local,
            wanted.remotes,
            wanted.key,
        )
    )


def _free_key(held: set[int | None]) -> int:
    return next(key for key in count(_PARKED_KEYS) if key not in held)


def wrong_ends(changes: list[EndsChange], held: Mapping[str, Device]) -> Iterator[str]:
    """What is not as it was to be, after these changes."""
    for change in changes:
        device = held.get(change.ifname)
        if device is not None and device.ends != change.wanted:
            yield f"{change.ifname} is not {change.wanted.text}"
