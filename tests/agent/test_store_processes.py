# SPDX-License-Identifier: Apache-2.0
"""The processes that touch the configuration's files for the agent: which of them run when, and how small the
one is that always does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent.rig import pending_of
from tests.store.objects import commit, create, new_store, queue
from weir.agent.store_client import StoreClient
from weir.agent.store_process import StoreProcesses
from weir.store import ConfigStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConfigStore]:
    found = new_store(tmp_path)
    commit(found, create(queue("q1")))
    yield found
    found.close()


@pytest.fixture
def processes(store: ConfigStore, tmp_path: Path) -> Iterator[StoreProcesses]:
    found = StoreProcesses(tmp_path / "weir.db", os.geteuid())
    yield found
    found.close()


def running(processes: StoreProcesses) -> set[str]:
    return {name for name in ("read", "write", "verify") if processes.of(name).pid is not None}


def loaded_with(*channels: str) -> bool:
    """Whether a process for these channels has the kinds of objects when it serves."""
    program = (
        "import sys, os, socket; from weir.agent import store_server; "
        "pairs = [socket.socketpair() for _ in sys.argv[1:]]; "
        "named = [f'{name}={pair[0].detach()}' for name, pair in zip(sys.argv[1:], pairs)]; "
        "[pair[1].close() for pair in pairs]; "
        "os._exit = lambda _code: print('weir.kinds' in sys.modules); "
        "store_server.main(['/nowhere.db', str(os.geteuid()), '0', *named])"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, *channels], capture_output=True, text=True, check=True
    )
    return said.stdout == "True\n"


def test_the_one_that_stays_has_no_kinds_and_who_writes_has_them_before_it_is_asked() -> None:
    assert not loaded_with("read", "pending")
    assert loaded_with("write")
    assert loaded_with("verify")


def test_reading_needs_the_one_process_only(processes: StoreProcesses) -> None:
    client = StoreClient(processes)
    damage = list[object]()
    assert [item.id for item in client.load(damage)[1].queues()] == ["q1"]
    assert (client.head(), client.count("queue"), client.pending(), damage) == (1, 1, None, [])
    assert [change.id for change in client.changes_between(0, 1)] == ["q1"]
    assert running(processes) == {"read"}


def test_a_whole_look_has_a_process_that_ends_with_it(processes: StoreProcesses) -> None:
    client = StoreClient(processes)
    client.head()
    for _ in range(2):  # one after the other, without a pause
        assert client.verify() == []
        assert running(processes) == {"read"}


def test_while_a_change_waits_the_process_that_undoes_it_is_there(
    store: ConfigStore, processes: StoreProcesses
) -> None:
    client = StoreClient(processes)
    with store.write() as transaction:
        transaction.append(kind="commit", author="anna", message="", changes=create(queue("q2")))
        transaction.set_pending(pending_of(1, 2, 60))
    assert client.pending() == store.pending()
    assert running(processes) == {"read", "write"}
    writing = processes.of("write").pid
    client.pending()
    with client.write() as begun:
        assert processes.of("write").pid == writing, "it is the same one"
        assert begun.roll_back_pending() == 3
    assert client.pending() is None
    assert running(processes) == {"read"}
    assert [change.id for change in store.changes_between(2, 3)] == ["q2"]


def test_who_writes_is_not_ended_by_one_who_sees_that_nothing_waits(
    store: ConfigStore, processes: StoreProcesses
) -> None:
    client, other = StoreClient(processes), ThreadPoolExecutor(1)
    with other, client.write():
        writing = processes.of("write").pid
        assert other.submit(client.pending).result() is None
        assert writing is not None and processes.of("write").pid == writing
    client.pending()
    assert running(processes) == {"read"}
