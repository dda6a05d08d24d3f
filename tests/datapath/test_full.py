# SPDX-License-Identifier: Apache-2.0
"""Whose upload is full is said in the mark, so that the firewall opens no connection for it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.loaded import UPLOAD, Loaded
from weir.adapters.datapath import ROUTED
from weir.adapters.datapath_records import Role
from weir.adapters.subqueue_records import SubqueuesRecord

FULL = 0x20000000
SLOT, PARENT = 7, 9
FROM, OTHER = "10.64.1.7", "10.64.1.8"
FRAME = p.frame4(FROM, "203.0.113.1", 100)
MS = 1_000_000
TARGET_NS = 15 * MS
"""Of early drop, at 8 Mbit/s (datapath/bpf/law.h)."""


@pytest.fixture
def router(loaded: Loaded) -> Iterator[Loaded]:
    loaded.mode("edt", roles=ROUTED | Role.FULL)
    loaded.limit(PARENT, 0)
    loaded.limit(SLOT, 8_000_000, burst_bytes=20_000, parent=PARENT)
    loaded.classify(4, p.value4(FROM), 32, SLOT)
    yield loaded
    loaded.mode("edt")


def is_full(router: Loaded, ahead_ns: int, slot: int = SLOT) -> bool:
    router.set_clock_tk(slot, UPLOAD, (time.monotonic_ns() + ahead_ns) * 16)
    mark = router.ingress(FRAME).mark
    assert mark >> 8 & 0xFFFFF == SLOT
    return bool(mark & FULL)


def test_a_queue_with_room_is_not_full(router: Loaded) -> None:
    assert not is_full(router, -MS)
    assert not is_full(router, TARGET_NS // 3)


def test_a_backlog_is_full_once_what_leaves_early_is_spent(router: Loaded) -> None:
    assert is_full(router, TARGET_NS)
    router.limit(SLOT, 8_000_000, burst_bytes=20_000, parent=PARENT, sparse=True)
    assert not is_full(router, TARGET_NS), "new flows still pass the bulk"


def test_where_nothing_waits_a_queue_is_full_at_its_limit(router: Loaded) -> None:
    router.mode("police", roles=ROUTED | Role.FULL | Role.POLICED)
    assert is_full(router, 2 * MS)
    assert not is_full(router, -MS)


def test_a_queue_without_a_limit_is_as_full_as_the_one_above(router: Loaded) -> None:
    router.limit(SLOT, 0, parent=PARENT)
    router.limit(PARENT, 8_000_000, burst_bytes=20_000)
    assert is_full(router, TARGET_NS, PARENT)
    assert not is_full(router, -MS, PARENT)


def test_nothing_is_said_where_no_connections_are_tracked(router: Loaded) -> None:
    router.mode("edt")
    assert not is_full(router, 10 * TARGET_NS)


@pytest.mark.parametrize("policed", [False, True])
def test_a_sub_queue_is_full_for_itself(router: Loaded, policed: bool) -> None:
    each = SubqueuesRecord("source", rate_bps=50_000)
    router.classify(4, p.value4(OTHER), 32, SLOT)
    router.limit(SLOT, 100_000_000, burst_bytes=20_000, subqueues=each, sparse=True)
    if policed:
        router.mode("police", roles=ROUTED | Role.FULL | Role.POLICED)
    else:
        router.mode("edt", roles=ROUTED | Role.FULL)
    first = flood(router, FROM, 1500)
    assert not first[0]
    assert first[-1], "150 kB in a moment, at 50 kbit/s"
    assert flood(router, OTHER, 1) == [False]


def flood(router: Loaded, source: str, flows: int) -> list[bool]:
    """The first packets of so many flows; of each whether its queue was full."""
    found = []
    for number in range(flows):
        frame = p.frame4(source, f"203.0.{number >> 8}.{number & 255}", 100)
        mark = router.ingress(frame).mark
        found.append(bool(mark & FULL))
        router.egress(frame, mark=mark)
    return found
