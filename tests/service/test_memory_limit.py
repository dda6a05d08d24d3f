# SPDX-License-Identifier: Apache-2.0
"""100,422 queues are imported, changed, exported, backed up and restored within the memory that the API may
take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.fake_agent import FakeAgent
from weir.store import ConfigStore

QUEUES = 100_422
LIMIT_MB = 350
"""Of data: what a process writes to and shares with nobody. The unit's `MemoryHigh` is half of the memory."""
PEAKS_MB = {
    "import": 250,
    "commit": 210,
    "export": 170,
    "backup": 210,
    "import-csv": 250,
    "import-libreqos": 250,
    "restore": 250,
}
"""Measured: 187, 170, 128, 168, 194, 173, 191. Commits and exports of objects instead of rows took more."""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For what one process writes and the next one reads."""
    return tmp_path_factory.mktemp("files")


def done(folder: Path, *steps: str, limit_mb: int = LIMIT_MB) -> subprocess.CompletedProcess[str]:
    """The steps by a process that may take so much data, on a router without queues."""
    database, socket = folder / f"{steps[0]}.db", folder / "agent.sock"
    ConfigStore.open(database, create=True).close()
    with FakeAgent(socket, database):
        work = [str(database), str(socket), str(limit_mb), str(QUEUES), str(folder), *steps]
        return subprocess.run(
            [sys.executable, "-m", "tests.service.large_work", *work],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'api'}"},
            capture_output=True,
            text=True,
            check=False,
        )


def require_within(folder: Path, *steps: str) -> None:
    said = done(folder, *steps)
    assert said.returncode == 0, said.stderr[-3000:]
    peaks_mb = {name: float(mb) for name, mb in map(str.split, said.stdout.splitlines())}
    print(peaks_mb)
    assert list(peaks_mb) == list(steps)
    assert all(peak_mb <= PEAKS_MB[name] for name, peak_mb in peaks_mb.items()), peaks_mb


@pytest.mark.slow
def test_100_000_queues_are_imported_changed_exported_and_backed_up_within_350_mb(folder: Path) -> None:
    require_within(folder, "import", "commit", "export", "backup")


@pytest.mark.slow
@pytest.mark.parametrize("step", ["import-csv", "restore"])
def test_what_was_written_of_100_000_queues_comes_back_within_350_mb(folder: Path, step: str) -> None:
    if not (folder / "backup").exists():  # this one alone was asked for
        require_within(folder, "import", "export", "backup")
    require_within(folder, step)


@pytest.mark.slow
def test_a_libreqos_network_of_100_000_is_imported_within_350_mb(folder: Path) -> None:
    require_within(folder, "import-libreqos")


@pytest.mark.slow
def test_who_takes_more_memory_fails(folder: Path) -> None:
    """The limit is one: the same import does not come to its end within 150 MB."""
    said = done(folder, "import", limit_mb=150)
    assert said.returncode != 0
    assert "MemoryError" in said.stderr or "memory" in said.stderr.lower()
