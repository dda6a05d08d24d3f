# SPDX-License-Identifier: Apache-2.0
"""Prefix delegation: where a prefix may be asked for, and which part of it each network inside takes."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.announcing import type_of
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.delegation import Delegated, room
from weir.model.interface import HAS_HOSTS, HAS_ROUTERS, Interface
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning


def asking_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    """Who may ask."""
    if interface.dhcpv6 is None:
        return
    name = interface.id
    if type_of(interface) not in HAS_ROUTERS:
        text = f"nobody on {name} gives prefixes by DHCPv6"
        yield error("dhcpv6-not-here", interface, "dhcpv6", text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where no prefix can be asked for yet"
        yield error("dhcpv6-in-vrf", interface, "dhcpv6", text)
    if interface.role != "wan":
        text = f"{name} is no WAN, so the firewall lets no answer of a DHCPv6 server in: choose the zone wan"
        yield error("dhcpv6-inside", interface, "dhcpv6", text)


def taking_sense(view: View, interface: Interface) -> Iterator[Finding]:
    """Who may take a part, and which."""
    taken = interface.delegated
    if taken is None:
        return
    name = interface.id
    if type_of(interface) not in HAS_HOSTS:
        text = f"{name} has no hosts that could use a delegated prefix"
        yield error("delegated-without-hosts", interface, "delegated", text)
    elif interface.vrf is not None:
        text = f"{name} is in the VRF {interface.vrf}, where no delegated prefix can be used yet"
        yield error("delegated-in-vrf", interface, "delegated", text)
    if interface.role == "wan":
        text = f"{name} is a WAN: a delegated prefix is for the networks inside"
        yield error("delegated-on-wan", interface, "delegated", text)
    yield from _uplink(view, interface, taken)
    if interface.ra is None and not interface.disabled:
        text = f"{name} announces nothing, so hosts behind it do not learn of the delegated prefix"
        yield warning("delegated-without-ra", interface, "ra", text)


def _uplink(view: View, interface: Interface, taken: Delegated) -> Iterator[Finding]:
    uplink = view.document.interface(taken.uplink)
    if uplink is None:
        text = f"{taken.uplink}, whose prefix {interface.id} is to take a part of, is not configured"
        yield error("unknown-uplink", interface, "delegated.uplink", text)
        return
    if uplink.dhcpv6 is None:
        text = f"{uplink.id} asks for no prefix, so {interface.id} can take no part of one: set dhcpv6 there"
        yield error("uplink-without-prefix", interface, "delegated.uplink", text)
        return
    if uplink.disabled and not interface.disabled:
        text = f"{interface.id} gets no prefix while {uplink.id} is disabled"
        yield warning("interface-disabled", interface, "delegated.uplink", text)
    count, number = room(uplink.dhcpv6.pd_hint), taken.subnet_id
    words = f"the /{uplink.dhcpv6.pd_hint} that {uplink.id} asks for has {count} network{'s'[: count > 1]}"
    takers = _takers(view).get(uplink.id, [])
    if number is not None and number >= count:
        text = f"{interface.id} cannot take subnet {number}: {words}, counted from 0"
        yield error("subnet-does-not-fit", interface, "delegated.subnet_id", text)
    for other in takers:
        if number is not None and other.id != interface.id and _number(other) == number:
            text = f"{other.id} takes subnet {number} of {uplink.id}'s prefix as well: give each its own"
            yield error("subnet-taken", interface, "delegated.subnet_id", text)
    pools = _pool_sizes(view).get(uplink.id, 0)
    if len(takers) > count - pools and number is None:
        words += f", of which {pools} are for routers behind" if pools else ""
        text = f"{len(takers)} networks take a part each, and {words}: {interface.id} may get none"
        yield warning("too-few-subnets", interface, "delegated.subnet_id", text)


def _takers(view: View) -> dict[str, list[Interface]]:
    """By uplink who takes a part of its prefix."""

    def make() -> dict[str, list[Interface]]:
        found: dict[str, list[Interface]] = {}
        for item in view.document.interfaces():
            if item.delegated is not None:
                found.setdefault(item.delegated.uplink, []).append(item)
        return found

    return view.worked_out("takers of prefixes", make)


def _pool_sizes(view: View) -> dict[str, int]:
    """By uplink how many subnets of its prefix are for routers behind."""

    def make() -> dict[str, int]:
        found: dict[str, int] = {}
        for server in view.document.every(Dhcpv6Server):
            for pool in server.delegated_pools if not server.disabled else ():
                uplink = view.document.interface(pool.uplink)
                span = None if uplink is None or uplink.dhcpv6 is None else pool.span(uplink.dhcpv6.pd_hint)
                found[pool.uplink] = found.get(pool.uplink, 0) + (span[1] - span[0] + 1 if span else 0)
        return found

    return view.worked_out("subnets for routers behind", make)


def _number(interface: Interface) -> int | None:
    return None if interface.delegated is None else interface.delegated.subnet_id


RULES = (
    Rule("asking-sense", "interface", asking_sense, own("interface"), True),
    Rule(
        "taking-sense", "interface", taking_sense, all_after("interface", "interface", "dhcpv6-server"), True
    ),
)
