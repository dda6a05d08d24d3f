# SPDX-License-Identifier: Apache-2.0
"""What the kernel keeps for a queue."""

from __future__ import annotations

import re
from pathlib import Path

from bench.resources import LOOKUP_MAPS, ROUTE_MAPS, map_bytes
from weir.adapters.datapath import Datapath

QUEUES = 100_000
MOST_BYTES = 512
ROUTES_BYTES, ROUTES_BYTES_OF_A_CPU = 170_000, 400_000


def test_a_queue_takes_at_most_512_bytes_without_the_lookup_tables(pin_dir: Path) -> None:
    with Datapath.open(pin_dir) as datapath:
        sizes = {path.name: map_bytes(path) for path in pin_dir.iterdir()}
        datapath.destroy()
    assert sizes.keys() >= LOOKUP_MAPS | ROUTE_MAPS
    state = sum(size for name, size in sizes.items() if name not in LOOKUP_MAPS | ROUTE_MAPS)
    assert state / QUEUES <= MOST_BYTES


def test_what_is_kept_of_routes_is_bounded_by_processors(pin_dir: Path) -> None:
    highest = re.findall(r"\d+", Path("/sys/devices/system/cpu/possible").read_text())[-1]
    with Datapath.open(pin_dir, capacity=64) as datapath:
        taken = sum(map_bytes(pin_dir / name) for name in ROUTE_MAPS)
        datapath.destroy()
    assert taken <= ROUTES_BYTES + (int(highest) + 1) * ROUTES_BYTES_OF_A_CPU
