# SPDX-License-Identifier: Apache-2.0
"""The share controller leaves processors to others when so many classes are busy that a look takes long."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.adapters.share_controller import ShareController

SLOTS = 262_144
INTERVAL_MS = 1
"""Of so many lines a look takes 4 ms and more."""
BYTES_AT = 5
"""Of a line, in words of 8 bytes."""


@pytest.fixture
def busy(own_namespace: None) -> Iterator[Datapath]:
    line = LineRecord.of(10_000_000, 100_000, 10**9)
    with Datapath.open(None, capacity=SLOTS) as opened:
        opened.write_classes((slot, ClassRecord(slot, 0, line, line)) for slot in range(1, SLOTS))
        over = threading.Event()
        sender = threading.Thread(target=send, args=(opened, over))
        sender.start()
        yield opened
        over.set()
        sender.join()


def send(datapath: Datapath, over: threading.Event) -> None:
    """All classes send all the time, as counters say."""
    fd = datapath.map_fd("weir_lines")
    with mmap.mmap(fd, SLOTS * 2 * 64) as memory:
        sent = np.frombuffer(memory, np.uint64).reshape(-1, 8)[2:, BYTES_AT]
        while not over.wait(0.02):
            sent += np.uint64(100)
        del sent
    os.close(fd)


def threads() -> set[Path]:
    return set(Path("/proc/self/task").iterdir())


def processor_ns(thread: Path) -> int:
    return int((thread / "schedstat").read_text().split()[0])


def test_a_look_that_takes_longer_than_its_interval_is_followed_by_one_of_rest(busy: Datapath) -> None:
    before = threads()
    share = ShareController(busy, interval_ms=INTERVAL_MS)
    try:
        (own,) = threads() - before
        until("all classes are seen", lambda: share.state().active_lines > SLOTS)
        begun_ns, spent_ns, ticks = time.monotonic_ns(), processor_ns(own), share.state().ticks
        until("a second is over", lambda: time.monotonic_ns() - begun_ns > 1_000_000_000)
        made = share.state().ticks - ticks
        worked_ns = processor_ns(own) - spent_ns
        rested_ns = time.monotonic_ns() - begun_ns - worked_ns
        assert made > 5
        assert worked_ns > made * INTERVAL_MS * 1_000_000
        assert rested_ns >= made * INTERVAL_MS * 800_000
    finally:
        share.stop()
