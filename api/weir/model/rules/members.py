# SPDX-License-Identifier: Apache-2.0
"""What belongs to a bridge or bond: one master, no addresses, no part in routing, and no circle."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.ospf_interface import OspfInterface
from weir.kinds.static_route import StaticRoute
from weir.model.document import Change
from weir.model.frames import ranges_of, ranges_text, vlan_ids
from weir.model.interface import Interface, members_of
from weir.model.links import Bridge, BridgePort
from weir.model.problem import Finding
from weir.model.rule import Reach, Rule, View, all_after, caused_by, error, own, warning
from weir.model.underlay import bridge_mtu, room_bytes
from weir.model.zones import NO_ZONE, OPEN

PORTS, MEMBERS = "bridge.ports", "bond.members"


def _field(master: Interface) -> str:
    """Where it names its members."""
    return PORTS if master.bond is None else MEMBERS


def masters(view: View) -> dict[str, list[str]]:
    """By the name of a member: what it belongs to; more than one is an error."""

    def find() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for interface in sorted(view.document.interfaces(), key=lambda item: item.id):
            for name in dict.fromkeys(members_of(interface)):
                found.setdefault(name, []).append(interface.id)
        return found

    return view.worked_out("masters", find)


def member_form(view: View, interface: Interface) -> Iterator[Finding]:
    for name in members_of(interface):
        others = [other for other in masters(view)[name] if other != interface.id]
        if others:
            text = f"{name} cannot belong to {interface.id}: it belongs to {others[0]}"
            yield error("member-taken", interface, _field(interface), text)
        if _contains(view, name, interface.id):
            text = f"{name} cannot belong to {interface.id}, which it is made of itself"
            yield error("cycle", interface, _field(interface), text)
        member = view.document.interface(name)
        if member is not None:
            yield from _of_member(view, interface, member)


def _contains(view: View, name: str, wanted: str) -> bool:
    """Whether what is called `name` is `wanted`, or is made upon it."""
    ahead, seen = [name], set[str]()
    while ahead:
        here = ahead.pop()
        if here == wanted:
            return True
        item = view.document.interface(here)
        if item is not None and here not in seen:
            seen.add(here)
            ahead += [item.vlan.parent] if item.vlan is not None else members_of(item)
    return False


_UNFIT = {
    "vrf_table": "a VRF",
    "wireguard": "a WireGuard tunnel, which has no Ethernet frames",
    "gre": "a GRE tunnel, which has no Ethernet frames",
    "pppoe": "a PPPoE session, which has no Ethernet frames",
    "loopback": "a loopback",
    "bridge": "a bridge",
}
_UNFIT_FOR_BONDS = {**_UNFIT, "bond": "a bond", "vlan": "a VLAN", "vxlan": "a VXLAN"}


def _of_member(view: View, master: Interface, member: Interface) -> Iterator[Finding]:
    unfit, where = _UNFIT if master.bond is None else _UNFIT_FOR_BONDS, _field(master)
    what = next((words for field, words in unfit.items() if getattr(member, field) is not None), "")
    if what:
        text = f"{member.id} cannot belong to {master.id}: it is {what}"
        yield error("not-of-this-type", master, where, text)
        return
    for is_set, has in (
        (bool(member.addresses), "have addresses of its own: give them to"),
        (member.addressing != "static", "ask for an address by DHCP: choose that at"),
        (member.ipv6_addressing != "static", "learn addresses: choose that at"),
        (member.dhcpv6 is not None, "ask for a prefix: choose that at"),
        (member.delegated is not None, "take a part of a prefix: choose that at"),
        (member.ra is not None, "announce anything: do that at"),
        (member.role not in (NO_ZONE, OPEN), f"have the role {member.role}: give it to"),
        (master.bond is not None and member.mac is not None, "have a MAC address of its own: give it to"),
        (member.arp != "on", "have an ARP mode: choose that at"),
        (member.vrf is not None, f"be in VRF {member.vrf}: choose that at"),
    ):
        if is_set:
            text = f"{member.id} belongs to {master.id}, so it cannot {has} {master.id}"
            yield error("member-with-its-own", master, where, text)
    yield from _mtu_of_member(view, master, member)
    if member.disabled and not master.disabled:
        text = f"{member.id} is disabled, so nothing passes {master.id} there"
        yield warning("interface-disabled", master, where, text)


def _mtu_of_member(view: View, master: Interface, member: Interface) -> Iterator[Finding]:
    sent_bytes = master.mtu or bridge_mtu(view.document, master)
    member_bytes = member.mtu
    if member.vxlan is not None and member_bytes is None:
        member_bytes = room_bytes(view.document, member)
    if member_bytes is None:
        return
    if master.bond is not None and sent_bytes != member_bytes:
        text = f"{member.id} has the MTU {member_bytes} and its bond {master.id} {sent_bytes}: leave that of "
        yield error("mtu-unlike-bond", master, "mtu", f"{text}{member.id} out, it has the bond's then")
    elif sent_bytes > member_bytes:
        text = f"{master.id} sends packets of {sent_bytes} bytes, and the MTU of its port "
        yield error("mtu-above-port", master, "mtu", f"{text}{member.id} is {member_bytes}")


def bond_form(_view: View, interface: Interface) -> Iterator[Finding]:
    bond = interface.bond
    if bond is None:
        return
    members = members_of(interface)
    if bond.mode == "active-backup" and bond.primary is not None and bond.primary not in members:
        text = f"the primary {bond.primary} is no member of {interface.id}"
        yield error("primary-no-member", interface, "bond.primary", text)
    if not members:
        text = f"{interface.id} has no members, so nothing passes it"
        yield warning("bond-without-members", interface, MEMBERS, text)
    elif bond.mode == "802.3ad" and bond.min_links > len(members):
        text = f"{interface.id} needs {bond.min_links} links, and is down with {len(members)} members"
        yield warning("too-few-members", interface, "bond.min_links", text)


def vlan_on_member(view: View, interface: Interface) -> Iterator[Finding]:
    """Frames with a tag never get to a bond whose member takes them first."""
    if interface.vlan is None:
        return
    parent = interface.vlan.parent
    for name in masters(view).get(parent, ()):
        master = view.document.interface(name)
        if master is not None and master.bond is not None:
            text = f"VLAN {interface.id} is on {parent}, which belongs to {name}: put it on {name}"
            yield error("parent-in-bond", interface, "vlan.parent", text)


def bridge_form(_view: View, interface: Interface) -> Iterator[Finding]:
    bridge = interface.bridge
    if bridge is None:
        return
    if bridge.stp == "stp":
        yield from _timers(interface, bridge)
    if not bridge.vlan_filtering:
        return
    twice = vlan_ids(bridge.tagged) & {bridge.pvid}
    if twice:
        text = f"the router cannot have VLAN {bridge.pvid} of {interface.id} with and without a tag"
        yield error("vlan-twice", interface, "bridge.tagged", text)
    for port in bridge.ports:
        yield from _vlans(interface, port)


def _timers(interface: Interface, bridge: Bridge) -> Iterator[Finding]:
    """IEEE 802.1D-1998, 8.10.2: else a way may be opened before the whole network knows of it."""
    low, high = 2 * (bridge.hello_s + 1), 2 * (bridge.forward_delay_s - 1)
    if not low <= bridge.max_age_s <= high:
        text = (
            f"with hello {bridge.hello_s} s and forward delay {bridge.forward_delay_s} s the max age of "
            f"{interface.id} must be from {low} to {high} s, not {bridge.max_age_s} s"
        )
        yield error("bad-stp-times", interface, "bridge.max_age_s", text)


def _vlans(interface: Interface, port: BridgePort) -> Iterator[Finding]:
    untagged = vlan_ids(port.untagged) | ({port.pvid} if port.pvid else set())
    twice = vlan_ids(port.tagged) & untagged
    if twice:
        ids = ranges_text(ranges_of(twice))
        text = f"frames of VLAN {ids} cannot leave by {port.interface} with and without a tag"
        yield error("vlan-twice", interface, PORTS, text)
    if not untagged and not port.tagged:
        text = f"{port.interface} is in no VLAN of {interface.id}, so nothing passes there"
        yield warning("port-without-vlan", interface, PORTS, text)


def vlan_on_bridge(view: View, interface: Interface) -> Iterator[Finding]:
    below = None if interface.vlan is None else view.document.interface(interface.vlan.parent)
    if below is None or below.bridge is None or interface.vlan is None or not below.bridge.vlan_filtering:
        return
    if interface.vlan.id not in vlan_ids(below.bridge.tagged):
        text = (
            f"{below.id} does not let frames of VLAN {interface.vlan.id} to the router, so nothing reaches "
            f"{interface.id}: add it to the router's tagged VLANs of {below.id}"
        )
        yield warning("vlan-not-on-bridge", interface, "vlan.id", text)


def route_by_member(view: View, item: StaticRoute | OspfInterface) -> Iterator[Finding]:
    if item.interface not in masters(view):
        return
    what = f"route {item.destination}" if isinstance(item, StaticRoute) else f"OSPF interface {item.id}"
    master = masters(view)[item.interface][0]
    text = f"{what} names {item.interface}, which belongs to {master}: name {master} there"
    yield error("member-with-its-own", item, "interface", text)


def _by_members(of: type[StaticRoute | OspfInterface]) -> Reach:
    """An object itself, and those that name what comes to a bridge or bond or leaves it."""

    @caused_by(of.kind, "interface")
    def reach(view: View, change: Change) -> Iterator[str]:
        if change.kind == of.kind:
            yield change.id
        sides = (item for item in (change.old, change.new) if isinstance(item, Interface))
        names = {name for item in sides for name in members_of(item)}
        if names:
            yield from (item.id for item in view.document.every(of) if item.interface in names)

    return reach


RULES = (
    Rule("member-form", "interface", member_form, all_after("interface", "interface"), True),
    Rule("bond-form", "interface", bond_form, own("interface"), True),
    Rule("vlan-on-member", "interface", vlan_on_member, all_after("interface", "interface"), True),
    Rule("bridge-form", "interface", bridge_form, own("interface"), True),
    Rule("vlan-on-bridge", "interface", vlan_on_bridge, all_after("interface", "interface"), False),
    Rule("route-by-member", "static-route", route_by_member, _by_members(StaticRoute), True),
    Rule("ospf-by-member", "ospf-interface", route_by_member, _by_members(OspfInterface), True),
)
