# SPDX-License-Identifier: Apache-2.0
"""100,422 queues are imported, changed and exported within the memory that the API may take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.service.fake_agent import FakeAgent
from weir.store import ConfigStore

QUEUES = 100_422
LIMIT_MB = 350
"""Of data: what a process writes to and shares with nobody. The unit's `MemoryHigh` is 512 MB."""
PEAKS_MB = {"import": LIMIT_MB, "commit": 210, "export": 170}
"""A commit and an export of objects instead of rows took more."""
ROOT = Path(__file__).resolve().parents[2]


def test_100_000_queues_are_imported_changed_and_exported_within_350_mb(tmp_path: Path) -> None:
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    ConfigStore.open(database, create=True).close()
    with FakeAgent(socket, database):
        work = [str(database), str(socket), str(LIMIT_MB), str(QUEUES)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.service.large_work", *work],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'api'}"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    peaks_mb = {name: float(mb) for name, mb in map(str.split, done.stdout.splitlines())}
    print(peaks_mb)
    assert peaks_mb.keys() == PEAKS_MB.keys()
    assert all(peaks_mb[name] <= most for name, most in PEAKS_MB.items()), peaks_mb
