# SPDX-License-Identifier: Apache-2.0
"""Interfaces made out of nothing, which are on no other one: tunnels, bridges, bonds, and loopbacks.

One that keeps for life what it was made with is recreated where that is to be something else.

Only what carries our mark is removed; an equal one of somebody else's is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from weir.backends.backend import step
from weir.parts.delta import Step
from weir.parts.network import DEVICES, NetworkSpec


class Device(Protocol):
    """What is asked of an interface that the kernel has."""

    @property
    def kind(self) -> str: ...
    @property
    def made_by_us(self) -> bool: ...
    @property
    def made_with(self) -> tuple[tuple[str, int], ...]: ...


@dataclass(slots=True)
class DeviceChanges:
    """`make`: (interface, kind). `blocked`: interface -> why it cannot be made, in words.

    `specs` says of each that is made what is asked of it."""

    remove: list[str] = field(default_factory=list)
    make: list[tuple[str, str]] = field(default_factory=list)
    specs: dict[str, NetworkSpec] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.remove or self.make or self.blocked)

    def steps(self) -> Iterator[Step]:
        yield from (step("network", "remove", "interface", name) for name in self.remove)
        yield from (step("network", "add", "interface", f"{name}: {kind}") for name, kind in self.make)

    def wrong(self, held: Mapping[str, Device]) -> list[str]:
        """What is not as it was to be, after these changes."""
        made = dict(self.make)
        return [
            *self.blocked.values(),
            *(f"{name} is still there" for name in self.remove if name in held and name not in made),
            *(
                f"{name} is no {kind}"
                for name, kind in made.items()
                if name not in held or held[name].kind != kind
            ),
        ]


def device_changes(held: Mapping[str, Device], wanted: Mapping[str, NetworkSpec]) -> DeviceChanges:
    found = DeviceChanges()
    for name, device in held.items():
        kept = name in wanted and is_as_asked(device, wanted[name])
        if device.kind in DEVICES and device.made_by_us and not kept:
            found.remove.append(name)
    for name, spec in wanted.items():
        there = None if name in found.remove else held.get(name)
        if not spec.device or (there is not None and is_as_asked(there, spec)):
            continue
        if there is None or there.made_by_us:  # ours is a VLAN or VRF, which goes before
            found.make.append((name, spec.device))
            found.specs[name] = spec
        else:
            other = f"not a {spec.device}" if there.kind != spec.device else "and set up differently"
            found.blocked[name] = f"{name} is a {there.kind} that Weir did not make, {other}"
    return found


def is_as_asked(held: Device, spec: NetworkSpec) -> bool:
    """Whether it is of that kind, and was made with what it keeps for life."""
    return held.kind == spec.device and set(spec.made_with) <= set(held.made_with)
