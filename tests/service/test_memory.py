# SPDX-License-Identifier: Apache-2.0
"""A router whose rates are changed all day long: what is remembered of them stays small."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.objects import commit, new_store, queue
from weir import memory
from weir.adapters import netlink
from weir.agent.store_client import StoreClient
from weir.agent.store_process import StoreProcesses
from weir.backends import tables
from weir.compiler import clocks
from weir.model.document import Change
from weir.model.reader import shared_pair

MB = 1_000_000
RATES = 50_000

REMEMBER: dict[str, Callable[[int], object]] = {
    "pairs of rates": lambda number: shared_pair(10_000_000 + number, 20_000_000 + number),
    "clocks": lambda number: clocks.clock_spec(30_000_000 + number, 100),
    "times of a bucket": lambda number: tables._times(40_000_000 + number, 100_000, None),
}


@pytest.mark.parametrize("what", REMEMBER)
def test_rates_that_were_changed_are_forgotten(what: str) -> None:
    """As in 40 minutes at 20 changes a second; 65,536 of each were kept, 83 MB in the agent."""
    remember = REMEMBER[what]
    tracemalloc.start()
    try:
        for number in range(RATES):
            remember(number)
        kept_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept_bytes < 3 * MB


def sqlite_bytes() -> int:
    used = ctypes.CDLL("libsqlite3.so.0").sqlite3_memory_used
    used.restype = ctypes.c_longlong
    return int(used())


def test_what_sqlite_remembers_does_not_grow_with_the_history(tmp_path: Path) -> None:
    """Nine connections would each keep 2 MB of pages that nobody asks for again."""
    of_others = sqlite_bytes()
    store = new_store(tmp_path)
    old = {number: queue(f"q{number}", comment="x" * 600) for number in range(1, 2500)}
    commit(store, [Change("queue", item.id, None, item) for item in old.values()])
    for version in range(6):
        new = {number: queue(f"q{number}", comment=f"{version}" * 600) for number in old}
        commit(store, [Change("queue", item.id, old[number], item) for number, item in new.items()])
        old = new
    readers = [store._database.reading() for _ in range(8)]
    try:
        for reader in readers:
            connection = reader.__enter__()
            assert connection.execute("SELECT sum(length(body)) FROM object_version NOT INDEXED").fetchone()
        assert sqlite_bytes() - of_others < 10 * MB
    finally:
        for reader in readers:
            reader.__exit__(None, None, None)
        store.close()


def test_a_netlink_socket_is_closed_with_what_it_remembers_of_its_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """110 bytes a request, which made a megabyte an hour of three requests a second."""
    monkeypatch.setattr(netlink, "SOCKET_REQUESTS", 50)
    opened: list[weakref.ref[object]] = []
    made = netlink._socket

    def watched() -> object:
        opened.append(weakref.ref(found := made()))
        return found

    monkeypatch.setattr(netlink, "_socket", watched)
    links = netlink.Links()
    try:
        for _ in range(306):
            assert links.addresses() is not None
        gc.collect()
        assert [socket() is not None for socket in opened] == [False] * 6 + [True]
    finally:
        links.close()


def heaps_of_threads(pid: int) -> int:
    """glibc reserves 64 MB for each but the first, and opens as much of it as is used."""
    ranges = [line.split()[:2] for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    sizes = [
        int(end, 16) - int(begin, 16)
        for (begin, end), rights in ((found.split("-"), rights) for found, rights in ranges)
        if rights == "---p"
    ]
    return sum(60 << 20 < size < 64 << 20 for size in sizes)


def test_the_threads_that_read_the_store_for_the_agent_share_a_heap(tmp_path: Path) -> None:
    """Each would keep the most that it ever needed."""
    new_store(tmp_path).close()
    processes = StoreProcesses(tmp_path / "weir.db", os.geteuid())
    client = StoreClient(processes)
    try:
        client.look()
        client.pending()
        with client.write():
            pids = [processes.of(name).pid for name in ("read", "pending", "write")]
        assert [heaps_of_threads(pid) for pid in pids if pid is not None] == [0, 0, 0]
    finally:
        processes.close()


def heap_kib() -> int:
    """What of this process is in memory and nobody else's."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def test_what_was_freed_between_things_in_use_is_given_back() -> None:
    """glibc gives back the end of its heap only: what was held here last is at the end."""
    pieces = [bytes(2048) + bytes([number % 256]) for number in range(20_000)]
    full_kib = heap_kib()
    kept = pieces[::20] + pieces[-100:]
    del pieces
    memory.trim()
    assert full_kib - heap_kib() > 20_000, kept[:0]


