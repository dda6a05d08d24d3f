# SPDX-License-Identifier: Apache-2.0
"""Merged packets (GRO) are no larger than the slowest queue can bear."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator

import pytest

from weir.adapters.netlink import GRO_MAX_BYTES, Links
from weir.agent.packet_sizes import LEAST_BYTES, Merging, gro_max_bytes
from weir.backends.modes import Decision

MEGABIT = 1_000_000
_CLONE_NEWNET = 0x40000000


@pytest.mark.parametrize(
    ("slowest_bps", "size_bytes"),
    [
        (0, GRO_MAX_BYTES),
        (1_000 * MEGABIT, GRO_MAX_BYTES),
        (100 * MEGABIT, 62_500),
        (10 * MEGABIT, 6_250),
        (2 * MEGABIT, LEAST_BYTES),
        (64_000, LEAST_BYTES),
    ],
)
def test_a_packet_takes_five_milliseconds_of_the_slowest_queue(slowest_bps: int, size_bytes: int) -> None:
    assert gro_max_bytes(slowest_bps) == size_bytes


@pytest.fixture
def links() -> Iterator[Links]:
    """In a network namespace of its own, with a pair of interfaces; the thread goes home afterwards."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace needs root")
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    assert libc.unshare(_CLONE_NEWNET) == 0
    subprocess.run(["ip", "link", "add", "port0", "type", "veth", "peer", "name", "port1"], check=True)
    opened = Links()
    yield opened
    opened.close()
    assert libc.setns(home, _CLONE_NEWNET) == 0
    os.close(home)


def test_shaped_interfaces_follow_and_get_their_own_size_back(links: Links) -> None:
    decisions = {"port0": Decision("edt", "asked for"), "port1": Decision("none", "asked for")}
    slowest_bps = 10 * MEGABIT
    merging = Merging(links, lambda: decisions, lambda: slowest_bps)
    merging.fit()
    assert links.link("port0").gro_max_bytes == 6_250
    assert links.link("port1").gro_max_bytes == GRO_MAX_BYTES
    slowest_bps = 2 * MEGABIT
    merging.fit()
    assert links.link("port0").gro_max_bytes == LEAST_BYTES
    del decisions["port0"]
    merging.fit()
    assert links.link("port0").gro_max_bytes == GRO_MAX_BYTES
