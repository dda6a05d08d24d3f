# SPDX-License-Identifier: Apache-2.0
"""Two customers with one address in two VLANs and two VRFs of one port, with a kernel that has both.

A trunk to the customers, each in a namespace of its own behind his tag, and a server that both talk to. Pings
go both ways, so that each direction has one packet for each.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.topology import Topology, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry, Role, Tag
from weir.adapters.netlink import Links

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

HOST, ROUTER = "10.0.0.2", "10.0.0.1"
SERVERS = {1: "198.51.100.21", 2: "198.51.100.22"}
"""With whom the customer of each domain talks: that says in which VRF an answer's address is."""
TAGS = {1: 100, 2: 200}
SLOTS = {1: 3, 2: 5}
PINGS, PAYLOAD = 20, 472
IP_BYTES = PAYLOAD + 28
STACK = Role.CLASSIFY | Role.SHAPE
FAST = STACK | Role.FAST


class Customers:
    def __init__(self, topology: Topology, loaded: Loaded) -> None:
        self.loaded = loaded
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        topology.client.run("ethtool", "-K", "far0", "txvlan", "off", "tx", "off", "gro", "on")
        topology.server.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        topology.client.run("ip", "address", "flush", "dev", "far0")
        self._enter = {
            1: topology.client.run,
            2: lambda *words: run("nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *words),
        }
        for domain, tag in TAGS.items():
            self._make_vlan(topology, domain, tag)

    def _make_vlan(self, topology: Topology, domain: int, tag: int) -> None:
        far, near, table = f"far0.{tag}", f"lan0.{tag}", str(100 + domain)
        topology.client.run("ip", "link", "add", "link", "far0", "name", far, "type", "vlan", "id", str(tag))
        if domain == 2:
            topology.client.run("ip", "link", "set", far, "netns", str(self._holder.pid))
        for words in (
            f"ip link set {far} up",
            f"ip address add {HOST}/24 dev {far}",
            f"ip route replace default via {ROUTER}",
        ):
            self._enter[domain](*words.split())
        for words in (
            f"ip link add vrf{domain} up type vrf table {table}",
            f"ip link add link lan0 name {near} type vlan id {tag}",
            f"ip link set {near} master vrf{domain} up",
            f"ip address add {ROUTER}/24 dev {near}",
            f"ip route add 198.51.100.0/24 dev wan0 table {table}",
            f"ip rule add from {SERVERS[domain]} lookup {table} pref {table}",
        ):
            run(*words.split())
        topology.server.run("ip", "address", "add", f"{SERVERS[domain]}/24", "dev", "far0")
        topology.server.run("ip", "route", "replace", "10.0.0.0/24", "via", "198.51.100.1")

    def attach(self, roles: Role) -> None:
        """The trunk is in the first customer's domain: what is charged there again would show."""
        index = socket.if_nametoindex("lan0")
        for domain, tag in TAGS.items():
            link = Links().link(f"lan0.{tag}")
            assert (link.lower, link.vlan) == (index, (tag, 0x8100))
            tagging = Tag(link.lower, *link.vlan)
            self.loaded.datapath.attach(link.name, roles | Role.TAGGED, "edt", domain=domain, tag=tagging)
        self.loaded.datapath.attach("lan0", roles | Role.TRUNK, "edt", domain=1)
        self.loaded.datapath.attach("wan0", roles, "edt")

    def ping(self, domain: int) -> str:
        words = f"ping -q -c {PINGS} -i 0.05 -s {PAYLOAD} -W 5 {SERVERS[domain]}"
        return self._enter[domain](*words.split())

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()
        for domain in TAGS:
            subprocess.run(["ip", "link", "del", f"vrf{domain}"], check=False)
            subprocess.run(["ip", "rule", "del", "pref", str(100 + domain)], check=False)


@pytest.fixture(scope="module")
def customers() -> Iterator[Customers]:
    opened = Datapath.open(None, capacity=256, domains=3)
    with Topology() as topology, opened as datapath, Loaded(datapath) as loaded:
        made = Customers(topology, loaded)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(params=[STACK, FAST], ids=["stack", "XDP"])
def roles(request: pytest.FixtureRequest, customers: Customers) -> Role:
    """Both customers again, with counters at 0 and limits that nobody reaches."""
    for domain, slot in SLOTS.items():
        customers.loaded.datapath.clear_class(slot)
        customers.loaded.limit(slot, 50_000_000, burst_bytes=200_000, limit_ns=SECOND_NS)
        entry = PrefixEntry(domain, 4, value4("10.0.0.0"), 24, slot)
        customers.loaded.datapath.change_prefixes([entry])
    customers.loaded.forget_what_went_up()
    chosen: Role = request.param
    customers.attach(chosen)
    return chosen


@pytest.mark.parametrize(("mine", "theirs"), [(1, 2), (2, 1)])
def test_each_is_counted_once_and_alone(customers: Customers, roles: Role, mine: int, theirs: int) -> None:
    assert " 0% packet loss" in customers.ping(mine)
    for direction in (UPLOAD, DOWNLOAD):
        counted = customers.loaded.counters(SLOTS[mine], direction)
        assert (counted["packets"], counted["bytes"]) == (PINGS, PINGS * IP_BYTES)
        assert customers.loaded.counters(SLOTS[theirs], direction)["packets"] == 0
        if roles == FAST:  # the first packets wait for addresses to be resolved, and their flow with them
            assert counted["fast_bytes"] > PINGS * IP_BYTES / 2
        else:
            assert counted["fast_bytes"] == 0
