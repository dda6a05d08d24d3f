# SPDX-License-Identifier: Apache-2.0
"""The fast path keeps what the FIB said exactly as long as that is so.

A test has a packet go by an answer that is kept, into which it has written another hardware address; then
something changes, and the very next packet has to go the new way: to a real address, or up the stack.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.datapath import bpf_run
from tests.datapath import packets as p
from tests.datapath.fast_router import (
    PEER_MAC,
    SLOT,
    XDP_PASS,
    XDP_REDIRECT,
    Fast,
    fast_router,
    known_neighbours,
)
from tests.datapath.kept_hops import MARKED, forget, kept, let_keep, mark
from tests.datapath.topology import CLIENT, PUBLIC, SERVER, Topology, run, run_batch
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.plain_routes import NO_REGIONS

FAR, FAR_NET = "203.0.113.7", "203.0.113.0/24"
OTHER, OTHER_MAC = "198.51.100.3", "02:00:00:00:00:0b"
"""Another gateway behind wan0."""
UP = "up the stack"
_CLONE_NEWNET = 0x40000000


class Router(NamedTuple):
    fast: Fast
    topology: Topology

    @property
    def datapath(self) -> Datapath:
        return self.fast.loaded.datapath

    def goes_to(self, destination: str = FAR, size: int = 200) -> str:
        """The hardware address that a packet of the client's goes to."""
        verdict, after = self.fast.from_lan(p.frame4(CLIENT, destination, size))
        if verdict == XDP_PASS:
            return UP
        assert verdict == XDP_REDIRECT
        return after[:6].hex(":")

    def keep(self, destination: str = FAR) -> None:
        """Have the next packet go by an answer that is kept."""
        let_keep(self.datapath)
        assert self.goes_to(destination) != UP
        assert mark(self.datapath) > 0
        assert self.goes_to(destination) == MARKED.hex(":"), "it is asked again for each packet"


