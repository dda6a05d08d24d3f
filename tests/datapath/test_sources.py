# SPDX-License-Identifier: Apache-2.0
"""Whose packets may come in by a port: tc and XDP give the same answers, and count what they refuse."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.fast_router import FAST, OWN_MAC, SLOT, XDP_DROP, XDP_PASS, XDP_REDIRECT, Fast
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6, run
from weir.adapters.datapath_records import Role

IMPOSSIBLE = (
    "0.0.0.1",
    "0.255.255.255",
    "127.0.0.1",
    "224.0.0.5",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::10.64.0.2",
    "::ffff:10.64.0.2",
    "ff02::1",
)
FOREIGN = (("10.64.7.7", "2001:db8:77::7"), ("10.64.0.77", "2001:db8:64::77"))
"""Sources that come in by wan0: with no route of their own, and with a way back by lan0."""
STRANGER, STRANGER6 = "198.51.100.77", "2001:db8:100::77"
"""Behind wan0, in no queue."""


def frame(source: str, destination: str) -> bytes:
    return (p.frame6 if ":" in source else p.frame4)(source, destination)


def towards(source: str, v4: str, v6: str) -> str:
    return v6 if ":" in source else v4


@pytest.fixture
def router(fast: Fast) -> Iterator[Fast]:
    fast.loaded.limit(SLOT, 0)
    fast.loaded.datapath.refuse_sources([])
    yield fast
    fast.loaded.datapath.refuse_sources(None)


def checks(router: Fast, **roles: Role) -> None:
    """The ports with these roles besides, unlimited."""
    for ifname in ("lan0", "wan0"):
        router.loaded.datapath.attach(ifname, FAST | roles.get(ifname, Role.NOTHING), "edt")


def counted(router: Fast, ifname: str) -> dict[str, int]:
    found = router.loaded.datapath.port_counters()[ifname].checked_packets
    return {check: count for check, count in found.items() if count}


def fates(router: Fast, ifname: str, data: bytes) -> tuple[int, int]:
    """What XDP and the stack's program do with a frame that comes in."""
    into = router.from_lan if ifname == "lan0" else router.from_wan
    verdict, _ = into(data)
    index = socket.if_nametoindex(ifname)
    return verdict, router.loaded.ingress(data, ifindex=index).verdict


@pytest.mark.parametrize("source", IMPOSSIBLE)
@pytest.mark.parametrize("ifname", ["lan0", "wan0"])
def test_a_source_that_no_host_has_is_dropped_and_counted_on_both_paths(
    router: Fast, source: str, ifname: str
) -> None:
    checks(router)
    to = towards(source, SERVER, SERVER6) if ifname == "lan0" else towards(source, CLIENT, CLIENT6)
    data = frame(source, to)
    assert fates(router, ifname, data) == (XDP_DROP, DROP)
    assert counted(router, ifname) == {"impossible-source": 2}
    bytes_ = router.loaded.datapath.port_counters()[ifname].checked_bytes["impossible-source"]
    assert bytes_ == 2 * len(data)


@pytest.mark.parametrize("source", ["0.0.0.0", "::"])
def test_a_host_without_address_reaches_the_stack(router: Fast, source: str) -> None:
    checks(router, lan0=Role.STRICT | Role.KNOWN)
    assert fates(router, "lan0", frame(source, towards(source, "255.255.255.255", "ff02::1"))) == (
        XDP_PASS,
        NEXT,
    )
    assert counted(router, "lan0") == {}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(
    ("role", "kind", "dropped"),
    [
        (Role.NOTHING, 0, False),
        (Role.NOTHING, 1, False),
        (Role.LOOSE, 0, True),
        (Role.LOOSE, 1, False),
        (Role.STRICT, 0, True),
        (Role.STRICT, 1, True),
    ],
)
def test_a_source_whose_way_back_is_another_port_is_forwarded_on_neither_path(
    router: Fast, role: Role, kind: int, dropped: bool, family: int
) -> None:
    checks(router, wan0=role)
    source = FOREIGN[kind][family == 6]
    found = fates(router, "wan0", frame(source, towards(source, CLIENT, CLIENT6)))
    # XDP leaves it to the stack, which drops it.
    assert found == ((XDP_PASS, DROP) if dropped else (XDP_REDIRECT, NEXT))
    assert counted(router, "wan0") == ({"wrong-way": 1} if dropped else {})


@pytest.mark.parametrize("role", [Role.LOOSE, Role.STRICT])
@pytest.mark.parametrize("source", [SERVER, SERVER6])
def test_a_source_whose_way_back_is_this_port_passes(router: Fast, role: Role, source: str) -> None:
    checks(router, wan0=role)
    assert fates(router, "wan0", frame(source, towards(source, CLIENT, CLIENT6))) == (XDP_REDIRECT, NEXT)
    assert counted(router, "wan0") == {}


