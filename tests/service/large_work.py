# SPDX-License-Identifier: Apache-2.0
"""What `test_memory_limit` runs in a process of its own, which has no more memory than the API may take.

DATABASE SOCKET LIMIT_MB QUEUES: import them, commit, stage another limit for half, commit, export. Prints
the peak of each step in MB.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from bench.fixture import routeros_export
from tests.service.router import ANNA
from weir import memory
from weir.model.objects import Pair, Queue
from weir.service import Edit, Service
from weir.service.imports import ImportService

STAGED_AT_ONCE = 10_000


def peak_mb() -> float:
    """The most since the last call."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return found * 1024 / 1e6


def main(database: str, socket: str, limit_mb: str, count: str) -> None:
    memory.prepare()
    limit_bytes = int(limit_mb) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    service = Service.open(Path(database), Path(socket))
    imports = ImportService(service)
    for name, step in (
        ("import", lambda: brought_in(imports, int(count))),
        ("commit", lambda: changed(service, int(count) // 2)),
        ("export", lambda: taken(imports)),
    ):
        tell(name, step)
    service.close()


def tell(name: str, step: Callable[[], None]) -> None:
    memory.give_back_memory()
    peak_mb()
    step()
    print(name, round(peak_mb()), flush=True)


def brought_in(imports: ImportService, count: int) -> None:
    report = imports.read(ANNA, "routeros", {"export.rsc": routeros_export(count).encode()})
    assert len(report.edits) == count, report.findings[:3]
    imports.commit(ANNA, report.id, "", None)


def changed(service: Service, count: int) -> None:
    with service.config.document(ANNA) as document:
        ids = list(islice(document.of_kind("queue"), count))
    for at in range(0, count, STAGED_AT_ONCE):
        with service.config.document(ANNA) as document:
            edits = [Edit("queue", name, faster(document.queue(name))) for name in ids[at:][:STAGED_AT_ONCE]]
        service.candidates.stage(ANNA, edits)
    assert len(service.candidates.commit(ANNA, "").changes) == count


def faster(queue: Queue | None) -> Queue:
    assert queue is not None
    return replace(queue, max_limit_bps=Pair(7_000_000, 9_000_000))


def taken(imports: ImportService) -> None:
    for format_name in ("csv", "routeros"):
        assert sum(len(piece) for piece in imports.export(ANNA, format_name)) > 1_000_000


if __name__ == "__main__":
    main(*sys.argv[1:])