@contextmanager
def fresh_namespace() -> Iterator[None]:
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    assert libc.unshare(_CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    run("ip", "link", "set", "lo", "up")
    yield
    assert libc.setns(home, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    os.close(home)


@pytest.fixture
def one_processor() -> Iterator[None]:
    """Each processor has answers of its own."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def router(datapath: Datapath, one_processor: None) -> Iterator[Router]:
    """The client's packets to a network behind a gateway, whose answer is kept; in a namespace without rules
    and routes of other tests."""
    if datapath.hops_reason():
        pytest.skip(datapath.hops_reason())
    with fresh_namespace(), known_neighbours() as topology, fast_router(datapath) as fast:
        datapath.refuse_sources([])
        fast.loaded.limit(SLOT, 0)
        known = f"neigh replace {OTHER} lladdr {OTHER_MAC} dev wan0 nud permanent"
        run_batch([known, f"route add {FAR_NET} via {SERVER}"])
        forget(datapath)
        made = Router(fast, topology)
        made.keep()
        yield made
        datapath.routes_are_plain(None)
        datapath.refuse_sources(None)
        for ifname in datapath.attached():
            datapath.detach(ifname)


NUD = f"{SERVER} dev wan0"
CHANGES = {
    "another gateway": (f"ip route replace {FAR_NET} via {OTHER}", OTHER_MAC),
    "the route is gone": (f"ip route del {FAR_NET}", UP),
    "a longer prefix": (f"ip route add {FAR}/32 via {OTHER}", OTHER_MAC),
    "a longer prefix that drops": (f"ip route add blackhole {FAR}/32", UP),
    "a better metric": (f"ip route prepend {FAR_NET} via {OTHER}", OTHER_MAC),
    "unreachable": (f"ip route replace unreachable {FAR_NET}", UP),
    "it is the router's own": (f"ip address add {FAR}/32 dev lo", UP),
    "another hardware address": (f"ip neigh replace {NUD} lladdr {OTHER_MAC} nud permanent", OTHER_MAC),
    "another hardware address, reachable": (
        f"ip neigh replace {NUD} lladdr {OTHER_MAC} nud reachable", OTHER_MAC,
    ),
    "the neighbour fails": (f"ip neigh change {NUD} nud failed", UP),
    "the neighbour is gone": (f"ip neigh del {NUD}", UP),
    "neighbours are flushed": ("ip neigh flush dev wan0 nud permanent", UP),
    "the port is down": ("ip link set wan0 down", UP),
    "its address is gone": (f"ip address del {PUBLIC}/24 dev wan0", UP),
    "a rule by source": (f"ip rule add from {CLIENT} prohibit", UP),
    "a rule by destination": (f"ip rule add to {FAR_NET} blackhole", UP),
    "a rule by port of entry": ("ip rule add iif lan0 unreachable", UP),
    "a rule with another table": ("ip rule add from all lookup 77 pref 100", OTHER_MAC),
    "it forwards no more": ("sysctl -qw net.ipv4.ip_forward=0", UP),
    "the port of entry forwards no more": ("sysctl -qw net.ipv4.conf.lan0.forwarding=0", UP),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_very_next_packet_goes_the_new_way(router: Router, change: str) -> None:
    words, expected = CHANGES[change]
    run("ip", "route", "add", FAR_NET, "via", OTHER, "table", "77")
    router.keep()
    run(*words.split())
    assert router.goes_to() == expected


def test_a_smaller_mtu_holds_from_the_next_packet_on(router: Router) -> None:
    assert router.goes_to(size=1000) == MARKED.hex(":")
    run("ip", "link", "set", "wan0", "mtu", "900")
    assert router.goes_to(size=1000) == UP
    router.fast.loaded.forget_what_went_up()
    assert router.goes_to(size=900) == PEER_MAC


def test_a_larger_packet_than_the_mtu_goes_up_beside_a_kept_answer(router: Router) -> None:
    assert router.goes_to(size=1501) == UP
    router.fast.loaded.forget_what_went_up()
    assert router.goes_to(size=1500) == MARKED.hex(":")


def test_the_routers_own_hardware_address_is_the_new_one(router: Router) -> None:
    run("ip", "link", "set", "wan0", "address", "02:00:00:00:00:0f")
    run("ip", "neigh", "replace", SERVER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "permanent")
    verdict, after = router.fast.from_lan(p.frame4(CLIENT, FAR, 200))
    assert (verdict, after[:12].hex(":")) == (XDP_REDIRECT, f"{PEER_MAC}:02:00:00:00:00:0f")


def test_a_neighbour_that_does_not_answer_any_more_is_sent_nothing(router: Router) -> None:
    """By the kernel's timer, which nobody asked for."""
    for name, value in (("ucast_solicit", 1), ("mcast_solicit", 0), ("retrans_time_ms", 10)):
        run("sysctl", "-qw", f"net.ipv4.neigh.wan0.{name}={value}")
    router.topology.server.run("ip", "link", "set", "far0", "arp", "off")
    run("ip", "neigh", "replace", SERVER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "probe")
    let_keep(router.datapath)

    def state() -> str:
        return run("ip", "neigh", "show", SERVER, "dev", "wan0")

    if "FAILED" not in state():
        router.goes_to()
        mark(router.datapath)
    until("the neighbour fails", lambda: "FAILED" in state(), within_s=10)
    until("nothing is sent there", lambda: router.goes_to() == UP, within_s=1)


def test_a_neighbour_that_the_kernel_tidies_away_is_one_no_more(router: Router) -> None:
    """Every 15 s or so, of more than 128, what is stale and not in use."""
    others = [f"198.51.100.{number}" for number in range(10, 150)]
    for address in others:
        run("ip", "neigh", "add", address, "lladdr", OTHER_MAC, "dev", "wan0", "nud", "permanent")
    run("sysctl", "-qw", "net.ipv4.neigh.wan0.gc_stale_time=0")
    run("ip", "neigh", "replace", SERVER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "stale")
    router.keep()
    until("it is gone", lambda: not run("ip", "neigh", "show", SERVER, "dev", "wan0"), within_s=60)
    assert router.goes_to() == UP


def test_a_neighbour_that_says_that_it_moved_is_believed_at_once(router: Router) -> None:
    """By a packet of its own, handled in softirq."""
    run("ip", "neigh", "replace", SERVER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "stale")
    router.keep()
    server = router.topology.server
    server.run("ip", "link", "set", "far0", "address", OTHER_MAC)
    run("sysctl", "-qw", "net.ipv4.neigh.wan0.locktime=0")
    server.run("ping", "-c", "1", "-W", "1", PUBLIC)
    until("it is known", lambda: OTHER_MAC in run("ip", "neigh", "show", SERVER, "dev", "wan0"), within_s=10)
    assert router.goes_to() == OTHER_MAC


def test_a_cable_that_is_pulled_takes_its_neighbours_along(router: Router) -> None:
    run("ip", "neigh", "replace", SERVER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "reachable")
    router.keep()
    router.topology.server.run("ip", "link", "set", "far0", "down")
    until("the carrier is gone", lambda: not run("ip", "neigh", "show", SERVER, "dev", "wan0"), within_s=10)
    assert router.goes_to() == UP


def test_a_next_hop_object_may_change_its_gateway(router: Router) -> None:
    run("ip", "nexthop", "add", "id", "9", "via", SERVER, "dev", "wan0")
    run("ip", "route", "replace", FAR_NET, "nhid", "9")
    router.keep()
    run("ip", "nexthop", "replace", "id", "9", "via", OTHER, "dev", "wan0")
    assert router.goes_to() == OTHER_MAC
    router.keep()
    run("ip", "nexthop", "del", "id", "9")
    assert router.goes_to() == UP


def test_a_customer_of_a_connected_network_is_a_neighbour_itself(router: Router) -> None:
    def download() -> str:
        verdict, after = router.fast.from_wan(p.frame4(SERVER, CLIENT, 200))
        return after[:6].hex(":") if verdict == XDP_REDIRECT else UP

    let_keep(router.datapath)
    assert download() == PEER_MAC
    mark(router.datapath)
    assert download() == MARKED.hex(":")
    run("ip", "neigh", "replace", CLIENT, "lladdr", OTHER_MAC, "dev", "lan0", "nud", "permanent")
    assert download() == OTHER_MAC


def test_other_neighbours_leave_an_answer_alone(router: Router) -> None:
    run("ip", "neigh", "replace", OTHER, "lladdr", PEER_MAC, "dev", "wan0", "nud", "permanent")
    assert router.goes_to() == MARKED.hex(":")


def test_an_answer_is_of_the_port_that_the_packet_came_in_by(router: Router) -> None:
    """By a rule: what comes from the client goes out by wan0, what comes from there to the client."""
    run("ip", "route", "replace", FAR_NET, "via", CLIENT)
    run("ip", "route", "add", FAR_NET, "via", OTHER, "table", "77")
    run("ip", "rule", "add", "iif", "lan0", "lookup", "77", "pref", "100")
    let_keep(router.datapath)
    for _ in range(2):
        assert router.goes_to() == OTHER_MAC
        verdict, after = router.fast.from_wan(p.frame4("192.0.2.9", FAR, 200))
        assert (verdict, after[:6].hex(":")) == (XDP_REDIRECT, PEER_MAC)
    assert kept(router.datapath) > 0


def test_nothing_is_kept_of_routes_that_nobody_found_plain(router: Router) -> None:
    run("ip", "route", "replace", FAR_NET, "via", OTHER)
    forget(router.datapath)
    assert [router.goes_to() for _ in range(3)] == [OTHER_MAC] * 3
    assert kept(router.datapath) == 0
    router.datapath.look_at_routes()
    router.datapath.routes_are_plain(None)
    assert router.goes_to() == OTHER_MAC
    assert kept(router.datapath) == 0


def test_what_was_kept_of_routes_that_are_not_plain_after_all_is_forgotten(router: Router) -> None:
    """The kernel does not count it when a route that no packet has used gets a second gateway."""
    router.datapath.look_at_routes()
    router.datapath.routes_are_plain(None)
    assert router.goes_to() == PEER_MAC
    let_keep(router.datapath)
    assert router.goes_to() == PEER_MAC, "nor does it come back"


def test_routes_that_change_while_they_are_looked_at_are_not_vouched_for(router: Router) -> None:
    router.datapath.look_at_routes()
    run("ip", "route", "replace", FAR_NET, "via", OTHER)
    router.datapath.routes_are_plain(NO_REGIONS)
    forget(router.datapath)
    assert router.goes_to() == OTHER_MAC
    assert kept(router.datapath) == 0


WIDE, INSIDE, OUTSIDE = "203.1.2.3", "203.1.200.9", "203.2.0.1"
"""Two addresses of one region and one of another, of the same route by a gateway."""


def test_one_answer_is_that_of_all_addresses_of_a_route(router: Router) -> None:
    run("ip", "route", "add", "203.0.0.0/9", "via", SERVER)
    router.keep(WIDE)
    assert [router.goes_to(address) for address in (INSIDE, OUTSIDE, "203.127.255.254")] == [
        MARKED.hex(":")
    ] * 3
    assert router.goes_to("203.0.113.77") == PEER_MAC, "a region with a route of its own has no common answer"


def test_a_longer_prefix_inside_takes_its_region_out(router: Router) -> None:
    run("ip", "route", "add", "203.0.0.0/9", "via", SERVER)
    router.keep(WIDE)
    run("ip", "route", "add", f"{INSIDE}/32", "via", OTHER)
    assert (router.goes_to(INSIDE), router.goes_to(WIDE)) == (OTHER_MAC, PEER_MAC)
    router.keep(WIDE)
    assert router.goes_to(INSIDE) == OTHER_MAC


def test_numbers_of_regions_that_change_bring_nobody_anothers_answer(router: Router) -> None:
    """The route that had number 2 has number 1 afterwards, and answers of both are there."""
    run("ip", "route", "add", "201.0.0.0/16", "via", OTHER)
    run("ip", "route", "add", "203.1.0.0/16", "via", SERVER)
    let_keep(router.datapath)
    ways = {"201.0.0.1": OTHER_MAC, WIDE: PEER_MAC}
    for _ in range(2):
        assert {address: router.goes_to(address) for address in ways} == ways
    run("ip", "route", "del", "201.0.0.0/16")
    let_keep(router.datapath)
    for _ in range(2):
        assert {address: router.goes_to(address) for address in ways} == {"201.0.0.1": UP, WIDE: PEER_MAC}
        router.fast.loaded.forget_what_went_up()


def test_a_route_without_gateway_has_an_answer_for_each_address(router: Router) -> None:
    """Also where it is what is left when the gateway of a longer one is gone."""
    other = "203.1.2.4"
    for address, mac in ((WIDE, PEER_MAC), (other, OTHER_MAC)):
        run("ip", "neigh", "replace", address, "lladdr", mac, "dev", "wan0", "nud", "permanent")
    run("ip", "route", "add", "203.0.0.0/8", "dev", "wan0")
    let_keep(router.datapath)
    for _ in range(2):
        assert (router.goes_to(WIDE), router.goes_to(other)) == (PEER_MAC, OTHER_MAC)
    run("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    for name in ("x0", "x1"):
        run("ip", "link", "set", name, "up")
    run("ip", "address", "add", "192.0.2.1/24", "dev", "x0")
    run("sysctl", "-qw", "net.ipv4.conf.x0.ignore_routes_with_linkdown=1")
    run("ip", "route", "add", "203.1.0.0/16", "via", "192.0.2.2")
    run("ip", "link", "set", "x1", "down")
    until("its way is gone", lambda: "linkdown" in run("ip", "route", "show", "203.1.0.0/16"), within_s=10)
    let_keep(router.datapath)
    for _ in range(2):
        assert (router.goes_to(WIDE), router.goes_to(other)) == (PEER_MAC, OTHER_MAC)


def test_a_kernel_that_cannot_be_looked_into_is_asked_each_time(
    own_namespace: None, one_processor: None
) -> None:
    with (
        Datapath.open(None, capacity=64, hops=False) as plain,
        fresh_namespace(),
        known_neighbours() as topology,
    ):
        assert "not supported" in plain.hops_reason()
        with fast_router(plain) as fast:
            let_keep(plain)
            router = Router(fast, topology)
            assert [router.goes_to(SERVER) for _ in range(3)] == [PEER_MAC] * 3
            assert kept(plain) == 0
            for ifname in plain.attached():
                plain.detach(ifname)


def test_without_the_agent_an_answer_ends_as_well(
    own_namespace: None, one_processor: None, pin_dir: Path
) -> None:
    """The programs that count changes of neighbours are pinned, as those of the fast path are."""
    with fresh_namespace(), known_neighbours() as topology:
        with Datapath.open(pin_dir, capacity=64) as datapath:
            if datapath.hops_reason():
                pytest.skip(datapath.hops_reason())
            program_fd = datapath.program_fd("weir_fast")
            with fast_router(datapath) as fast:
                datapath.refuse_sources([])
                fast.loaded.limit(SLOT, 0)
                Router(fast, topology).keep(SERVER)
        lan0 = socket.if_nametoindex("lan0")
        frame = p.frame4(CLIENT, SERVER, 200)
        assert bpf_run.run_xdp(program_fd, frame, lan0)[1][:6] == MARKED
        run("ip", "neigh", "replace", SERVER, "lladdr", OTHER_MAC, "dev", "wan0", "nud", "permanent")
        assert bpf_run.run_xdp(program_fd, frame, lan0)[1][:6].hex(":") == OTHER_MAC
        os.close(program_fd)


def test_what_was_kept_before_a_new_agent_counts_is_forgotten(
    own_namespace: None, one_processor: None, pin_dir: Path
) -> None:
    """Between two of them links may have been away."""
    with fresh_namespace(), known_neighbours() as topology:
        for keeps in (True, False):
            with Datapath.open(pin_dir, capacity=64) as datapath:
                if datapath.hops_reason():
                    pytest.skip(datapath.hops_reason())
                with fast_router(datapath) as fast:
                    datapath.refuse_sources([])
                    fast.loaded.limit(SLOT, 0)
                    router = Router(fast, topology)
                    if keeps:
                        router.keep(SERVER)
                    else:
                        assert router.goes_to(SERVER) == PEER_MAC
