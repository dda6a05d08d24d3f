# SPDX-License-Identifier: Apache-2.0
"""Routers behind this one are delegated prefixes: hosts behind them are reached, over all kinds of starts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, running
from tests.agent.test_dhcp6_server import Dhclient, has_own_address, learnt, pid_of
from tests.agent.test_dhcp_server import leases
from tests.polling import until
from weir.kinds.dhcp6_pools import PrefixPool
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.announcing import Announcement
from weir.model.interface import Interface

POOL = "2001:db8:1000::/40"
FIRST, HOST = "2001:db8:1000::/56", "2001:db8:1000::7"
SERVER = Dhcpv6Server(
    *("lan", "lan0"),
    **{"dns_servers": ("2001:db8::53",), "prefix_pools": (PrefixPool(POOL, 56),)},
)
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24", "2001:db8:64::1/64"), ra=Announcement())
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24", "2001:db8:9::1/64"))
FAR = "2001:db8:9::9"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", namespace=made.client_ns)
        netns.ip(made.internet, [f"addr add {FAR}/64 dev i0 nodad", "route add default via 2001:db8:9::1"])
        netns.ip(made.client_ns, [f"addr add {HOST}/128 dev lo"])
        made.commit(LAN, WAN, SERVER)
        until("Kea listens", lambda: learnt(made).get("serving"), 20.0)
        until("the client has an address to ask from", lambda: has_own_address(made), 15.0)
        router = link_local(made.run("ip", "-6", "-j", "address", "show", "dev", "lan0", "scope", "link"))
        netns.ip(made.client_ns, [f"route add default via {router} dev c0"])
        yield made


def link_local(text: str) -> str:
    return text.partition('"local":"')[2].partition('"')[0]


def routed(rig: Rig, prefix: str) -> str | None:
    """By whom a prefix is reached, as the kernel has it; `unreachable` where it is rejected."""
    for route in rig.json("ip", "-6", "-j", "route", "show", prefix):
        if route.get("type") == "unreachable":
            return "unreachable"
        return f"{route['gateway']} {route['dev']}"
    return None


def own(rig: Rig) -> str:
    words = ("ip", "-6", "-j", "address", "show", "dev", "c0", "scope", "link")
    return f"{link_local(rig.run(*words, namespace=rig.client_ns))} lan0"


def asks(rig: Rig, address: str) -> str:
    """What ping says for a host behind the customer's router."""
    ping = ("ping", "-6", "-c", "1", "-W", "1", "-I", HOST, address)
    done = subprocess.run(
        ("ip", "netns", "exec", rig.client_ns, *ping), capture_output=True, text=True, check=False
    )
    return done.stdout


def delegated(rig: Rig) -> dict[str, Any]:
    return {item["address"]: item for item in leases(rig) if "/" in item["address"]}


@pytest.fixture(scope="module")
def customer(rig: Rig) -> Dhclient:
    """Knows itself by what is no hardware address of its own."""
    client = Dhclient(rig, 1)
    client.asks("-P")
    return client


def test_a_router_gets_a_prefix_and_hosts_behind_it_are_reached(rig: Rig, customer: Dhclient) -> None:
    until("its prefix is routed to it", lambda: routed(rig, FIRST) == own(rig), 20.0)
    until("a host behind it is answered", lambda: " 1 received" in asks(rig, FAR), 15.0)
    lease = delegated(rig)[FIRST]
    assert (lease["client_id"], lease["server"], lease["interface"]) == (customer.duid, "lan", "lan0")
    assert learnt(rig)["delegated_count"] == 1 and learnt(rig)["prefix_count"] == 65_536
    assert learnt(rig)["lease_count"] == 0
    assert rig.status()["drift"] == [] and rig.agent.call("resync")["faults"] == []


def test_what_nobody_has_of_the_pool_is_rejected(rig: Rig, customer: Dhclient) -> None:
    assert routed(rig, POOL) == "unreachable"
    assert "unreachable: No route" in asks(rig, "2001:db8:10ff::1")


def test_a_blocked_router_loses_its_route_and_has_it_again(rig: Rig, customer: Dhclient) -> None:
    blocked = Dhcpv6Reservation("unwanted", "lan", duid=customer.duid, block=True)
    rig.commit(blocked)
    until("its prefix is unreachable", lambda: routed(rig, FIRST) is None)
    assert delegated(rig) == {} and routed(rig, POOL) == "unreachable"
    assert "Reply" not in customer.asks("-P", within_s=3)
    rig.commit(delete=[("dhcpv6-reservation", "unwanted")])
    until("it is routed again", lambda: routed(rig, FIRST) == own(rig))
    assert "Reply" in customer.asks("-P") and FIRST in delegated(rig)


def test_a_route_that_somebody_removes_is_drift_and_comes_back(rig: Rig, customer: Dhclient) -> None:
    vtysh = ("vtysh", "--vty_socket", str(rig.folder / "frr"))
    gateway, link = own(rig).split()
    command = f"no ipv6 route {FIRST} {gateway} {link} 10"
    rig.run(*vtysh, "-c", "configure terminal", "-c", command)
    rig.agent.call("resync")
    until("it is back", lambda: routed(rig, FIRST) == own(rig), 15.0)


def test_routes_outlive_kea_and_the_agent(rig: Rig, customer: Dhclient) -> None:
    before = pid_of(rig)
    os.kill(before, signal.SIGKILL)
    until("another Kea runs", lambda: pid_of(rig) != before and learnt(rig).get("serving"), 30.0)
    assert routed(rig, FIRST) == own(rig)
    rig.kill_agent()
    assert routed(rig, FIRST) == own(rig)
    rig.start_agent()
    assert routed(rig, FIRST) == own(rig) and rig.status()["drift"] == []


def test_a_reserved_prefix_is_given_and_another_one_is_routed_when_it_is_renewed(
    rig: Rig, customer: Dhclient
) -> None:
    reserved = "2001:db8:1000:4200::/56"
    rig.commit(Dhcpv6Reservation("branch", "lan", prefix=reserved, duid=Dhclient(rig, 2).duid))
    client = Dhclient(rig, 2)
    client.asks("-P")
    until("it is routed", lambda: routed(rig, reserved) == own(rig), 20.0)
    assert delegated(rig)[reserved]["reservation"] == "branch"
    assert learnt(rig, "dhcpv6-reservation", "branch")["leased_until"] is not None
    client.asks("-P", "-r")
    until("it is rejected again", lambda: routed(rig, reserved) == "unreachable", 20.0)
    assert routed(rig, FIRST) == own(rig)


def test_a_server_without_pools_has_no_routes(rig: Rig, customer: Dhclient) -> None:
    rig.commit(replace(SERVER, prefix_pools=()), delete=[("dhcpv6-reservation", "branch")])
    until("it is routed no more", lambda: routed(rig, FIRST) is None and routed(rig, POOL) is None)
    assert delegated(rig) == {}
    rig.commit(SERVER)
    until("it is routed again", lambda: routed(rig, FIRST) == own(rig), 20.0)


def test_they_outlive_a_start_of_the_router(rig: Rig, customer: Dhclient) -> None:
    rig.kill_agent()
    rig.stop_frr()
    rig.run("sh", "-c", f"while ip -6 route del {FIRST} 2>/dev/null; do :; done")
    rig.start_frr()
    assert routed(rig, FIRST) is None
    rig.start_agent()
    until("it is there without a question", lambda: routed(rig, FIRST) == own(rig), 20.0)
