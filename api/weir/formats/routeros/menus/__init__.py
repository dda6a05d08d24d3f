# SPDX-License-Identifier: Apache-2.0
"""Which menus of RouterOS are taken, in the order in which what they name is known."""

from __future__ import annotations

from weir.formats.routeros.menus import (
    addresses,
    arp,
    bgp,
    dhcp,
    dhcp6,
    dhcp_relay,
    filter,
    here,
    ipv6,
    links,
    lists,
    logs,
    machine,
    nat,
    ospf,
    outside,
    pcc,
    people,
    plain_tunnels,
    pppoe,
    reached,
    routers,
    service_ports,
    services,
    tunnels,
    unmade,
    ways_out,
)
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import Menu

MENUS: tuple[Menu, ...] = (
    *unmade.UNMADE,
    links.ETHERNET,
    links.BRIDGE,
    links.BOND,
    tunnels.TUNNEL,
    plain_tunnels.GRE,
    plain_tunnels.GRE_6,
    plain_tunnels.VXLAN,
    plain_tunnels.VTEP,
    links.VLAN,
    pppoe.CLIENT,
    links.VRF,
    lists.LIST,
    links.PORT,
    links.BRIDGE_VLAN,
    lists.MEMBER,
    addresses.ADDRESS,
    addresses.ADDRESS_6,
    addresses.CLIENT,
    arp.ARP,
    ipv6.CLIENT,
    ipv6.DISCOVERY,
    dhcp.POOL,
    dhcp.SERVER,
    dhcp.NETWORK,
    dhcp.LEASE,
    dhcp_relay.RELAY,
    dhcp6.POOL,
    dhcp6.SERVER,
    dhcp6.BINDING,
    services.DNS,
    services.STATIC,
    services.NTP,
    services.NTP_SERVERS,
    machine.IDENTITY,
    machine.NOTE,
    machine.CLOCK,
    people.USER,
    machine.SNMP,
    reached.SERVICE,
    logs.ACTION,
    logs.RULE,
    lists.ADDRESS_LIST,
    lists.ADDRESS_LIST_6,
    nat.NAT,
    service_ports.SERVICE_PORT,
    *filter.OF_RULES,
    pcc.MANGLE,
    addresses.ROUTE,
    addresses.ROUTE_6,
    tunnels.PEER,
    routers.ID,
    routers.BFD,
    bgp.INSTANCE,
    bgp.TEMPLATE,
    bgp.CONNECTION,
    bgp.PEER,
    bgp.NETWORK,
    ospf.INSTANCE,
    ospf.AREA,
    ospf.TEMPLATE,
    ospf.NETWORK,
    ospf.INTERFACE,
)
BY_PATH = {menu.words: menu for menu in MENUS}


def read_rows(router: Router) -> None:
    """Look at every command that the files have of these menus."""
    router.take(MENUS)
    lists.fill_others(router)
    here.keep_narrow(router)
    outside.keep_outside(router)
    links.finish_links(router)
    ways_out.finish(router)
    dhcp.finish_relayed(router)
    dhcp.finish_pools(router)
    dhcp6.finish_pools(router)
    services.finish_ntp(router)
    ipv6.finish_networks(router)
    nat.finish_zones(router)
    links.finish_members(router)
