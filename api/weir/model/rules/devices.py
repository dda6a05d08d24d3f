# SPDX-License-Identifier: Apache-2.0
"""What the router makes out of nothing: loopbacks, which have no frames."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.objects import Interface
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error


def device_form(view: View, interface: Interface) -> Iterator[Finding]:
    what = frameless(interface)
    if what and interface.addressing != "static":
        text = f"{interface.id} is a {what}, which has no DHCP: give it addresses"
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
    return "loopback" if interface.loopback is not None else ""


RULES = (Rule("device-form", "interface", device_form, all_after("interface", "interface"), True),)
