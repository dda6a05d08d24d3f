# SPDX-License-Identifier: Apache-2.0
"""Router advertisements: where they may be sent, and whether hosts can use them."""

from __future__ import annotations

from collections.abc import Iterator

from weir.model.address import split_address
from weir.model.interface import HAS_HOSTS, HAS_ROUTERS, Interface
from weir.model.limits import MIN_ROUTER_LIFETIME_S
from weir.model.prefix import Prefix
from weir.model.problem import Finding
from weir.model.rule import LINK_LOCAL, View, error, warning

_LEARNING = "ipv6_addressing"
SLAAC_BITS = 64
"""Hosts make addresses of a prefix of this length alone (RFC 4291, 2.5.1)."""


def announced_networks(interface: Interface) -> tuple[Prefix, ...]:
    """The IPv6 networks of its static addresses that hosts can be told of, each once."""
    networks = (split_address(text)[1] for text in interface.addresses if ":" in text)
    usable = (found for found in networks if found.length < 128 and not LINK_LOCAL.covers(found))
    return tuple(dict.fromkeys(usable))


def announcing_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    told = interface.ra
    if told is None:
        return
    name = interface.id
    if type_of(interface) not in HAS_HOSTS:
        text = f"{name} has no hosts that hear announcements"
        yield error("ra-without-hosts", interface, "ra", text)
    elif interface.role == "wan":
        text = f"{name} is a WAN, where the router would become the gateway of strangers"
        yield error("ra-on-wan", interface, "ra", text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where nothing can be announced yet"
        yield error("ra-in-vrf", interface, "ra", text)
    if told.preferred_s > told.valid_s:
        text = f"addresses behind {name} would be preferred for longer than they are valid"
        yield error("ra-lifetimes", interface, "ra.preferred_s", text)
    if 0 < told.router_lifetime_s < MIN_ROUTER_LIFETIME_S:
        text = f"the default route would end before {name} announces it again: at least "
        text += f"{MIN_ROUTER_LIFETIME_S} s, or 0"
        yield error("ra-lifetimes", interface, "ra.router_lifetime_s", text)
    if not interface.disabled:
        yield from _prefixes(interface)


def learning_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    """Where announcements of others can be taken."""
    if interface.ipv6_addressing == "static":
        return
    name = interface.id
    if type_of(interface) not in HAS_ROUTERS:
        yield error("slaac-without-routers", interface, _LEARNING, f"no router announces anything on {name}")
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where nothing is learnt yet"
        yield error("slaac-in-vrf", interface, _LEARNING, text)
    if interface.ra is not None:
        text = f"{name} cannot be a router's port and take what other routers announce there"
        yield error("slaac-and-ra", interface, _LEARNING, text)
    if interface.role not in ("wan", "none"):
        text = f"any host behind {name} can become the router's IPv6 gateway: that is for a WAN"
        yield warning("slaac-inside", interface, _LEARNING, text)


def _prefixes(interface: Interface) -> Iterator[Finding]:
    networks = announced_networks(interface)
    if not networks and interface.delegated is None:
        text = f"{interface.id} has no IPv6 network, static or delegated, so hosts behind it get none"
        yield warning("ra-no-prefix", interface, "ra", text)
    for network in networks:
        if network.length != SLAAC_BITS:
            text = (
                f"hosts behind {interface.id} make no addresses of {network.text}: that takes a /{SLAAC_BITS}"
            )
            yield warning("ra-prefix-length", interface, "addresses", text)


def type_of(interface: Interface) -> str:
    """What it is made as, as forms and documents call it."""
    cases = ("vlan", "vrf_table", "wireguard", "vxlan", "gre", "pppoe", "bridge", "bond", "loopback")
    return next((name for name in cases if getattr(interface, name) is not None), "ethernet")
