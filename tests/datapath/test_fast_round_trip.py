# SPDX-License-Identifier: Apache-2.0
"""Round trips of TCP that XDP forwards: what it sees, and what the stack goes on with."""

from __future__ import annotations

import time

from tests.datapath import packets as p
from tests.datapath.bpf_run import NEXT
from tests.datapath.fast_router import XDP_PASS, XDP_REDIRECT, Fast
from tests.datapath.loaded import DOWNLOAD, UPLOAD
from tests.datapath.stamps import SLOTS, looked_at, stamped
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6

PAUSE_S = 0.01


def chosen(fast: Fast, slot: int) -> int:
    """The client's packets are of this class from now on, and none of them waits."""
    fast.loaded.limit(slot, 10_000_000_000)
    fast.loaded.classify(4, p.value4(CLIENT), 32, slot)
    fast.loaded.classify(6, p.value6("2001:db8:64::"), 64, slot)
    return slot


def down(value: int) -> bytes:
    return p.ethernet(
        p.IPV4, p.ipv4(SERVER, CLIENT, stamped(value, 1, ports=(443, 5000), data=500), protocol=6)
    )


def up(echo: int, *, value: int = 2, data: int = 0) -> bytes:
    return p.ethernet(
        p.IPV4, p.ipv4(CLIENT, SERVER, stamped(value, echo, ports=(5000, 443), data=data), protocol=6)
    )


def samples_ns(fast: Fast, slot: int, direction: int) -> tuple[int, ...]:
    return fast.loaded.datapath.round_trips(slot, direction).samples_ns  # type: ignore[arg-type]


def test_a_download_and_its_answer_that_xdp_forwards_are_a_round_trip(fast: Fast) -> None:
    slot = chosen(fast, looked_at())
    begun_ns = time.monotonic_ns()
    for value in (100, 101):
        assert fast.from_wan(down(value))[0] == XDP_REDIRECT
    time.sleep(PAUSE_S)
    assert fast.from_lan(up(101))[0] == XDP_REDIRECT
    (found_ns,) = samples_ns(fast, slot, DOWNLOAD)
    assert 0.99 * PAUSE_S * 1e9 <= found_ns <= time.monotonic_ns() - begun_ns
    assert samples_ns(fast, slot, UPLOAD) == ()


def test_an_upload_is_measured_to_the_far_end(fast: Fast) -> None:
    slot = chosen(fast, looked_at())
    for value in (200, 201):
        assert fast.from_lan(up(1, value=value, data=500))[0] == XDP_REDIRECT
    answer = stamped(2, 201, ports=(443, 5000), data=0)
    assert fast.from_wan(p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, answer, protocol=6)))[0] == XDP_REDIRECT
    assert len(samples_ns(fast, slot, UPLOAD)) == 1


def test_ipv6_is_seen_as_well(fast: Fast) -> None:
    slot = chosen(fast, looked_at())
    for value in (100, 101):
        data = stamped(value, 1, ports=(443, 5000), data=10)
        frame = p.ethernet(p.IPV6, p.ipv6(SERVER6, CLIENT6, data, next_header=6))
        assert fast.from_wan(frame)[0] == XDP_REDIRECT
    answer = stamped(2, 101, ports=(5000, 443), data=0)
    fast.from_lan(p.ethernet(p.IPV6, p.ipv6(CLIENT6, SERVER6, answer, next_header=6)))
    assert len(samples_ns(fast, slot, DOWNLOAD)) == 1


def test_one_direction_in_xdp_and_the_other_in_the_stack_are_one_round_trip(fast: Fast) -> None:
    slot = chosen(fast, looked_at())
    fast.loaded.mode("edt")
    for value in (100, 101):
        assert fast.from_wan(down(value))[0] == XDP_REDIRECT
    assert fast.loaded.egress(up(101), mark=slot << 8).verdict == NEXT
    assert len(samples_ns(fast, slot, DOWNLOAD)) == 1


def test_a_packet_that_goes_up_is_seen_twice_and_counted_once(fast: Fast) -> None:
    slot = chosen(fast, looked_at())
    fast.loaded.mode("edt")
    fast.loaded.limit(slot, 100_000_000, limit_ns=500_000_000)
    fast.loaded.set_clock_tk(slot, DOWNLOAD, (time.monotonic_ns() + 20_000_000) * 16)
    for value in (100, 101):
        assert fast.from_wan(down(value))[0] == XDP_PASS
        assert fast.loaded.egress(down(value)).verdict == NEXT
    assert fast.from_lan(up(101))[0] == XDP_REDIRECT
    assert fast.loaded.egress(up(101), mark=slot << 8).verdict == NEXT
    assert len(samples_ns(fast, slot, DOWNLOAD)) == 1


def test_fifteen_classes_of_sixteen_are_not_looked_at(fast: Fast) -> None:
    slot = chosen(fast, SLOTS[(looked_at() + 3) % 16])
    for value in (100, 101):
        fast.from_wan(down(value))
    fast.from_lan(up(101))
    assert samples_ns(fast, slot, DOWNLOAD) == ()
