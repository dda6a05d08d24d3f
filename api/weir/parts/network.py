# SPDX-License-Identifier: Apache-2.0
"""Interfaces: which are made, up or down, their addresses, MTU and VRF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.kinds.dhcp6_pools import DelegatedPool
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.limits import USUAL_MTU_BYTES
from weir.model.objects import ConfigObject
from weir.model.pppoe import USUAL_PPPOE_MTU_BYTES, mtu_below
from weir.model.tree import vlan_parents
from weir.model.underlay import WIREGUARD_MTU_BYTES, bridge_mtu, room_bytes
from weir.model.vrf import table_of
from weir.parts.bonds import bonded, made_with
from weir.parts.part import EntriesPart
from weir.parts.tunnels import TUNNELS, Ends, ends_of, kind_of, tunnel_made_with

DEVICES = {
    "wireguard": WIREGUARD_MTU_BYTES,
    "dummy": USUAL_MTU_BYTES,
    "bridge": USUAL_MTU_BYTES,
    "bond": USUAL_MTU_BYTES,
    **dict.fromkeys(sorted(TUNNELS), USUAL_MTU_BYTES),
}
"""What is made out of nothing, by the kernel's name of its kind, with its MTU in bytes where none is
configured; a tunnel has less, by what carries it."""


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """An interface's own settings. `mtu` None = leave it as it is; addresses keep their host bits."""

    ifname: str
    up: bool
    addresses: tuple[str, ...]
    mtu: int | None
    description: str
    vlan: Vlan | None = None
    """Of an interface that the router makes; without an MTU of its own it has its parent's."""
    dhcp: bool = False
    """An address and routes are asked for; those of a lease come on top of what is configured."""
    dhcpv6: Dhcpv6 | None = None
    """A prefix is asked for; an address that is given with it comes on top of what is configured."""
    pools: tuple[DelegatedPool, ...] = ()
    """Which parts of that prefix routers behind are given, so that no interface takes one of them."""
    delegated: Delegated | None = None
    """It has the first address of a part of the prefix that another one was given."""
    vrf: str | None = None
    vrf_table: int = 0
    """Of a VRF, which the router makes: its routing table; 0 = it is none."""
    device: str = ""
    """Of what the router makes out of nothing: the kernel's name of its kind; "" = it is none."""
    made_with: tuple[tuple[str, int], ...] = ()
    """What the kernel can be told only when it makes the device, by its own names."""
    ends: Ends | None = None
    """Of a VXLAN or GRE tunnel, which always has an MTU here."""
    dialled: str = ""
    """What the PPPoE session is on that it is there with: pppd makes it, brings it up, and gives it IPv4
    address and MTU; "" = it is no session."""
    session_distance: int = 0
    """Of the default route by that session; 0 = it has none."""
    mac: str | None = None
    """None: what it has by itself. A bridge's is the part `bridges`'."""
    bond: str = ""
    """The bond whose member it is. It has that one's MTU, and the part `bonds` brings it up as it joins."""

    @property
    def is_made(self) -> bool:
        """By the router, when what it is made on is there."""
        return self.vlan is not None or bool(self.vrf_table) or bool(self.device) or bool(self.dialled)


