# SPDX-License-Identifier: Apache-2.0
"""What the kernel keeps for a queue."""

from __future__ import annotations

from pathlib import Path

from bench.resources import LOOKUP_MAPS, map_bytes
from weir.adapters.datapath import Datapath

QUEUES = 100_000
MOST_BYTES = 512


def test_a_queue_takes_at_most_512_bytes_without_the_lookup_tables(pin_dir: Path) -> None:
    with Datapath.open(pin_dir) as datapath:
        sizes = {path.name: map_bytes(path) for path in pin_dir.iterdir()}
        datapath.destroy()
    assert sizes.keys() >= LOOKUP_MAPS
    state = sum(size for name, size in sizes.items() if name not in LOOKUP_MAPS)
    assert state / QUEUES <= MOST_BYTES
