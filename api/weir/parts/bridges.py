# SPDX-License-Identifier: Apache-2.0
"""Bridges: their settings, their ports, and which VLANs pass where. The part `network` makes the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weir.model.document import Document
from weir.model.frames import vlan_ids
from weir.model.interface import Interface
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.parts.delta import Delta
from weir.parts.part import EntriesPart

TICKS_PER_S = 100
"""The kernel's unit of STP's and the ages' times (USER_HZ)."""
TIMERS = {"forward_delay": "forward_delay_s", "hello_time": "hello_s", "max_age": "max_age_s"}
"""Settings for which a bridge has its root's values as long as it is not the root itself, with the fields
that say them."""
AGEING = "ageing_time"
FILTERING = "vlan_filtering"
BRIDGE_FIELDS = {
    AGEING: "ageing_s",
    "stp_state": "stp",
    "priority": "priority",
    **TIMERS,
    "mcast_snooping": "igmp_snooping",
    FILTERING: FILTERING,
}
PORT_FIELDS = {
    "mode": "hairpin",
    "guard": "bpdu_guard",
    "learning": "learning",
    "isolated": "isolated",
    "priority": "priority",
    "cost": "cost",
}
"""Which field says what the kernel calls by another name."""

Settings = Mapping[str, int]


class Vlans(NamedTuple):
    """`pvid` is that of frames without a tag, 0: none. `untagged` are those that leave without one."""

    pvid: int
    tagged: frozenset[int]
    untagged: frozenset[int]


@dataclass(frozen=True, slots=True)
class BridgePortSpec:
    """`raises`: nobody else brings it up, as it is not configured. `vlans` where the bridge filters them."""

    ifname: str
    settings: Settings
    vlans: Vlans | None
    raises: bool


@dataclass(frozen=True, slots=True)
class BridgeSpec:
    """`vlans` are the router's own, where the bridge filters them; `mac` None: that of the first port."""

    ifname: str
    settings: Settings
    ports: tuple[BridgePortSpec, ...]
    vlans: Vlans | None
    mac: str | None


class BridgesPart(EntriesPart[BridgeSpec]):
    name, what = "bridges", "bridge"
    made_of = frozenset(("interface",))
    after = ("bonds",)  # the devices are there, and who was in a VRF or a bond is out of it

    def key(self, entry: BridgeSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Mapping[str, BridgeSpec]:
        items = sorted(document.interfaces(), key=lambda item: item.id)
        return {item.id: _spec(item, item.bridge, document) for item in items if item.bridge is not None}

    def told(self, wanted: Mapping[str, BridgeSpec], item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def text(self, old: BridgeSpec | None, new: BridgeSpec) -> str:
        ports = " ".join(port.ifname for port in new.ports)
        filters = ", filters VLANs" if new.vlans is not None else ""
        stp = ", STP" if new.settings["stp_state"] else ""
        return f"{new.ifname}: {ports or 'no ports'}{filters}{stp}"


def _spec(item: Interface, bridge: Bridge, document: Document) -> BridgeSpec:
    settings = {
        AGEING: bridge.ageing_s * TICKS_PER_S,
        "priority": bridge.priority,
        "mcast_snooping": int(bridge.igmp_snooping),
        FILTERING: int(bridge.vlan_filtering),
        "stp_state": int(bridge.stp == "stp"),
        **{name: getattr(bridge, field) * TICKS_PER_S for name, field in TIMERS.items()},
    }
    if bridge.vlan_filtering:
        # Else each port that joins is in VLAN 1 until it is told another one.
        settings["vlan_default_pvid"] = 0
    own = _vlans(bridge.pvid, bridge.tagged, ()) if bridge.vlan_filtering else None
    ports = tuple(_port(port, bridge, document) for port in bridge.ports)
    return BridgeSpec(item.id, settings, ports, own, item.mac)


def _port(port: BridgePort, bridge: Bridge, document: Document) -> BridgePortSpec:
    settings = {name: getattr(port, field) for name, field in PORT_FIELDS.items()}
    return BridgePortSpec(
        port.interface,
        {name: int(value) for name, value in settings.items() if value is not None},
        _vlans(port.pvid, port.tagged, port.untagged) if bridge.vlan_filtering else None,
        document.interface(port.interface) is None,
    )


def _vlans(pvid: int, tagged: Iterable[str], untagged: Iterable[str]) -> Vlans:
    without_tag = vlan_ids(untagged) | ({pvid} if pvid else set())
    return Vlans(pvid, vlan_ids(tagged) - without_tag, without_tag)


def unconfigured_ports(delta: Delta[BridgeSpec]) -> Iterator[str]:
    """The ports that bridges get and did not have, of which nothing else is configured."""
    for old, new in delta.set:
        before = {port.ifname for port in old.ports} if old is not None else set()
        yield from (port.ifname for port in new.ports if port.raises and port.ifname not in before)


BRIDGES = BridgesPart()
