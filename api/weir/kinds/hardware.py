# SPDX-License-Identifier: Apache-2.0
"""MAC addresses and ARP of interfaces: where there are any, and whom the router knows."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_address

from weir.kinds.announcing import type_of
from weir.kinds.dhcp_server import DhcpServer
from weir.model.arp import GUARDED
from weir.model.interface import HAS_HOSTS, Interface
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning


def hardware_sense(_view: View, interface: Interface) -> Iterator[Finding]:
    name = interface.id
    if type_of(interface) not in HAS_HOSTS:
        if interface.mac is not None:
            text = f"{name} has no Ethernet frames, so it has no MAC address"
            yield error("no-frames", interface, "mac", text)
        if interface.arp != "on":
            text = f"{name} has no Ethernet frames, so no ARP is spoken there"
            yield error("no-frames", interface, "arp", text)
        return
    if interface.arp != GUARDED:
        if interface.known_hosts:
            text = f"{name} learns its hosts by ARP: known hosts are for arp {GUARDED}"
            yield error("known-hosts-unused", interface, "known_hosts", text)
        return
    networks = [IPv4Network(text, strict=False) for text in interface.addresses if ":" not in text]
    for place, host in enumerate(interface.known_hosts):
        address = ip_address(host.address)
        if not isinstance(address, IPv4Address) or not any(address in network for network in networks):
            text = f"the known host {host.address} is in no IPv4 network of {name}"
            yield error("host-elsewhere", interface, f"known_hosts[{place}].address", text)


def knows_somebody(view: View, interface: Interface) -> Iterator[Finding]:
    if interface.arp != GUARDED or interface.known_hosts or interface.disabled:
        return
    servers = (item for item in view.document.every(DhcpServer) if item.interface == interface.id)
    if not any(item.relayed is None and not item.disabled for item in servers):
        text = f"{interface.id} knows no hosts: it has no DHCP server and no known hosts, so none reaches it"
        yield warning("nobody-known", interface, "known_hosts", text)


RULES = (
    Rule("hardware-sense", "interface", hardware_sense, own("interface"), True),
    Rule(
        "knows-somebody",
        "interface",
        knows_somebody,
        all_after("interface", "interface", "dhcp-server"),
        False,
    ),
)
