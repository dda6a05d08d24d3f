# SPDX-License-Identifier: Apache-2.0
"""MAC addresses that are configured; without one an interface has what it had before.

A bridge's are the part `bridges`': it takes the first port's, as long as none is configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.adapters.hardware_address import change_address
from weir.adapters.link_messages import index_of
from weir.backends.backend import step
from weir.parts.delta import Step

if TYPE_CHECKING:
    from weir.backends.network import LinkState
    from weir.parts.network import NetworkSpec


@dataclass(slots=True)
class MacChanges:
    """`macs`: (interface, MAC address), lower interfaces first; `remembered`: what those had before the
    first change. `known` is what each interface has, and then what it will have."""

    known: dict[str, str] = field(default_factory=dict)
    macs: list[tuple[str, str]] = field(default_factory=list)
    remembered: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.macs)

    def steps(self) -> Iterator[Step]:
        return (
            step("network", "change", "interface", f"{name} MAC address {mac}") for name, mac in self.macs
        )

    def compare(
        self, name: str, state: LinkState, spec: NetworkSpec | None, originals: Mapping[str, str]
    ) -> None:
        """Note what has to be done to this one. Without a configured address one that Weir made keeps its
        own, but a VLAN has its parent's; another one gets back what it had before the first change."""
        original = None if state.made_by_us else originals.get(name)
        below = state.vlan if state.made_by_us else None
        usual = original if below is None else self.known.get(below.parent)
        wanted = usual if spec is None or spec.mac is None else spec.mac
        if not wanted or wanted == state.mac:
            return
        self.macs.append((name, wanted))
        self.known[name] = wanted
        if original is None and state.mac and not state.made_by_us:
            self.remembered[name] = state.mac

    def apply(self) -> None:
        """Raises `ApplyFailed`."""
        for name, mac in self.macs:
            change_address(name, index_of(name), mac)

    def wrong(self, links: Mapping[str, LinkState]) -> Iterator[str]:
        for name, mac in self.macs:
            if name not in links or links[name].mac != mac:
                yield f"{name}: the MAC address is not {mac}"
