# SPDX-License-Identifier: Apache-2.0
"""What a change of interfaces costs, by what is going to be done to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from weir.backends.backend import Look
from weir.parts.effect import Effect, Severity
from weir.parts.network import NetworkSpec

if TYPE_CHECKING:
    from weir.backends.network import NetworkDifference, NetworkState

MADE_AGAIN_MS = 1000
"""An interface that is made again, or taken down for a moment, passes packets again within this."""


class NetworkEffects:
    """Of one difference. An effect is the object's whose change causes it, which may be another interface:
    a VLAN's parent, a VRF."""

    def __init__(self, look: Look[NetworkState, Mapping[str, NetworkSpec], NetworkDifference]) -> None:
        self._held, self._wanted, self._found = look.held.links, look.wanted, look.difference
        self._sessions = look.sessions
        self._changed = {name for kind, name in look.changed if kind == "interface"}

    def all(self) -> Iterator[Effect]:
        found = self._found
        made = {name for name, _ in [*found.vlans.make, *found.vrfs.make, *found.devices.make]}
        for name in sorted({*found.vlans.gone, *found.vrfs.remove, *found.devices.remove}):
            if name not in made:
                yield self._drops(name, f"{name} is removed")
            elif name in found.devices.remove and self._held[name].kind == "bond":
                text = f"{name} is made again, and passes packets when its members are up and LACP agrees"
                yield self._effect(name, "resets", text, None)
            elif name not in found.vrfs.remove:
                yield self._resets(name, f"{name} is made again")
        for change in found.ends:
            if change.lost:
                text = f"{change.lost}, and nothing passes before the other end knows"
                yield self._effect(change.ifname, "resets", text, None)
        moved = dict(found.vrfs.masters)
        for name, vrf in moved.items():
            if name in self._held:
                yield self._drops(name, f"{name} moves {f'into VRF {vrf}' if vrf else 'out of its VRF'}")
        for name in sorted(found.vrfs.cycled - moved.keys() - made):
            yield self._resets(name, f"{name} is taken down for a moment")
        for name, up in found.up:
            if not up and name in self._held and self._held[name].up:
                yield self._drops(name, f"{name} goes down")
        for name, mtu in found.mtus:
            if name in self._held and self._held[name].kind == "physical":
                text = f"{name} gets the MTU {mtu}, for which many network cards start again"
                yield self._effect(name, "resets", text, None)
        for name, _ in found.macs.macs:
            if name in self._held and name not in made:
                yield self._effect(name, "resets", another_mac(name), None)
        for name, text in found.remove:
            yield self._drops(name, f"{name} loses the address {text}", (text,))

    def _drops(self, name: str, text: str, addresses: Collection[str] | None = None) -> Effect:
        lost = self._held[name].ours if addresses is None and name in self._held else addresses or ()
        return self._effect(name, "drops-sessions", text, None)._replace(sessions=self._sessions(lost))

    def _resets(self, name: str, text: str) -> Effect:
        return self._effect(name, "resets", f"{text}, and no packet passes meanwhile", MADE_AGAIN_MS)

    def _effect(self, name: str, severity: Severity, text: str, lasts_ms: int | None) -> Effect:
        return Effect("interface", self._cause(name), severity, text, lasts_ms)

    def _cause(self, name: str) -> str:
        """The interface that was changed: this one, or one that it is on or in."""
        ahead, seen = [name], set[str]()
        while ahead:
            here = ahead.pop(0)
            if here in self._changed:
                return here
            seen.add(here)
            ahead += [below for below in self._below(here) if below not in seen]
        return name

    def _below(self, name: str) -> Iterator[str]:
        state, spec = self._held.get(name), self._wanted.get(name)
        if state is not None:
            yield from (state.vlan.parent,) if state.vlan else ()
            yield from (state.master,) if state.master else ()
        if spec is not None:
            yield from (spec.vlan.parent,) if spec.vlan else ()
            yield from (spec.vrf,) if spec.vrf else ()


def another_mac(name: str) -> str:
    return f"{name} gets another MAC address, which hosts have to learn"
