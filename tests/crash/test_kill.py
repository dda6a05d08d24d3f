# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random instants: what was reported as done is there, and never a mixture."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.crash.whole import whole_revision
from tests.service.fake_agent import FakeAgent
from tests.service.router import wait_until
from weir.store import ConfigStore

WRITER = Path(__file__).with_name("writer.py")
ROUNDS = 12


def run_and_kill(database: Path, socket: str, after_s: float) -> tuple[int, int]:
    """Let a writer run until it has begun, then kill it `after_s` later: (last tried, last done)."""
    process = subprocess.Popen(
        [sys.executable, str(WRITER), str(database), socket], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    assert lines[0].startswith("try"), "the writer did not start"
    killer = threading.Timer(after_s, lambda: os.kill(process.pid, signal.SIGKILL))
    killer.start()
    lines += process.stdout.readlines()
    process.wait()
    killer.join()
    said = [line.split() for line in lines if line.endswith("\n")]
    tried = max(int(number) for word, number in said if word == "try")
    done = max((int(number) for word, number in said if word == "done"), default=tried - 1)
    return tried, done


def test_a_writer_killed_at_any_instant_leaves_the_old_or_the_new_revision(tmp_path: Path) -> None:
    database = tmp_path / "weir.db"
    generator = random.Random(20)
    for _ in range(ROUNDS):
        tried, done = run_and_kill(database, "-", generator.uniform(0.0, 0.08))
        head = whole_revision(database)
        assert done <= head <= tried


def test_a_service_killed_at_any_instant_leaves_kernel_and_store_agreeing(tmp_path: Path) -> None:
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    ConfigStore.open(database, create=True).close()
    generator = random.Random(3)
    with FakeAgent(socket, database) as agent:
        for _ in range(ROUNDS):
            tried, done = run_and_kill(database, str(socket), generator.uniform(0.0, 0.08))
            head = whole_revision(database)
            assert done <= head <= tried
            wait_until(lambda head=head: agent.revision == head, "the agent did not follow the store")
            comments = {item.comment for item in agent.kernel.values()}
            assert comments == ({str(head)} if head else set())


@pytest.mark.parametrize("moment", ["before-apply", "after-apply", "settle"])
def test_a_service_killed_at_each_step_of_the_protocol(tmp_path: Path, moment: str) -> None:
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    ConfigStore.open(database, create=True).close()
    with FakeAgent(socket, database) as agent:
        reached = threading.Event()
        released = threading.Event()

        def stop_at(at: str) -> None:
            if at == moment:
                reached.set()
                released.wait(60)

        agent.behave = stop_at
        process = subprocess.Popen(
            [sys.executable, str(WRITER), str(database), str(socket)], stdout=subprocess.DEVNULL
        )
        assert reached.wait(60)
        process.kill()
        process.wait()
        agent.behave = lambda at: None
        released.set()
        head = whole_revision(database)
        assert head == (1 if moment == "settle" else 0)
        wait_until(lambda: agent.revision == head, "the agent did not follow the store")
        assert len(agent.kernel) == (20 if head else 0)
