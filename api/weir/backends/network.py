# SPDX-License-Identifier: Apache-2.0
"""Interfaces: up or down, MTU, addresses, and the switch that makes this machine a router.

Ours are the addresses with our mark; those of others stay, on our interfaces too. What an interface's
MTU was before we first changed it is remembered in a file, because "no MTU configured" must undo a change
that was made, also by an agent that was killed in the middle of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weir.adapters.netlink import Links
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import refuse, step
from weir.compiler.types import NetworkSpec, Step
from weir.model.problem import ApplyFailed

FORWARDING = {"net/ipv4/ip_forward": "1", "net/ipv6/conf/all/forwarding": "1"}


@dataclass(frozen=True, slots=True)
class LinkState:
    """One interface as the kernel holds it; `ours` are addresses with our mark."""

    up: bool
    mtu: int
    ours: frozenset[str]
    foreign: frozenset[str]


@dataclass(frozen=True, slots=True)
class NetworkState:
    links: Mapping[str, LinkState]
    sysctls: Mapping[str, str | None]
    original_mtus: Mapping[str, int]


@dataclass(slots=True)
class NetworkDifference:
    """(interface, value) pairs in the order they are done; `missing` interfaces cannot be served."""

    sysctls: dict[str, str] = field(default_factory=dict)
    mtus: list[tuple[str, int]] = field(default_factory=list)
    remembered_mtus: dict[str, int] = field(default_factory=dict)
    up: list[tuple[str, bool]] = field(default_factory=list)
    add: list[tuple[str, str]] = field(default_factory=list)
    remove: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.sysctls or self.mtus or self.up or self.add or self.remove)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("network", "change", "setting", f"{k} = {v}") for k, v in self.sysctls.items()),
            *(step("network", "change", "interface", f"{name} mtu {mtu}") for name, mtu in self.mtus),
            *(step("network", "change", "interface", f"{n} {'up' if up else 'down'}") for n, up in self.up),
            *(step("network", "add", "address", f"{name} {text}") for name, text in self.add),
            *(step("network", "remove", "address", f"{name} {text}") for name, text in self.remove),
        ]


class NetworkBackend:
    def __init__(self, links: Links, memory: Path) -> None:
        """`memory`: the file that remembers MTUs; on a file system that is empty after a boot."""
        self._links = links
        self._memory = memory

    def read(self) -> NetworkState:
        links = self._links.links()
        names = {link.index: name for name, link in links.items()}
        ours: dict[str, set[str]] = {name: set() for name in links}
        foreign: dict[str, set[str]] = {name: set() for name in links}
        for address in self._links.addresses():
            name = names.get(address.ifindex)
            if name is not None:
                (ours if address.ours else foreign)[name].add(address.text)
        return NetworkState(
            {
                name: LinkState(link.up, link.mtu, frozenset(ours[name]), frozenset(foreign[name]))
                for name, link in links.items()
            },
            {name: read_sysctl(name) for name in FORWARDING},
            self._original_mtus(),
        )

    def diff(self, held: NetworkState, wanted: Mapping[str, NetworkSpec]) -> NetworkDifference:
        found = NetworkDifference()
        if wanted:
            found.sysctls = {k: v for k, v in FORWARDING.items() if held.sysctls.get(k) not in (v, None)}
        for name, spec in wanted.items():
            state = held.links.get(name)
            if state is None:
                found.missing.append(name)
            else:
                self._diff_link(found, held, name, state, spec)
        for name, state in held.links.items():
            if name not in wanted:
                found.remove.extend((name, text) for text in sorted(state.ours))
                self._diff_mtu(found, held, name, None)
        return found

    def apply(self, difference: NetworkDifference) -> None:
        for setting, value in difference.sysctls.items():
            write_sysctl(setting, value)
        if difference.mtus:
            self._remember(difference.remembered_mtus)
        for name, mtu in difference.mtus:
            self._links.set_mtu(name, mtu)
        for name, up in difference.up:
            self._links.set_up(name, up)
        for name, text in difference.add:
            self._links.add_address(name, text)
        for name, text in difference.remove:
            self._links.remove_address(name, text)

    def verify(self, difference: NetworkDifference) -> None:
        held = self.read()
        wrong = [
            f"{k} is {held.sysctls.get(k)}" for k, v in difference.sysctls.items() if held.sysctls.get(k) != v
        ]
        for name, mtu in difference.mtus:
            state = held.links.get(name)
            if state is None or state.mtu != mtu:
                wrong.append(f"{name}: the MTU is not {mtu}")
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

    def _diff_link(
        self, found: NetworkDifference, held: NetworkState, name: str, state: LinkState, spec: NetworkSpec
    ) -> None:
        self._diff_mtu(found, held, name, spec.mtu)
        if state.up != spec.up:
            found.up.append((name, spec.up))
        present = state.ours | state.foreign
        found.add.extend((name, text) for text in spec.addresses if text not in present)
        found.remove.extend((name, text) for text in sorted(state.ours) if text not in spec.addresses)

    def _diff_mtu(self, found: NetworkDifference, held: NetworkState, name: str, wanted: int | None) -> None:
        """Without a configured MTU the one from before our first change comes back."""
        now = held.links[name].mtu
        original = held.original_mtus.get(name)
        target = original if wanted is None else wanted
        if target is None or target == now:
            return
        found.mtus.append((name, target))
        found.remembered_mtus[name] = now if original is None else original

    def _original_mtus(self) -> dict[str, int]:
        try:
            found = json.loads(self._memory.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {str(name): int(mtu) for name, mtu in found.items()} if isinstance(found, dict) else {}

    def _remember(self, mtus: Mapping[str, int]) -> None:
        new = self._memory.with_suffix(".new")
        try:
            new.write_text(json.dumps({**self._original_mtus(), **mtus}), encoding="utf-8")
            new.replace(self._memory)
        except OSError as error:
            raise ApplyFailed(f"{self._memory} cannot be written: {error.strerror}", code="memory") from error
