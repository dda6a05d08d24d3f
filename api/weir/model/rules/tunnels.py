# SPDX-License-Identifier: Apache-2.0
"""VXLAN and GRE: ends that are elsewhere, no tunnel within itself, and packets that fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from ipaddress import ip_address

from weir.model.address import split_address
from weir.model.interface import Interface, members_of
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, warning
from weir.model.tunnels import NOT_OURS, family_of
from weir.model.underlay import carrier_of, mtu_beneath, room_bytes
from weir.model.unique import one_for_each


def _case(interface: Interface) -> str:
    """The group that has its fields."""
    return "vxlan" if interface.vxlan is not None else "gre"


def _remotes(interface: Interface) -> tuple[str, ...]:
    if interface.vxlan is not None:
        return interface.vxlan.remotes
    return () if interface.gre is None else (interface.gre.remote,)


def tunnel_form(view: View, interface: Interface) -> Iterator[Finding]:
    if interface.tunnel is None:
        return
    if interface.id in NOT_OURS:
        text = f"{interface.id} is what the kernel makes itself for tunnels: choose another name"
        yield error("name-of-the-kernel", interface, "id", text)
    for remote in _remotes(interface):
        yield from _of_remote(view, interface, remote)
    yield from _families(interface)
    if interface.tunnel.local is not None:
        yield from _of_local(view, interface, interface.tunnel.local)
    yield from _mtu(view, interface)
    if interface.vxlan is not None:
        yield from _of_vxlan(view, interface)


def _of_remote(view: View, interface: Interface, remote: str) -> Iterator[Finding]:
    field = "vxlan.remotes" if interface.vxlan is not None else "gre.remote"
    host = ip_address(remote)
    if host.is_multicast or host.is_unspecified or host.is_loopback or host.is_link_local:
        text = f"{interface.id} cannot lead to {remote}: name the address of one router"
        yield error("bad-remote", interface, field, text)
        return
    for owner in view.own_addresses().get(remote, ()):
        text = f"{interface.id} would lead to this router itself: {remote} is an address of {owner}"
        yield error("remote-is-own", interface, field, text)
        return
    if any(split_address(text)[1].covers(parse_prefix(remote)) for text in interface.addresses):
        text = f"{remote} is in a network of {interface.id} itself, so its packets would go into the tunnel"
        yield error("tunnel-in-itself", interface, field, text)


def _families(interface: Interface) -> Iterator[Finding]:
    tunnel = interface.tunnel
    assert tunnel is not None
    ends = [*_remotes(interface), *([] if tunnel.local is None else [tunnel.local])]
    if len({family_of(end) for end in ends}) > 1:
        text = f"the ends of {interface.id} are all IPv4 or all IPv6, not {', '.join(ends)}"
        yield error("mixed-families", interface, f"{_case(interface)}.local", text)
    elif tunnel.family == 6 and tunnel.local is None:
        text = f"{interface.id} goes by IPv6: say its local address"
        yield error("no-local", interface, f"{_case(interface)}.local", text)


def _of_local(view: View, interface: Interface, local: str) -> Iterator[Finding]:
    field = f"{_case(interface)}.local"
    if interface.id in view.own_addresses().get(local, ()):
        text = f"{local} is an address of {interface.id} itself, which cannot carry its own packets"
        yield error("tunnel-in-itself", interface, field, text)
        return
    carrier = carrier_of(view.document, interface)
    if carrier is not None:
        if _is_upon(view, carrier, interface.id):
            text = f"{carrier.id}, which has {local}, is made of {interface.id} itself"
            yield error("tunnel-in-itself", interface, field, text)
        elif carrier.disabled and not interface.disabled:
            text = f"{interface.id} carries nothing while {carrier.id}, which has {local}, is disabled"
            yield warning("interface-disabled", interface, field, text)
        return
    if any(_may_be_given(item) for item in view.document.interfaces()):
        text = f"no interface has {local}: {interface.id} carries nothing until the router is given it"
        yield warning("local-not-here", interface, field, text)
    else:
        text = f"{local} is no address of this router: give it to an interface, or leave it out"
        yield error("local-not-here", interface, field, text)


def _may_be_given(item: Interface) -> bool:
    """Whether addresses come to it that are not configured."""
    learns = item.addressing != "static" or item.ipv6_addressing != "static"
    return learns or item.pppoe is not None or item.dhcpv6 is not None or item.delegated is not None


def _is_upon(view: View, carrier: Interface, wanted: str) -> bool:
    """Whether packets of `carrier` go by the interface `wanted`."""
    ahead, seen = [carrier], set[str]()
    while ahead:
        here = ahead.pop()
        if here.id == wanted:
            return True
        if here.id in seen:
            continue
        seen.add(here.id)
        below = carrier_of(view.document, here)
        names = [*members_of(here), *([here.vlan.parent] if here.vlan else [])]
        ahead += [item for item in map(view.document.interface, names) if item is not None]
        ahead += [] if below is None else [below]
    return False


def _mtu(view: View, interface: Interface) -> Iterator[Finding]:
    tunnel, asked = interface.tunnel, interface.mtu
    assert tunnel is not None
    room = room_bytes(view.document, interface)
    carrier = carrier_of(view.document, interface)
    if asked is None or asked <= room:
        return
    added = f"{interface.id} adds {tunnel.overhead_bytes} bytes to a packet of {asked}"
    if carrier is None:
        text = f"{added}, which is too much for a way of {room + tunnel.overhead_bytes}"
        yield warning("mtu-above-carrier", interface, "mtu", text)
    else:
        text = f"{added}, and the MTU of {carrier.id} is {mtu_beneath(view.document, carrier)}"
        yield error("mtu-above-carrier", interface, "mtu", f"{text}: give {interface.id} {room} at most")


def _of_vxlan(view: View, interface: Interface) -> Iterator[Finding]:
    vxlan = interface.vxlan
    assert vxlan is not None
    if not vxlan.remotes:
        text = f"{interface.id} has no remotes, so no frame leaves it and none is let in"
        yield warning("vxlan-without-remotes", interface, "vxlan.remotes", text)
    for other in view.document.interfaces():
        is_taken = other.wireguard is not None and not (other.disabled or interface.disabled)
        if is_taken and other.udp_port == vxlan.port:
            text = f"UDP port {vxlan.port} is that of {other.id}: give {interface.id} or {other.id} another"
            yield error("port-taken", interface, "vxlan.port", text)


def _network(interface: Interface) -> Hashable:
    vxlan = interface.vxlan
    return None if vxlan is None else (vxlan.vni, vxlan.port)


def _network_taken(interface: Interface, first: Interface) -> str:
    assert first.vxlan is not None
    what = f"VNI {first.vxlan.vni} on UDP port {first.vxlan.port}"
    return f"{what} is {first.id} already: give {interface.id} another VNI, or {first.id} more remotes"


def _ends(interface: Interface) -> Hashable:
    gre = interface.gre
    return None if gre is None else (gre.remote, gre.local, gre.key)


def _ends_taken(interface: Interface, first: Interface) -> str:
    assert first.gre is not None
    return f"{first.id} leads to {first.gre.remote} in the same way: give {interface.id} another key"


RULES = (
    Rule("tunnel-form", "interface", tunnel_form, all_after("interface", "interface"), True),
    one_for_each(Interface, "vni", key=_network, code="vni-taken", field="vxlan.vni", says=_network_taken),
    one_for_each(Interface, "gre-ends", key=_ends, code="same-tunnel", field="gre.key", says=_ends_taken),
)
