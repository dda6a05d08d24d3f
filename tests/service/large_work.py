# SPDX-License-Identifier: Apache-2.0
"""What `test_memory_limit` runs in a process of its own, which has no more memory than the API may take.

DATABASE SOCKET LIMIT_MB QUEUES FOLDER STEP...: do the steps one after the other, and print the peak of each
in MB. What one step writes to the folder another one reads, perhaps in another process.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from bench.fixture import routeros_export
from bench.imports import libreqos_table
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


def main(database: str, socket: str, limit_mb: str, count: str, folder: str, *steps: str) -> None:
    memory.prepare()
    memory.leave_out_what_is_loaded()
    limit_bytes = int(limit_mb) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    service = Service.open(Path(database), Path(socket))
    work = Work(service, ImportService(service), int(count), Path(folder))
    for name in steps:
        tell(name, work.steps()[name])
    service.close()


def tell(name: str, step: Callable[[], None]) -> None:
    memory.give_back_memory()
    peak_mb()
    step()
    print(name, round(peak_mb()), flush=True)


@dataclass(frozen=True, slots=True)
class Work:
    service: Service
    imports: ImportService
    count: int
    folder: Path

    def steps(self) -> Mapping[str, Callable[[], None]]:
        return {
            "import": lambda: self._brought_in("routeros", routeros_export(self.count).encode()),
            "import-csv": lambda: self._brought_in("csv", (self.folder / "csv").read_bytes()),
            "import-libreqos": lambda: self._brought_in("libreqos", libreqos_table(self.count)),
            "commit": self._change_half,
            "export": lambda: self._write("csv", "routeros"),
            "backup": self._back_up,
            "restore": self._restore,
        }

    def _brought_in(self, format_name: str, data: bytes) -> None:
        name = {"libreqos": "ShapedDevices.csv"}.get(format_name, "file")
        report = self.imports.read(ANNA, format_name, {name: data})
        del data
        assert sum(edit.kind == "queue" for edit in report.edits) >= self.count, report.findings[:3]
        self.imports.commit(ANNA, report.id, "", None)

    def _change_half(self) -> None:
        count = self.count // 2
        config, candidates = self.service.config, self.service.candidates
        with config.document(ANNA) as document:
            ids = list(islice(document.of_kind("queue"), count))
        for at in range(0, count, STAGED_AT_ONCE):
            with config.document(ANNA) as document:
                some = [document.queue(name) for name in ids[at:][:STAGED_AT_ONCE]]
            candidates.stage(ANNA, [Edit("queue", item.id, item) for item in map(faster, some)])
        assert len(candidates.commit(ANNA, "").changes) == count

    def _write(self, *format_names: str) -> None:
        for format_name in format_names:
            with (self.folder / format_name).open("w") as file:
                written = sum(map(file.write, self.imports.export(ANNA, format_name)))
            assert written > 1_000_000

    def _back_up(self) -> None:
        _, data = self.service.backup.write(ANNA, "router")
        (self.folder / "backup").write_bytes(data)

    def _restore(self) -> None:
        committed = self.service.backup.restore(ANNA, (self.folder / "backup").read_bytes())
        assert len(committed.changes) >= self.count


def faster(queue: Queue | None) -> Queue:
    assert queue is not None
    return replace(queue, max_limit_bps=Pair(7_000_000, 9_000_000))


if __name__ == "__main__":
    main(*sys.argv[1:])
