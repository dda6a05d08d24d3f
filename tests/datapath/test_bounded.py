# SPDX-License-Identifier: Apache-2.0
"""Sources of which only so many packets are taken: on both paths, and nobody else's."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from tests.datapath.bpf_run import DROP, NEXT
from tests.datapath.fast_router import FAST, SLOT, XDP_DROP, XDP_REDIRECT, Fast
from tests.datapath.test_sources import fates, frame, towards
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6
from weir.adapters.datapath_records import SourceBound, SourceKey
from weir.model.limits import MAX_BOUNDED_SOURCES
from weir.model.problem import Invalid, Problem

SECOND_NS = 1_000_000_000
SELDOM = SourceBound(60 * SECOND_NS, 120 * SECOND_NS)
"""Two packets after a pause, and the next a minute later: three in all, as the clock may be two behind."""
TAKEN = 3
OTHER, OTHER6 = "10.64.0.3", "2001:db8:64::3"


def key(text: str) -> SourceKey:
    network = ip_network(text)
    address = network.network_address.packed
    if network.version == 4:
        return SourceKey(bytes(10) + b"\xff\xff" + address, 96 + network.prefixlen)
    return SourceKey(address, network.prefixlen)


@pytest.fixture
def router(fast: Fast) -> Iterator[Fast]:
    fast.loaded.limit(SLOT, 0)
    fast.loaded.datapath.refuse_sources([])
    for ifname in ("lan0", "wan0"):
        fast.loaded.datapath.attach(ifname, FAST, "edt")
    yield fast
    fast.loaded.datapath.bound_sources({})
    fast.loaded.datapath.refuse_sources(None)


def sent(router: Fast, source: str) -> tuple[int, int]:
    """What becomes of one packet from a customer, on the fast path and in the stack."""
    return fates(router, "lan0", frame(source, towards(source, SERVER, SERVER6)))


@pytest.mark.parametrize(
    ("bounded", "inside", "outside"),
    [
        (f"{CLIENT}/32", CLIENT, OTHER),
        ("10.64.0.0/31", "10.64.0.1", CLIENT),
        (f"{CLIENT6}/128", CLIENT6, OTHER6),
        ("2001:db8:64::/64", CLIENT6, "2001:db8:65::2"),
        ("0.0.0.0/0", CLIENT, CLIENT6),
    ],
)
def test_a_bounded_source_is_dropped_on_both_paths_and_others_are_not(
    router: Fast, bounded: str, inside: str, outside: str
) -> None:
    datapath = router.loaded.datapath
    datapath.bound_sources({key(bounded): SELDOM})
    index, data = socket.if_nametoindex("lan0"), frame(inside, towards(inside, SERVER, SERVER6))
    verdicts = [router.loaded.ingress(data, ifindex=index).verdict for _ in range(TAKEN + 4)]
    assert verdicts == [NEXT] * TAKEN + [DROP] * 4
    assert sent(router, inside) == (XDP_DROP, DROP)
    assert DROP not in sent(router, outside) and sent(router, outside)[0] != XDP_DROP
    assert datapath.bounded_sources() == {key(bounded): (SELDOM, TAKEN, 6)}
    datapath.bound_sources({})
    assert sent(router, inside)[1] == NEXT
    assert datapath.bounded_sources() == {}


def test_the_fast_path_takes_and_drops_by_the_same_clock(router: Fast) -> None:
    router.loaded.datapath.bound_sources({key(f"{CLIENT}/32"): SELDOM})
    data = frame(CLIENT, SERVER)
    found = [router.from_lan(data)[0] for _ in range(TAKEN + 2)]
    assert found == [XDP_REDIRECT] * TAKEN + [XDP_DROP] * 2


def test_it_is_a_rate(router: Fast) -> None:
    """2,000 packets a second, and 100 at once, so that a busy machine loses none of its rate."""
    bound = SourceBound(SECOND_NS // 2_000, SECOND_NS // 20)
    router.loaded.datapath.bound_sources({key(f"{CLIENT}/32"): bound})
    data, index = frame(CLIENT, SERVER), socket.if_nametoindex("lan0")
    began = time.monotonic()
    tried = 0
    while time.monotonic() - began < 0.5:
        router.loaded.ingress(data, ifindex=index)
        tried += 1
    took = time.monotonic() - began
    ((_, passed, dropped),) = router.loaded.datapath.bounded_sources().values()
    assert passed + dropped == tried
    assert passed <= 2_000 * took + 102
    if tried > 4_000 * took:  # a slow machine asks no more often than is allowed
        assert passed >= 2_000 * took * 0.9


def test_another_bound_keeps_what_was_counted_and_the_others(router: Fast) -> None:
    datapath = router.loaded.datapath
    both = {key(f"{CLIENT}/32"): SELDOM, key(f"{OTHER}/32"): SELDOM}
    datapath.bound_sources(both)
    for _ in range(TAKEN + 1):
        router.from_lan(frame(CLIENT, SERVER))
    changed = SELDOM._replace(cost_ns=30 * SECOND_NS)
    datapath.bound_sources(both | {key(f"{CLIENT}/32"): changed})
    assert datapath.bounded_sources() == {
        key(f"{CLIENT}/32"): (changed, TAKEN, 1),
        key(f"{OTHER}/32"): (SELDOM, 0, 0),
    }


def test_a_port_that_comes_later_bounds_as_well_and_the_guard_leaves_it(router: Fast) -> None:
    datapath = router.loaded.datapath
    datapath.bound_sources({key(f"{CLIENT}/32"): SELDOM})
    datapath.detach("lan0")
    datapath.attach("lan0", FAST, "edt")
    assert datapath.guard() == ("", "")
    found = [router.from_lan(frame(CLIENT, SERVER))[0] for _ in range(TAKEN + 1)]
    assert found == [XDP_REDIRECT] * TAKEN + [XDP_DROP]


def test_what_cannot_be_bounded_is_refused_and_changes_nothing(router: Fast) -> None:
    datapath = router.loaded.datapath
    datapath.bound_sources({key(f"{CLIENT}/32"): SELDOM})
    with pytest.raises(Invalid, match="no bound"):
        datapath.bound_sources({key(f"{OTHER}/32"): SourceBound(0, 0)})
    many = {key(f"10.{n >> 8}.{n & 255}.0/24"): SELDOM for n in range(MAX_BOUNDED_SOURCES + 1)}
    with pytest.raises(Problem, match="1024 at most"):
        datapath.bound_sources(many)
    assert list(datapath.bounded_sources()) == [key(f"{CLIENT}/32")]
