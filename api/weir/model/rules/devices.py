# SPDX-License-Identifier: Apache-2.0
"""What has no frames: tunnels, PPPoE sessions and loopbacks, which the router makes."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.interface import Interface
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error
from weir.model.unique import one_for_each


def device_form(view: View, interface: Interface) -> Iterator[Finding]:
    what = frameless(interface)
    if what and interface.addressing != "static":
        way = "its address comes with the session" if interface.pppoe is not None else "give it addresses"
        text = f"{interface.id} is a {what}, which has no DHCP: {way}"
        yield error("not-of-this-type", interface, "addressing", text)
    if interface.loopback is not None and interface.role != "none":
        text = f"{interface.id} is a loopback, which has no role: nothing comes in by it or leaves by it"
        yield error("not-of-this-type", interface, "role", text)
    if interface.vlan is not None:
        below = view.document.interface(interface.vlan.parent)
        kind = "" if below is None else frameless(below)
        if below is not None and kind:
            text = (
                f"VLAN {interface.id} cannot be on {below.id}, a {kind}, which has no frames: choose a port"
            )
            yield error("not-of-this-type", interface, "vlan.parent", text)


def frameless(interface: Interface) -> str:
    """What an interface without Ethernet frames is called; "" for others."""
    if interface.wireguard is not None:
        return "WireGuard tunnel"
    if interface.gre is not None:
        return "GRE tunnel"
    if interface.pppoe is not None:
        return "PPPoE session"
    return "loopback" if interface.loopback is not None else ""


def _udp_port(interface: Interface) -> int | None:
    tunnel = interface.wireguard
    return None if tunnel is None or interface.disabled else tunnel.listen_port


def _port_taken(interface: Interface, first: Interface) -> str:
    port = _udp_port(first)
    return f"UDP port {port} is that of {first.id} already: give {interface.id} another listen_port"


RULES = (
    Rule("device-form", "interface", device_form, all_after("interface", "interface"), True),
    one_for_each(
        Interface,
        "udp-port",
        key=_udp_port,
        code="port-taken",
        field="wireguard.listen_port",
        says=_port_taken,
    ),
)
