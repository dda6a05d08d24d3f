# SPDX-License-Identifier: Apache-2.0
"""Why menus are not taken, by the beginning of their path; the longest that fits counts."""

from __future__ import annotations

from collections.abc import Mapping

FATES: Mapping[str, str] = {
    "/app": "Weir runs no containers.",
    "/caps-man": "Weir manages no access points.",
    "/certificate": "Certificates are not imported: their keys are not in the file.",
    "/console": "It is about RouterOS itself.",
    "/container": "Weir runs no containers.",
    "/disk": "It is about RouterOS itself.",
    "/interface": "Weir has no such interfaces or settings of them.",
    "/interface bridge filter": "Weir filters packets, not the frames within a bridge.",
    "/interface bridge nat": "Weir changes no frames within a bridge.",
    "/interface bridge settings": "Weir has no settings of all bridges.",
    "/interface ethernet switch": "Weir has no settings of switch chips; a bridge filters VLANs.",
    "/interface detect-internet": "Weir does not guess which interface leads to the internet.",
    "/interface wifi": "Weir has no radios.",
    "/interface wifiwave2": "Weir has no radios.",
    "/interface wireless": "Weir has no radios.",
    "/ip cloud": "Weir has no dynamic DNS of its own.",
    "/ip dhcp-client option": "Weir's DHCP client sends no options of your own.",
    "/ip dhcp-server config": "Weir stores leases itself.",
    "/ip dhcp-server option": "DHCP options of your own are not imported: add them at the DHCP server.",
    "/ip dns adlist": "Add a block list to the name service by hand.",
    "/ip dns forwarders": "Add DNS forwards by hand: their servers are named where they are used.",
    "/ip firewall connection": "Weir's connection tracking is set by its tuning.",
    "/ip firewall layer7-protocol": "Weir matches no contents of packets.",
    "/ip hotspot": "Weir has no hotspot.",
    "/ip ipsec": "Weir has no IPsec yet.",
    "/ip kid-control": "Weir has no schedules for hosts.",
    "/ip nat-pmp": "Weir opens no ports for NAT-PMP.",
    "/ip neighbor": "Weir does not announce itself by MNDP or CDP.",
    "/ip proxy": "Weir has no web proxy.",
    "/ip route rule": "Weir has no policy routing yet; VRFs have tables of their own.",
    "/ip settings": "Weir sets the kernel's network options itself.",
    "/ip smb": "Weir shares no files.",
    "/ip socks": "Weir has no SOCKS proxy.",
    "/ip ssh": "Weir's SSH server is off until you switch it on, and takes keys only.",
    "/ip traffic-flow": "Weir exports no flows yet.",
    "/ip tftp": "Weir has no TFTP server.",
    "/ip upnp": "Weir opens no ports for UPnP.",
    "/ipv6 dhcp-client option": "Weir's DHCPv6 client sends no options of your own.",
    "/ipv6 dhcp-server option": "DHCPv6 options of your own are not imported: Weir's servers have none.",
    "/ipv6 firewall nat": "IPv6 is translated by prefix in Weir: add a NAT rule by hand.",
    "/ipv6 firewall mangle": "Weir marks no packets and connections.",
    "/ipv6 nd prefix": "Weir announces the networks of an interface with the lifetimes that are set there.",
    "/ipv6 settings": "Weir sets the kernel's network options itself.",
    "/log": "It is about RouterOS itself.",
    "/mpls": "Weir has no MPLS.",
    "/port": "It is about RouterOS' hardware.",
    "/ppp": "Weir has no PPP yet.",
    "/radius": "Weir asks no RADIUS server yet; its secrets are not read.",
    "/routing": "Weir has no counterpart to this part of routing.",
    "/routing bfd": "Of BFD only the configuration of RouterOS 7 is taken.",
    "/routing bgp": "Of BGP only sessions and networks are taken.",
    "/routing filter": "Routing filters are not imported: make prefix lists and route maps under Routing.",
    "/routing ospf": "Of OSPF only the instance, areas and interfaces are taken.",
    "/routing table": "Weir has routing tables for VRFs only.",
    "/snmp community": "Weir has no SNMP yet.",
    "/special-login": "It is about RouterOS itself.",
    "/system": "It is about RouterOS itself.",
    "/system clock manual": "An offset is no time zone: choose one at the identity.",
    "/system ntp server": "Whom the time service answers is not in the file: name the networks there.",
    "/system routerboard": "It is about RouterOS' hardware.",
    "/system scheduler": "Scripts are not run; a job under System restarts the router at its hours.",
    "/system script": "Scripts are not run.",
    "/tool": "Tools of RouterOS have no configuration here.",
    "/user": "Weir's accounts have scopes and no groups or settings of all accounts.",
    "/user ssh-keys": "Keys are not imported, as the accounts are not: add them under System, SSH keys.",
}


def why_not_taken(path: tuple[str, ...]) -> str | None:
    """The reason for a menu or one below it; None where nothing is known of it."""
    for count in range(len(path), 0, -1):
        found = FATES.get("/" + " ".join(path[:count]))
        if found is not None:
            return found
    return None