class NetworkPart(EntriesPart[NetworkSpec]):
    name, what = "network", "interface"
    made_of = frozenset(("interface", "dhcpv6-server"))
    after = ("firewall",)  # no interface comes up without its rules

    def key(self, entry: NetworkSpec) -> str:
        return entry.ifname

    def wanted(self, document: Document) -> Mapping[str, NetworkSpec]:
        interfaces = sorted(document.interfaces(), key=lambda item: item.id)
        bonds, pools = bonded(document), _pools(document)
        return {
            item.id: _spec(item, document, bonds.get(item.id), pools.get(item.id, ())) for item in interfaces
        }

    def told(self, wanted: Mapping[str, NetworkSpec], item: ConfigObject) -> Iterator[str]:
        return super().told(wanted, item) if item.kind == "interface" else iter(())

    def text(self, old: NetworkSpec | None, new: NetworkSpec) -> str:
        state = "up" if new.up else "down"
        mtu = f" mtu {new.mtu}" if new.mtu else ""
        vlan = f" {new.vlan.text}," if new.vlan else ""
        asked = ["DHCP"] if new.dhcp else []
        asked += ["DHCPv6"] if new.dhcpv6 else []
        asked += ["parts of its prefix for routers behind"] if new.dhcpv6 and new.pools else []
        asked += [f"a part of {new.delegated.uplink}'s prefix"] if new.delegated else []
        addresses = " ".join([*new.addresses, *asked])
        vrf = f" in VRF {new.vrf}," if new.vrf else ""
        vrf = f" VRF with table {new.vrf_table}," if new.vrf_table else vrf
        vrf = f" {new.device}{f' {new.ends.text}' if new.ends else ''},{vrf}" if new.device else vrf
        if new.dialled:
            return f"{new.ifname} {'' if new.up else 'not '}by PPPoE{' with DHCPv6' if new.dhcpv6 else ''}"
        return f"{new.ifname}{vlan}{vrf} {state}{mtu} {addresses or 'without address'}"


def device_of(item: Interface) -> str:
    """The kernel's kind of what is made out of nothing; "" for another interface."""
    if item.tunnel is not None:
        return kind_of(item)
    if item.wireguard is not None:
        return "wireguard"
    if item.bridge is not None:
        return "bridge"
    if item.bond is not None:
        return "bond"
    return "dummy" if item.loopback is not None else ""


def known_mtu(document: Document, item: Interface) -> int | None:
    """The MTU in bytes that it is known to have, at most; of a VLAN that has none of its own what it is on
    has."""
    if item.pppoe is not None:
        parent = document.interface(item.pppoe.parent)
        below = None if parent is None else known_mtu(document, parent)
        return item.mtu or min(USUAL_PPPOE_MTU_BYTES, mtu_below(below or USUAL_MTU_BYTES))
    found = (mtu_of(document, each, None) for each in (item, *vlan_parents(document, item)))
    return next((mtu for mtu in found if mtu is not None), None)


def mtu_of(document: Document, item: Interface, bond: Interface | None) -> int | None:
    """What it gets; None = it is left as it is. `bond`: the one that it is a member of."""
    if item.tunnel is not None:
        return item.mtu or room_bytes(document, item)
    if item.bridge is not None:
        return item.mtu or bridge_mtu(document, item)
    usual_mtu = DEVICES.get(device_of(item)) if bond is None else bond.mtu or USUAL_MTU_BYTES
    return item.mtu or usual_mtu


def _pools(document: Document) -> dict[str, tuple[DelegatedPool, ...]]:
    """By uplink."""
    found: dict[str, tuple[DelegatedPool, ...]] = {}
    for server in sorted(document.every(Dhcpv6Server), key=lambda server: server.id):
        for pool in server.delegated_pools if not server.disabled else ():
            found[pool.uplink] = (*found.get(pool.uplink, ()), pool)
    return found


def _spec(
    item: Interface, document: Document, bond: Interface | None, pools: tuple[DelegatedPool, ...]
) -> NetworkSpec:
    device, session = device_of(item), item.pppoe
    return NetworkSpec(
        ifname=item.id,
        up=not any(below.disabled for below in (item, *vlan_parents(document, item))),
        addresses=() if item.disabled else item.addresses,
        mtu=mtu_of(document, item, bond) if session is None else None,
        description=item.description,
        vlan=item.vlan,
        dhcp=item.addressing == "dhcp" and not item.disabled,
        dhcpv6=None if item.disabled else item.dhcpv6,
        pools=() if item.disabled else pools,
        delegated=None if item.disabled else item.delegated,
        vrf=item.vrf,
        vrf_table=table_of(item) or 0,
        device=device,
        made_with=tunnel_made_with(item) if item.bond is None else made_with(item.bond),
        ends=ends_of(item),
        dialled="" if session is None else session.parent,
        session_distance=session.distance if session is not None and session.default_route else 0,
        mac=None if item.bridge is not None else item.mac,
        bond="" if bond is None else bond.id,
    )


NETWORK = NetworkPart()