@pytest.mark.parametrize("source", FOREIGN[0])
def test_what_is_for_the_router_itself_is_the_stacks(router: Fast, source: str) -> None:
    """DHCP before there is a route, and a person who comes to repair a router."""
    checks(router, wan0=Role.STRICT | Role.KNOWN)
    to = towards(source, "198.51.100.1", "2001:db8:100::1")
    assert fates(router, "wan0", frame(source, to)) == (XDP_PASS, NEXT)
    assert counted(router, "wan0") == {}


@pytest.mark.parametrize("tags", [[0], [0, 0], [0, 0, 0, 0]])
def test_priority_tags_hide_no_source(router: Fast, tags: list[int]) -> None:
    checks(router, wan0=Role.STRICT)
    inner = p.ipv4(FOREIGN[1][0], CLIENT, b"x" * 64)
    data = p.ethernet(p.VLAN, p.tags(tags, p.IPV4, inner))
    assert router.loaded.ingress(data, ifindex=socket.if_nametoindex("wan0")).verdict == DROP


@pytest.mark.parametrize("tags", [[7], [0, 7]])
def test_packets_of_a_vlan_interface_are_checked_there(router: Fast, tags: list[int]) -> None:
    checks(router, wan0=Role.STRICT | Role.KNOWN)
    data = p.ethernet(p.VLAN, p.tags(tags, p.IPV4, p.ipv4(FOREIGN[1][0], CLIENT, b"x" * 64)))
    assert router.loaded.ingress(data, ifindex=socket.if_nametoindex("wan0")).verdict == NEXT


@pytest.mark.parametrize("source", [STRANGER, STRANGER6])
def test_a_port_for_queues_only_refuses_sources_that_are_in_none(router: Fast, source: str) -> None:
    """Also to a customer, whose limit would hold."""
    checks(router, wan0=Role.KNOWN)
    assert fates(router, "wan0", frame(source, towards(source, CLIENT, CLIENT6))) == (XDP_DROP, DROP)
    assert counted(router, "wan0") == {"refused": 2}


@pytest.mark.parametrize("source", [CLIENT, CLIENT6])
def test_a_port_for_queues_only_forwards_what_is_in_one(router: Fast, source: str) -> None:
    checks(router, lan0=Role.KNOWN)
    assert fates(router, "lan0", frame(source, towards(source, SERVER, SERVER6))) == (XDP_REDIRECT, NEXT)
    assert counted(router, "lan0") == {}


def test_its_own_queue_takes_what_is_in_no_other(router: Fast) -> None:
    router.loaded.limit(SLOT + 1, 0)
    router.loaded.datapath.attach("wan0", FAST | Role.KNOWN, "edt", slot_for_interface_target=SLOT + 1)
    assert fates(router, "wan0", frame(STRANGER, CLIENT)) == (XDP_REDIRECT, NEXT)
    assert counted(router, "wan0") == {}


@pytest.mark.parametrize("known_only", [False, True])
def test_what_leaves_in_no_queue_is_counted_at_both_ports_or_refused(router: Fast, known_only: bool) -> None:
    run(
        "ip",
        "neigh",
        "replace",
        "10.64.0.9",
        "lladdr",
        "02:00:00:00:00:0a",
        "dev",
        "lan0",
        "nud",
        "permanent",
    )
    checks(router, lan0=Role.KNOWN if known_only else Role.NOTHING)
    data = frame(SERVER, "10.64.0.9")
    lan, wan = (socket.if_nametoindex(ifname) for ifname in ("lan0", "wan0"))
    fast, _ = router.from_wan(data)
    stack = router.loaded.egress(data, ifindex=lan, ingress_ifindex=wan).verdict
    own = router.loaded.egress(data, ifindex=lan).verdict
    assert own == NEXT, "what the router itself sends always leaves"
    if known_only:
        assert (fast, stack) == (XDP_DROP, DROP)
        assert counted(router, "lan0") == {"refused": 2}
        assert counted(router, "wan0") == {}
    else:
        assert (fast, stack) == (XDP_REDIRECT, NEXT)
        assert counted(router, "lan0") == {"unknown-tx": 2}
        assert counted(router, "wan0") == {"unknown-rx": 2}


def test_frames_to_other_stations_are_not_judged(router: Fast) -> None:
    checks(router, wan0=Role.STRICT | Role.KNOWN)
    data = frame(FOREIGN[1][0], CLIENT)
    other = bytes.fromhex("02000000ffff") + data[6:]
    assert bytes.fromhex(OWN_MAC.replace(":", "")) == data[:6]
    assert router.loaded.ingress(other, ifindex=socket.if_nametoindex("wan0")).verdict == NEXT
