# SPDX-License-Identifier: Apache-2.0
"""What the lab is made of: names, addresses and folders. Everything the lab makes carries one of these names.

weir-lab-client                 weir-lab-router                     weir-lab-internet
  up0 10.64.0.2/24  ---------  lan0 10.64.0.1/24
      2001:db8:64::2/64             2001:db8:64::1/64
  10.64.0.0/16,                wan0 203.0.113.2/24  --------------  down0 203.0.113.1/24
  2001:db8:64::/48 and              2001:db8:ff::2/64                     2001:db8:ff::1/64
  192.0.2.0/24 are                                                  198.51.100.1-8, 2001:db8:100::1-8
  all local here               net0 203.0.114.2/24  --------------  down1 203.0.114.1/24
                                    2001:db8:fe::2/64                     2001:db8:fe::1/64
                                                                    198.51.101.1
  plug0 10.98.0.2/24 ---------  desk0, a port of the bridge
                                office 10.98.0.1/24, where the kernel has bridges

wan0 is behind the router's NAT and firewall. net0 is the provider's own network: packets of 192.0.2.0/24 to
198.51.101.1 and back are routed as they are, so they take the fast path also where XDP cannot ask the
kernel's flow table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CLIENT = "weir-lab-client"
ROUTER = "weir-lab-router"
INTERNET = "weir-lab-internet"
NAMESPACES = (CLIENT, ROUTER, INTERNET)
FAR = "weir-lab-far"
"""One more, only while a test needs a distant server (lab.delay)."""

QUEUES_PER_LINK = 4


@dataclass(frozen=True, slots=True)
class Link:
    """One veth pair: the router's end, and its peer in another namespace."""

    router_device: str
    role: str
    peer_namespace: str
    peer_device: str
    router_v4: str
    router_v6: str
    peer_v4: str
    peer_v6: str


LAN = Link("lan0", "lan", CLIENT, "up0", "10.64.0.1", "2001:db8:64::1", "10.64.0.2", "2001:db8:64::2")
WAN = Link("wan0", "wan", INTERNET, "down0", "203.0.113.2", "2001:db8:ff::2", "203.0.113.1", "2001:db8:ff::1")
NET = Link("net0", "lan", INTERNET, "down1", "203.0.114.2", "2001:db8:fe::2", "203.0.114.1", "2001:db8:fe::1")
LINKS = (LAN, WAN, NET)
DESK, PLUG = "desk0", "plug0"
"""A cable beside the links: the router's end has no address of its own, as it is a port of a bridge."""
BRIDGE_V4, PLUG_V4 = "10.98.0.1", "10.98.0.2"
V4_LENGTH = 24
V6_LENGTH = 64

CLIENT_SUBNETS = ("10.64.0.0/16", "2001:db8:64::/48")
ROUTED_SUBNET, ROUTED_SERVERS = "192.0.2.0/24", "198.51.101.0/24"
ROUTED_SERVER = "198.51.101.1"
ROUTED_COUNT = 250
CLIENT_COUNT = 120
INTERNET_COUNT = 8


def client_v4(number: int) -> str:
    """The IPv4 address of client `number` (0 to 64,000); 10.64.1.0 and up, none ending in 0 or 255."""
    return f"10.64.{1 + number // 254}.{1 + number % 254}"


def client_v6(number: int) -> str:
    """The IPv6 address of client `number`: the first host of its own /64."""
    return f"2001:db8:64:{1 + number:x}::1"


def client_v6_prefix(number: int) -> str:
    return f"2001:db8:64:{1 + number:x}::/64"


def routed_v4(number: int) -> str:
    """The address without NAT of client `number` (0 to ROUTED_COUNT - 1)."""
    return f"192.0.2.{1 + number}"


CLIENT_ADDRESSES = tuple(
    address for number in range(CLIENT_COUNT) for address in (client_v4(number), client_v6(number))
)
INTERNET_ADDRESSES = tuple(f"198.51.100.{n}" for n in range(1, INTERNET_COUNT + 1)) + tuple(
    f"2001:db8:100::{n:x}" for n in range(1, INTERNET_COUNT + 1)
)
INTERNET_NAMES = {f"www{n}.example.com": f"198.51.100.{n}" for n in range(1, INTERNET_COUNT + 1)}
"""What the lab's name server knows."""

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LAB_JSON = BUILD / "lab.json"
RUN = Path("/run/weir-lab")
"""Sockets, pid files, logs, the database and the BPF pins of the running lab."""

API_UID = 64733
"""The API's user in the lab: a number without an account, without any privilege."""
DEFAULT_PORT = 8080
