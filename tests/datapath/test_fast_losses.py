# SPDX-License-Identifier: Apache-2.0
"""Losses on either side of the router, of packets that XDP forwards or sends up the stack."""

from __future__ import annotations

import time

from tests.datapath import packets as p
from tests.datapath.bpf_run import NEXT
from tests.datapath.fast_router import XDP_PASS, XDP_REDIRECT, Fast
from tests.datapath.loaded import DOWNLOAD
from tests.datapath.stamps import looked_at, settle, stamped
from tests.datapath.test_fast_round_trip import chosen
from tests.datapath.topology import CLIENT, SERVER

SIZE = 1000
EARLY_NS = 1 << 27
"""So that enough of the window is left."""
OTHERS_MAX = 128
"""WEIR_OTHERS_MAX of datapath/bpf/loss.h."""
STORY = [(0, 100), (2, 100), (3, 101), (1, 130), (3, 131)]
"""Segments and timestamps: the second was lost before the router, the fourth after it."""


def down(number: int, value: int) -> bytes:
    segment = stamped(value, 1, ports=(443, 5000), data=SIZE, sequence=1 + number * SIZE)
    return p.ethernet(p.IPV4, p.ipv4(SERVER, CLIENT, segment, protocol=6))


def lost(fast: Fast, slot: int) -> tuple[int, int, int]:
    found = fast.loaded.datapath.losses(slot, DOWNLOAD)
    return found.seen_bytes // SIZE, found.before_bytes // SIZE, found.after_bytes // SIZE


def test_what_xdp_forwards_is_told_apart(fast: Fast) -> None:
    slot = chosen(fast, looked_at(EARLY_NS))
    fast.from_wan(down(-1, 99))
    settle()
    for number, value in STORY:
        assert fast.from_wan(down(number, value))[0] == XDP_REDIRECT
    assert lost(fast, slot) == (3, 1, 1)


def test_an_acknowledgement_that_xdp_forwards_counts(fast: Fast) -> None:
    slot = chosen(fast, looked_at(EARLY_NS))
    fast.from_wan(down(-1, 99))
    settle()
    for number in range(3):
        fast.from_wan(down(number, 100 + number))
    ack = stamped(2, 1, ports=(5000, 443), data=0, ack=1 + 2 * SIZE)
    assert fast.from_lan(p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, ack, protocol=6)))[0] == XDP_REDIRECT
    fast.from_wan(down(1, 130))
    assert lost(fast, slot) == (3, 0, 0), "the receiver has it"


def waiting(fast: Fast) -> int:
    """A class whose packets wait, so that XDP sends them up."""
    slot = chosen(fast, looked_at(EARLY_NS))
    fast.loaded.mode("edt")
    fast.loaded.limit(slot, 100_000_000, limit_ns=500_000_000)
    fast.loaded.set_clock_tk(slot, DOWNLOAD, (time.monotonic_ns() + 200_000_000) * 16)
    return slot


def test_a_packet_that_goes_up_is_counted_once(fast: Fast) -> None:
    """Both programs see it."""
    slot = waiting(fast)
    fast.from_wan(down(-1, 99))
    fast.loaded.forget_what_went_up()
    settle()
    for number, value in STORY:
        fast.loaded.set_clock_tk(slot, DOWNLOAD, (time.monotonic_ns() + 200_000_000) * 16)
        assert fast.from_wan(down(number, value))[0] == XDP_PASS
        assert fast.loaded.egress(down(number, value)).verdict == NEXT
        fast.loaded.forget_what_went_up()
    assert lost(fast, slot) == (3, 1, 1)


def test_a_flow_whose_packets_all_go_up_is_followed_there(fast: Fast) -> None:
    """XDP sees the first one alone: what follows it goes up unseen, so that it does not overtake."""
    slot = waiting(fast)
    assert fast.from_wan(down(-1, 99))[0] == XDP_PASS
    settle()
    fast.loaded.limit(slot, 10_000_000_000)
    fast.loaded.set_clock_tk(slot, DOWNLOAD, 0)
    for number in range(3):
        assert fast.loaded.egress(down(number, 100)).verdict == NEXT
    for _ in range(OTHERS_MAX - 1):
        assert fast.loaded.egress(down(2, 130)).verdict == NEXT
    assert lost(fast, slot) == (3, 0, 0), "XDP may have seen these"
    assert fast.loaded.egress(down(2, 131)).verdict == NEXT
    settle()
    for number, value in STORY:
        assert fast.loaded.egress(down(3 + number, 100 + value)).verdict == NEXT
    assert lost(fast, slot) == (6, 1, 1)


def test_what_xdp_does_not_see_in_between_is_no_hole(fast: Fast) -> None:
    slot = chosen(fast, looked_at(EARLY_NS))
    fast.loaded.mode("edt")
    fast.from_wan(down(-1, 99))
    settle()
    assert fast.from_wan(down(0, 100))[0] == XDP_REDIRECT
    assert fast.loaded.egress(down(1, 100)).verdict == NEXT
    assert fast.from_wan(down(2, 101))[0] == XDP_REDIRECT
    assert fast.from_wan(down(2, 130))[0] == XDP_REDIRECT
    assert lost(fast, slot) == (3, 0, 1)


def test_a_flow_that_the_stack_saw_first_is_followed_by_xdp_from_then_on(fast: Fast) -> None:
    slot = chosen(fast, looked_at(EARLY_NS))
    fast.loaded.mode("edt")
    assert fast.loaded.egress(down(0, 100)).verdict == NEXT
    assert fast.from_wan(down(9, 100))[0] == XDP_REDIRECT
    settle()
    for number, value in [(10, 100), (12, 100), (11, 130)]:
        assert fast.from_wan(down(number, value))[0] == XDP_REDIRECT
    assert fast.loaded.egress(down(11, 130)).verdict == NEXT
    assert lost(fast, slot) == (2, 1, 0)
