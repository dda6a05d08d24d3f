# SPDX-License-Identifier: Apache-2.0
"""Which class a packet meets: as the programs of tc choose it (datapath/bpf/weir_tc.bpf.c and far.h), from
the tables that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

from weir.agent.hosts import Looks
from weir.compiler.types import NO_SLOT, ClassSpec, FarEntry, PortSpec

_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class Chosen:
    """The queue's class, and the direction of it that the packet is charged to."""

    spec: ClassSpec
    way: Literal["upload", "download"]


class Classes:
    """Classes by slot, and whose an address is."""

    def __init__(self, datapath: Looks, classes: Mapping[int, ClassSpec]) -> None:
        self._datapath = datapath
        self._classes = classes

    def on_arrival(self, port: PortSpec | None, source: str) -> int:
        """The slot that is noted with a packet when it comes in: a class, or a fork; 0 = none."""
        if port is None:
            return NO_SLOT
        return self._looked_up(port, source) or port.interface_slot

    def of_sender(self, slot: int, came: PortSpec | None, leaves: PortSpec | None, far: str) -> Chosen | None:
        """Whose upload it is, once it is known where it goes."""
        found = self._settled(slot, far, leaves)
        if not found and came is not None:
            found = self._settled(came.interface_slot, far, leaves)
        return self._chosen(found, "upload")

    def on_leaving(
        self, slot: int, came: PortSpec | None, leaves: PortSpec, source: str, destination: str
    ) -> tuple[Chosen, ...]:
        """Who is charged, the one whose limit is looked at first; two where both ends are customers. `slot`
        is what was noted on arrival."""
        found = self._settled(self._looked_up(leaves, destination), source, came)
        found = found or self._settled(leaves.interface_slot, source, came)
        receiver = self._chosen(found, "download")
        sender = self.of_sender(slot, came, leaves, destination) if slot else None
        return tuple(one for one in (receiver, sender) if one is not None)

    def _looked_up(self, port: PortSpec, address: str) -> int:
        host = ip_address(address)
        return self._datapath.lookup(port.domain, host.version, int(host))

    def _settled(self, slot: int, far: str, behind: PortSpec | None) -> int:
        """The slot itself, or whose a fork's packets are with that far end (`weir_settle`)."""
        spec = self._classes.get(slot)
        if spec is None or not spec.far:
            return slot
        by_address = max(
            (end for end in spec.far if _holds(end, far)), key=lambda end: end.length, default=None
        )
        name = (behind.ifname if behind is not None else "").encode().ljust(_NAME_BYTES, b"\0")
        by_port = next((end for end in spec.far if behind and end.family == 0 and end.end == name), None)
        found = [end for end in (by_address, by_port) if end is not None]
        return min(found, key=lambda end: end.rank).slot if found else spec.parent_slot

    def _chosen(self, slot: int, way: Literal["upload", "download"]) -> Chosen | None:
        spec = self._classes.get(slot)
        return None if spec is None or spec.far else Chosen(spec, way)


def _holds(end: FarEntry, address: str) -> bool:
    host = ip_address(address)
    if end.family != host.version:
        return False
    width = host.max_prefixlen
    own = int.from_bytes(end.end[: width // 8], "big")
    return own >> (width - end.length) == int(host) >> (width - end.length)
