# SPDX-License-Identifier: Apache-2.0
"""A page of queues sorted by a live figure, of a store of 100,422 of which 2,000 are busy.

The API runs in this process, over counters in memory: its processor time is measured, not the machine's.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import fixture
from bench.rows import Row
from weir.formats import read
from weir.model.document import Change, Document
from weir.model.packed_changes import PackedChanges
from weir.store import ConfigStore

QUEUES = 100_422
BUSY = 2000
ROUNDS = 5
PAGES = 20
SLOTS = 131_072


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        ids = filled(Path(folder) / "weir.db")
        # These are the tests', which know no strict types.
        world = importlib.import_module("tests.http.world").World(Path(folder))
        world.agent.maps.close()
        world.agent.maps = importlib.import_module("tests.stats.maps").Maps(SLOTS)
        world.agent.kernel = {("queue", queue_id): None for queue_id in ids}
        world.agent.revision = 1
        with world:
            return [measured(world, ids)]


def filled(database: Path) -> list[str]:
    """A store with one revision of queues; their ids."""
    found = read("routeros", {"a": fixture.routeros_export(QUEUES).encode()}, Document())
    store = ConfigStore.open(database, create=True)
    changes = PackedChanges(Change("queue", queue.id, None, queue) for queue in found.queues)
    with store.write() as transaction:
        transaction.append(kind="commit", author="bench", message="", changes=changes)
    store.close()
    return [change.id for change in changes]


def measured(world: Any, ids: list[str]) -> Row:
    client, stats = world.client(), world.parts.stats
    stats.stop()
    world.agent.deal_slots()
    stats.tick()
    for number, queue_id in enumerate(ids[:: len(ids) // BUSY][:BUSY]):
        world.agent.maps.count(queue_id, 1, bytes=1000 * (number + 1), packets=1)
    stats.tick()
    first = client("GET", "/queues?sort=-rate_download&limit=100")
    assert first.status_code == 200 and first.json["total"] == QUEUES, first.json
    spent_ms = [
        cpu_ms(lambda: client("GET", "/queues?sort=-rate_download&limit=100")) / PAGES for _ in range(ROUNDS)
    ]
    what = f"page of 100 out of {QUEUES:,} queues by live rate, {BUSY:,} busy: processor time"
    return Row.of("live-sort-100k", what, "ms", spent_ms)


def cpu_ms(page: Callable[[], object]) -> float:
    begun_s = time.process_time()
    for _ in range(PAGES):
        page()
    return (time.process_time() - begun_s) * 1000
