# SPDX-License-Identifier: Apache-2.0
"""The wires: three namespaces and three veth pairs. The router's own addresses are the router's business."""

from __future__ import annotations

from ipaddress import ip_address

from lab import netns, plan


def build() -> None:
    """Make the namespaces and links; on failure nothing is left behind."""
    try:
        for namespace in plan.NAMESPACES:
            netns.create(namespace)
            netns.ip(namespace, ["link set lo up"])
            netns.sysctl(namespace, {"ipv6/conf/default/accept_dad": "0", "ipv6/conf/all/accept_dad": "0"})
        for link in plan.LINKS:
            _connect(link)
            _fit_for_xdp(link)
        _address_client()
        _address_internet()
        forwarding = {"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1"}
        netns.sysctl(plan.ROUTER, forwarding)
    except BaseException:
        remove()
        raise


def remove() -> None:
    """Remove the namespaces, and with them every interface, route and program in them."""
    for namespace in (*plan.NAMESPACES, plan.FAR):
        netns.remove(namespace)


def standing() -> list[str]:
    """The lab's namespaces that exist now."""
    return [namespace for namespace in (*plan.NAMESPACES, plan.FAR) if netns.exists(namespace)]


def address_router() -> None:
    """Give the router its addresses and routes without Weir, for tests of the datapath alone."""
    commands = []
    for link in plan.LINKS:
        commands += [
            f"addr add {link.router_v4}/{plan.V4_LENGTH} dev {link.router_device}",
            f"addr add {link.router_v6}/{plan.V6_LENGTH} dev {link.router_device} nodad",
        ]
    commands += [f"route add {plan.CLIENT_SUBNETS[0]} via {plan.LAN.peer_v4}"]
    commands += [f"route add {plan.CLIENT_SUBNETS[1]} via {plan.LAN.peer_v6}"]
    commands += [f"route add default via {plan.WAN.peer_v4}", f"route add default via {plan.WAN.peer_v6}"]
    netns.ip(plan.ROUTER, commands)
    netns.ip(plan.INTERNET, [f"route add {plan.CLIENT_SUBNETS[0]} via {plan.WAN.router_v4}"])


def _connect(link: plan.Link) -> None:
    queues = f"numtxqueues {plan.QUEUES_PER_LINK} numrxqueues {plan.QUEUES_PER_LINK}"
    netns.ip(
        plan.ROUTER,
        [
            f"link add {link.router_device} {queues} type veth "
            f"peer name {link.peer_device} netns {link.peer_namespace} {queues}",
            f"link set {link.router_device} up",
        ],
    )
    netns.ip(
        link.peer_namespace,
        [
            f"link set {link.peer_device} up",
            f"addr add {link.peer_v4}/{plan.V4_LENGTH} dev {link.peer_device}",
            f"addr add {link.peer_v6}/{plan.V6_LENGTH} dev {link.peer_device} nodad",
        ],
    )


def _fit_for_xdp(link: plan.Link) -> None:
    """As on a wire: the peer takes what XDP sends (it polls) and computes its own checksums."""
    command = ["ethtool", "-K", link.peer_device, "tx", "off", "gro", "on"]
    netns.run(["ip", "netns", "exec", link.peer_namespace, *command])


def _address_client() -> None:
    """Every address of the client subnets is local; the first ones are configured, so tools can find them."""
    netns.sysctl(plan.CLIENT, {"ipv6/ip_nonlocal_bind": "1", "ipv4/ip_nonlocal_bind": "1"})
    local = (*plan.CLIENT_SUBNETS, plan.ROUTED_SUBNET)
    netns.ip(
        plan.CLIENT,
        [
            *_host_addresses(plan.CLIENT_ADDRESSES),
            *(f"route add local {subnet} dev lo table main" for subnet in local),
            f"route add default via {plan.LAN.router_v4}",
            f"route add default via {plan.LAN.router_v6}",
        ],
    )


def _address_internet() -> None:
    """The internet knows the way back to the clients' IPv6 and, by the provider's own network, to their
    routed addresses; their other IPv4 addresses hide behind the router's NAT."""
    netns.ip(
        plan.INTERNET,
        [
            *_host_addresses((*plan.INTERNET_ADDRESSES, plan.ROUTED_SERVER)),
            f"route add {plan.ROUTED_SUBNET} via {plan.NET.router_v4}",
            f"route add {plan.CLIENT_SUBNETS[1]} via {plan.WAN.router_v6}",
        ],
    )


def _host_addresses(addresses: tuple[str, ...]) -> list[str]:
    return [
        f"addr add {address}/{ip_address(address).max_prefixlen} dev lo"
        + (" nodad" if ip_address(address).version == 6 else "")
        for address in addresses
    ]
