# SPDX-License-Identifier: Apache-2.0
"""What the kernel keeps for a queue, and what it takes to read that of all."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from bench.resources import LOOKUP_MAPS, map_bytes
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.stats.delays import Delays
from weir.stats.engine import Engine
from weir.stats.layout import Counters, Layout

QUEUES = 100_000
MOST_BYTES = 512


def test_a_queue_takes_at_most_512_bytes_without_the_lookup_tables(pin_dir: Path) -> None:
    with Datapath.open(pin_dir) as datapath:
        sizes = {path.name: map_bytes(path) for path in pin_dir.iterdir()}
        datapath.destroy()
    assert sizes.keys() >= LOOKUP_MAPS
    state = sum(size for name, size in sizes.items() if name not in LOOKUP_MAPS)
    assert state / QUEUES <= MOST_BYTES


def test_100_000_classes_are_read_every_second_with_5_percent_of_a_core(own_namespace: None) -> None:
    """By processor time, which does not count what else the machine does."""
    line = LineRecord.of(10_000_000, 100_000, 10**9)
    with Datapath.open(None, capacity=131_072) as datapath:
        datapath.write_classes((slot, ClassRecord(slot, 0, line, line)) for slot in range(1, QUEUES + 1))
        layout = layout_of(datapath.usage())
        fds = (datapath.map_fd_readonly(name) for name in ("weir_waits", "weir_details", "weir_lines"))
        delays = Delays(layout["delays"], next(fds))  # type: ignore[arg-type]
        counters = Counters(Layout.read(layout), next(fds), next(fds), delays)
        engine = Engine()
        engine.set_slots({f"q{slot}": slot for slot in range(1, QUEUES + 1)}, counters)
        spent_s = []
        for second in range(8):
            before_s = time.thread_time()
            engine.sample(counters, 1e9 + second, 1.0)
            spent_s.append(time.thread_time() - before_s)
        counters.close()
    assert statistics.median(spent_s) < 0.05
