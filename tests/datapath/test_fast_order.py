# SPDX-License-Identifier: Apache-2.0
"""Order: what XDP sent up, and what fq may hold, is not overtaken by what comes later."""

from __future__ import annotations

import socket
import time

import pytest

from tests.datapath import packets as p
from tests.datapath.fast_router import SLOT, XDP_PASS, XDP_REDIRECT, Fast, download, pause
from tests.datapath.loaded import DOWNLOAD, SECOND_NS
from tests.datapath.topology import CLIENT, SERVER

UP_MARGIN_NS, HELD_MARGIN_NS, STAMP_NS = 5_000_000, 20_000_000, 1 << 16
UP_GROUP, UP_GROUPS = 64, 512
"""Flows with a common stamp in weir_up, and how many such stamps come before those of flows."""


def test_a_packet_does_not_overtake_one_of_its_flow_that_went_up(fast: Fast) -> None:
    """What went up may not have been charged yet, so the clock alone cannot tell."""
    for port in range(1000, 1100):
        began_ns = time.monotonic_ns()
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (began_ns + SECOND_NS // 2) * 16)
        assert fast.from_wan(download(port))[0] == XDP_PASS
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
        verdict = fast.from_wan(download(port))[0]
        if time.monotonic_ns() - began_ns < UP_MARGIN_NS:
            assert verdict == XDP_PASS
            assert fast.from_wan(download(port + 1000))[0] == XDP_REDIRECT, "nothing of this flow is up there"
            assert fast.sent_up("wan0")["order"] == 1
            return
    pytest.fail("this machine is too busy to run two packets within 5 ms")


def flows_of_one_group(fast: Fast) -> tuple[int, int]:
    """Ports of two flows with stamps of their own, but a common one for their group."""
    members: dict[int, int] = {}
    for port in range(2000, 4000):
        # Each time, as to find them takes a busy machine longer than half a second.
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
        before = fast.loaded.stamps_of_what_went_up()
        assert fast.from_wan(download(port))[0] == XDP_PASS
        for place in fast.loaded.stamps_of_what_went_up() - before:
            if place >= UP_GROUPS and members.setdefault(place // UP_GROUP, port) != port:
                return members[place // UP_GROUP], port
    pytest.fail("no two of 2,000 flows share a group")


def test_a_flow_stays_in_the_fast_path_while_another_of_its_group_is_held(fast: Fast) -> None:
    held, free = flows_of_one_group(fast)
    for _ in range(100):
        pause(UP_MARGIN_NS + 2 * STAMP_NS)
        began_ns = time.monotonic_ns()
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (began_ns + SECOND_NS // 2) * 16)
        assert fast.from_wan(download(held))[0] == XDP_PASS
        fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
        verdicts = fast.from_wan(download(held))[0], fast.from_wan(download(free))[0]
        if time.monotonic_ns() - began_ns < UP_MARGIN_NS:
            assert verdicts == (XDP_PASS, XDP_REDIRECT)
            return
    pytest.fail("this machine is too busy to run three packets within 5 ms")


def test_a_flow_comes_back_to_the_fast_path_after_a_pause(fast: Fast) -> None:
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, (time.monotonic_ns() + SECOND_NS // 2) * 16)
    last_up_ns = time.monotonic_ns()
    assert fast.from_wan(download(1000))[0] == XDP_PASS
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
    pause_ns = 1_000_000
    while pause_ns < SECOND_NS:
        called_ns = time.monotonic_ns()
        if fast.from_wan(download(1000))[0] == XDP_REDIRECT:
            break
        last_up_ns = called_ns
        pause_ns *= 2
        pause(pause_ns)
    assert UP_MARGIN_NS - STAMP_NS <= time.monotonic_ns() - last_up_ns < SECOND_NS


def test_a_class_stays_in_the_stack_while_fq_may_hold_its_packets(fast: Fast) -> None:
    fast.loaded.limit(SLOT, 8_000_000, burst_bytes=0)
    for _ in range(20):
        queued = fast.loaded.egress(p.frame4(SERVER, CLIENT, 1000), ifindex=socket.if_nametoindex("lan0"))
    assert queued.tstamp_ns > time.monotonic_ns(), "the last of 20 ms of packets waits"
    fast.loaded.set_clock_tk(SLOT, DOWNLOAD, 0)
    deadline = time.monotonic() + 60
    port = 1000
    while fast.from_wan(download(port))[0] == XDP_PASS:
        assert time.monotonic() < deadline
        port = port % 60_000 + 1
    assert time.monotonic_ns() >= queued.tstamp_ns + HELD_MARGIN_NS
