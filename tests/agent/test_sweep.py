# SPDX-License-Identifier: Apache-2.0
"""What a killed test run left is removed by the next one, all of whose processes begin at the same moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from subprocess import PIPE

import pytest

from lab import netns
from tests.agent.rig import PREFIX, RUN, remove

WORKERS = 6
RIGS = 8
SWEEPING = "from tests.agent.rig import sweep; print('ready', flush=True); input(); sweep()"


@pytest.fixture
def left() -> Iterator[list[str]]:
    """Rigs without a test process, each with namespaces, files and a mounted BPF file system."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    names = [f"{PREFIX}{gone.pid}-{number}" for number in range(RIGS)]
    for name in names:
        (RUN / name / "bpf").mkdir(parents=True)
        netns.run(["mount", "-t", "bpf", "bpf", str(RUN / name / "bpf")])
        for end in "ric":
            netns.create(f"{name}-{end}")
    yield names
    for name in names:
        remove(name)


def test_processes_that_begin_together_remove_what_was_left_once(left: list[str]) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", SWEEPING], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
        for _ in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=60)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * WORKERS, "\n".join(said)
    assert not [name for name in left if (RUN / name).exists() or netns.exists(f"{name}-r")]
