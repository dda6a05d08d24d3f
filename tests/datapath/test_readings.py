# SPDX-License-Identifier: Apache-2.0
"""The counters of all lines as the API reads them: by an iterator, and where there is none by lookups."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.datapath import packets as p
from tests.datapath.loaded import Loaded
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.model.problem import Unavailable
from weir.stats.delays import Delays
from weir.stats.layout import CHUNK_LINES, Counters, Layout
from weir.stats.queues import QueueFigures
from weir.stats.readings import Readings

QUEUES = 100_000
SLOT, LAST_SLOT = 7, QUEUES
CUSTOMER, INTERNET = "10.64.1.7", "198.51.100.1"
LINE = LineRecord.of(10_000_000, 100_000, 10**9)


@pytest.fixture
def crowded(pin_dir: Path) -> Iterator[Datapath]:
    with Datapath.open(pin_dir, capacity=131_072) as datapath:
        datapath.write_classes((slot, ClassRecord(slot, 0, LINE, LINE)) for slot in range(1, QUEUES + 1))
        yield datapath
        datapath.destroy()


@pytest.fixture
def streamed(crowded: Datapath) -> Iterator[Counters]:
    """By the iterator. Some builds of Linux 6.18 refuse its program with EPERM, and tests/vm/test_programs.py
    runs it on 6.12."""
    try:
        counters = counters_of(crowded, stream=True)
    except Unavailable as refused:
        pytest.skip(refused.message)
    yield counters
    counters.close()


def counters_of(datapath: Datapath, *, stream: bool) -> Counters:
    layout: dict[str, Any] = layout_of(datapath.usage())
    waits, details, lines = (
        datapath.map_fd_readonly(name) for name in ("weir_waits", "weir_details", "weir_lines")
    )
    readings = Readings(layout["readings"], datapath.reader_fd(), CHUNK_LINES) if stream else None
    return Counters(Layout.read(layout), details, lines, Delays(layout["delays"], waits), readings)


def read_all(counters: Counters, queues: int = QUEUES) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    lines = (queues + 1) * 2
    starts = range(0, lines, CHUNK_LINES)
    figures = np.concatenate([counters.read(start, min(start + CHUNK_LINES, lines)) for start in starts])
    worst_us = counters.worst_us(lines)
    assert worst_us is not None
    return figures, worst_us


def charge_two(datapath: Datapath) -> None:
    """Packets to two customers, of the first and of the last line."""
    with Loaded(datapath) as loaded:
        loaded.mode("edt")
        for slot, address in ((SLOT, CUSTOMER), (LAST_SLOT, "10.64.1.8")):
            loaded.limit(slot, 1_000_000, limit_ns=60_000_000)
            loaded.classify(4, p.value4(address), 32, slot)
            for _ in range(30):
                loaded.egress(p.frame4(INTERNET, address, 1000))


def told(counters: Counters) -> np.ndarray[Any, Any]:
    """The figures, after a look at what the two customers' packets left there."""
    figures, worst_us = read_all(counters)
    assert worst_us[SLOT * 2 + 1] > 10_000
    assert (worst_us > 0).sum() == 2
    assert (figures[[SLOT * 2 + 1, LAST_SLOT * 2 + 1]][:, :3] > 0).all()
    assert (figures[:, 0] > 0).sum() == 2
    return figures


def test_what_was_charged_is_looked_up_where_there_is_no_iterator(crowded: Datapath) -> None:
    charge_two(crowded)
    looked_up = counters_of(crowded, stream=False)
    told(looked_up)
    looked_up.close()


def test_both_ways_read_the_same(crowded: Datapath, streamed: Counters) -> None:
    charge_two(crowded)
    looked_up = counters_of(crowded, stream=False)
    told(streamed)
    for _ in range(2):
        assert (read_all(streamed)[0] == read_all(looked_up)[0]).all()
    looked_up.close()


def test_what_does_not_come_in_order_is_looked_up(streamed: Counters) -> None:
    assert streamed.read(100, 200).shape == (100, 8)
    assert read_all(streamed)[0].shape == ((QUEUES + 1) * 2, 8)


def test_100_000_classes_are_read_every_second_with_5_percent_of_a_core(streamed: Counters) -> None:
    """By processor time, which does not count what else the machine does."""
    figures = QueueFigures()
    figures.set_slots({f"q{slot}": slot for slot in range(1, QUEUES + 1)}, streamed)
    spent_s = []
    for second in range(8):
        before_s = time.thread_time()
        figures.sample(streamed, 1e9 + second, 1.0)
        spent_s.append(time.thread_time() - before_s)
    print(f"{statistics.median(spent_s) * 1000:.1f} ms")
    assert min(spent_s) < 0.05
