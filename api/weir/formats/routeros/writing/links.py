# SPDX-License-Identifier: Apache-2.0
"""Interfaces that are made: VLANs, bridges with their ports, bonds, tunnels, PPPoE clients and VRFs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weir.formats.routeros.menus.arp import WORDS
from weir.formats.routeros.writing import tunnels
from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    quoted,
    remark,
    section,
    time_text,
)
from weir.kinds.announcing import type_of
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.links import Bridge, BridgePort

Made = list[Property]
_HASHES = {"layer2": "layer-2", "layer2+3": "layer-2-and-3", "layer3+4": "layer-3-and-4"}
_LACP_RATES = {"slow": "30secs", "fast": "1sec"}


def is_written(document: Document, interface_id: str) -> bool:
    """Whether the interface is there in RouterOS: a port, or one that is made."""
    found = document.interface(interface_id)
    return found is None or found.gre is None or not tunnels.why_not_gre(found.gre)


def must_be_written(document: Document, interface_id: str | None) -> None:
    """Raises `UnsaidError` for an interface that is not."""
    if interface_id is not None and not is_written(document, interface_id):
        raise UnsaidError(f"the interface {interface_id} is not written")


def links(document: Document) -> Iterator[str]:
    """Each before what is stacked on it, as far as its menu goes."""
    items = sorted(document.interfaces(), key=lambda item: item.id)
    ports = (_port(item) for item in items)
    yield from section("/interface ethernet", (line for line in ports if line is not None))
    for path, make in _MENUS.items():
        made = ((item, make(item)) for item in items)
        yield from section(path, (command(said) for _, said in made if said is not None))
    yield from section("/interface vxlan vteps", (line for item in items for line in tunnels.vteps(item)))
    bridges = [(item.id, item.bridge) for item in items if item.bridge is not None]
    yield from section("/interface bridge port", _ports(bridges))
    yield from section("/interface bridge vlan", _vlans(bridges))
    vrfs = (item.id for item in items if item.vrf_table is not None)
    yield from section("/ip vrf", (_vrf(document, name) for name in vrfs))
    for item in items:
        if item.vlan is not None and item.mac is not None:
            why = "RouterOS gives it that of what it is on"
            yield f"{not_written(f'MAC address {item.mac} of the VLAN {item.id}', why)}\n"
        if item.gre is not None and not is_written(document, item.id):
            yield f"{not_written(f'interface {item.id}', tunnels.why_not_gre(item.gre))}\n"
        elif item.pppoe is not None or item.wireguard is not None:
            yield f"{remark(f'The secret of the interface {item.id} is not written.')}\n"


def _made(item: Interface, *said: Property) -> Made:
    said = said if item.mtu is None else (*said, ("mtu", str(item.mtu)))
    said = said if item.arp == "on" else (*said, ("arp", WORDS[item.arp]))
    return [("name", item.id), *said, *common(disabled=item.disabled, comment=item.description)]


def _mac(item: Interface, key: str) -> Made:
    return [] if item.mac is None else [(key, item.mac.upper())]


def _port(item: Interface) -> str | None:
    """What is said of a port that is there; None where that is nothing."""
    if type_of(item) != "ethernet":
        return None
    _, *said = _made(item, *_mac(item, "mac-address"))
    return command(said, f"set [ find name={quoted(item.id)} ]") if said else None


def _vlan(item: Interface) -> Made | None:
    if item.vlan is None:
        return None
    stacked = [("use-service-tag", "yes")] if item.vlan.protocol == "802.1ad" else []
    return _made(item, ("interface", item.vlan.parent), ("vlan-id", str(item.vlan.id)), *stacked)


def _bridge(item: Interface) -> Made | None:
    """A loopback is a bridge without ports in RouterOS."""
    if item.loopback is not None:
        return _made(item)
    bridge = item.bridge
    if bridge is None:
        return None
    usual = Bridge()
    said: Made = [("protocol-mode", bridge.stp)]
    said += [("vlan-filtering", "yes")] if bridge.vlan_filtering else []
    said += [("igmp-snooping", "yes")] if bridge.igmp_snooping else []
    said += [("dhcp-snooping", "yes")] if bridge.dhcp_snooping else []
    said += [*_mac(item, "admin-mac"), ("auto-mac", "no")] if item.mac else []
    for key, name, text in (
        ("pvid", "pvid", str),
        ("priority", "priority", str),
        ("ageing-time", "ageing_s", _seconds),
        ("forward-delay", "forward_delay_s", _seconds),
        ("max-message-age", "max_age_s", _seconds),
    ):
        if getattr(bridge, name) != getattr(usual, name):
            said.append((key, text(getattr(bridge, name))))
    return _made(item, *said)


def _bond(item: Interface) -> Made | None:
    bond = item.bond
    if bond is None:
        return None
    said: Made = [("mode", bond.mode), ("slaves", ",".join(member.interface for member in bond.members))]
    said += [("transmit-hash-policy", _HASHES[bond.hash_policy]), ("mii-interval", f"{bond.miimon_ms}ms")]
    if bond.mode == "802.3ad":
        said += [("lacp-rate", _LACP_RATES[bond.lacp_rate]), ("min-links", str(bond.min_links))]
    if bond.primary is not None:
        said.append(("primary", bond.primary))
    return _made(item, *said, *_mac(item, "forced-mac-address"))


def _pppoe(item: Interface) -> Made | None:
    session = item.pppoe
    if session is None:
        return None
    said = [("interface", session.parent), ("user", session.username)]
    said += [("service-name", session.service_name)] if session.service_name else []
    said += [("ac-name", session.ac_name)] if session.ac_name else []
    if session.default_route:
        said += [("add-default-route", "yes"), ("default-route-distance", str(session.distance))]
    return _made(item, *said)


def _wireguard(item: Interface) -> Made | None:
    tunnel = item.wireguard
    if tunnel is None:
        return None
    return _made(item, *([("listen-port", str(tunnel.listen_port))] if tunnel.listen_port else []))


def _gre(item: Interface, family: int) -> Made | None:
    said = tunnels.gre(item, family)
    return None if said is None else _made(item, *said)


def _vxlan(item: Interface) -> Made | None:
    said = tunnels.vxlan(item)
    return None if said is None else _made(item, *said, *_mac(item, "mac-address"))


_MENUS: dict[str, Callable[[Interface], Made | None]] = {
    "/interface bridge": _bridge,
    "/interface bonding": _bond,
    "/interface wireguard": _wireguard,
    "/interface gre": lambda item: _gre(item, 4),
    "/interface gre6": lambda item: _gre(item, 6),
    "/interface vxlan": _vxlan,
    "/interface vlan": _vlan,
    "/interface pppoe-client": _pppoe,
}


def _ports(bridges: list[tuple[str, Bridge]]) -> Iterator[str]:
    for name, bridge in bridges:
        for port in bridge.ports:
            said = [("bridge", name), ("interface", port.interface)]
            if port.pvid == 0:
                said.append(("frame-types", "admit-only-vlan-tagged"))
            elif port.pvid != 1:
                said.append(("pvid", str(port.pvid)))
            said += [("bpdu-guard", "yes")] if port.bpdu_guard else []
            said += [("trusted", "yes")] if port.trusted else []
            said += [("horizon", "1")] if port.isolated else []
            said += [] if port.learning else [("learn", "no")]
            yield command(said)


def _vlans(bridges: list[tuple[str, Bridge]]) -> Iterator[str]:
    """A row for each range of VLANs that somebody has; VLANs of frames without a tag follow from `pvid`."""
    for name, bridge in bridges:
        rows: dict[str, dict[str, list[str]]] = {}
        places: list[tuple[str, Bridge | BridgePort]] = [(name, bridge)]
        places += [(port.interface, port) for port in bridge.ports]
        for place, held in places:
            for key in ("tagged", "untagged"):
                for text in getattr(held, key, ()):
                    rows.setdefault(text, {}).setdefault(key, []).append(place)
        for text, members in sorted(rows.items()):
            said = [(key, ",".join(names)) for key, names in members.items()]
            yield command([("bridge", name), ("vlan-ids", text), *said])


def _vrf(document: Document, name: str) -> str:
    members = sorted(item.id for item in document.interfaces() if item.vrf == name)
    return command([("name", name), ("interfaces", ",".join(members))])


def _seconds(seconds: int) -> str:
    return time_text(seconds * 1000)