NO_TURN_S = 50e-6
"""Somebody else had the processor: the thread that computes did not run in between."""


def computed_until_another_runs_s() -> float:
    """The processor's time of a thread that computes, each time that it has the interpreter and somebody else
    wants to go on: the median of 40. Work of others on this machine is not in it."""
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            pass

    thread = threading.Thread(target=compute)
    thread.start()
    assert thread.ident is not None
    clock = time.pthread_getcpuclockid(thread.ident)
    taken = list[float]()
    while len(taken) < 40:
        before_s = time.clock_gettime(clock)
        time.sleep(0)
        if (took_s := time.clock_gettime(clock) - before_s) > NO_TURN_S:
            taken.append(took_s)
    over.set()
    thread.join()
    return statistics.median(taken)


def test_who_changes_one_queue_waits_little_for_a_thread_that_computes() -> None:
    """It lets go of the interpreter some fifty times, and waited 5 ms each time."""
    interval_s, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        sys.setswitchinterval(0.005)
        memory.prepare()
        assert computed_until_another_runs_s() < 0.005 / 3
    finally:
        sys.setswitchinterval(interval_s)
        gc.set_threshold(*thresholds)
        gc.enable()


COLLECTS = """
import gc, json
from weir import memory
import weir.service
memory.prepare()
assert not gc.isenabled()
memory.leave_out_what_is_loaded()
assert gc.isenabled()
loaded = gc.get_freeze_count()
kept = [{number: str(number)} for number in range(1000)]
for knot in kept[::2]:
    knot[None] = knot
del kept, knot
examined = len(gc.get_objects())
memory.give_back_memory()
print(json.dumps([loaded, examined, len(gc.get_objects()), gc.get_freeze_count() - loaded]))
"""


def test_what_is_loaded_is_not_collected_over_and_over() -> None:
    """It is most of all that there is, and every request waits for a collection."""
    told = subprocess.run([sys.executable, "-c", COLLECTS], check=True, capture_output=True, text=True).stdout
    loaded, examined, left, kept_later = json.loads(told)
    assert loaded > 20_000 > examined
    assert left < 100 <= 400 < examined, "what held itself is gone"
    assert kept_later == 0


STAYS = """
import gc, json, threading, time
from weir import memory
memory.LOADED_S, memory.TRIM_S, memory.COLLECTING_SHARE = 0.0, 0.01, {share}
memory.prepare()

class Knot:
    left = 0
    def __init__(self):
        self.itself = self
        Knot.left += 1
    def __del__(self):
        Knot.left -= 1

whole = []

def note(phase, told):
    if phase == "stop" and told["generation"] == 2:
        whole.append(phase)

gc.callbacks.append(note)
memory.keep_trimmed()
while len(whole) < 2:  # of what is loaded, and the first of those that come again and again
    time.sleep(0.01)
kept = [Knot() for _ in range(100)]
gc.collect(1)  # old: no collection of younger ones looks at them
del kept
gc.collect(1)
until_s = time.monotonic() + {wait_s}
while Knot.left and time.monotonic() < until_s:
    time.sleep(0.01)
print(Knot.left)
"""


@pytest.mark.parametrize(("share", "wait_s", "left"), [(1.0, 10.0, "0"), (1e-9, 0.2, "100")])
def test_old_cycles_are_collected_in_their_share_of_the_time(share: float, wait_s: float, left: str) -> None:
    program = STAYS.format(share=share, wait_s=wait_s)
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.strip() == left
