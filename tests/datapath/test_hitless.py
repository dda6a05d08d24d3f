# SPDX-License-Identifier: Apache-2.0
"""Among 100,000 queues, changes and upgrades touch no other packet: none is lost, none overtakes another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.test_ports import META_PROGRAM, poke_meta
from tests.datapath.topology import CLIENT, SERVER, Topology
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord, PrefixEntry, Role

QUEUES = 100_000
WATCHED, OLD_PARENT, NEW_PARENT = 100_001, 100_002, 100_003
"""The class of the packets that are counted, and two that it may be below."""
PACKETS_PS = 2000
ROLES = {"stack": Role.CLASSIFY | Role.SHAPE, "fast path": Role.CLASSIFY | Role.SHAPE | Role.FAST}
LINE = LineRecord.of(1_000_000_000, 1_000_000, 10**9)

SEND = """
import os, socket, struct, sys, threading, time
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
address, source, rate = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((source, 0)); s.connect((address, 5002))
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
begin = time.monotonic(); sent = 0
while not over.is_set() or sent < 1500:
    due = int((time.monotonic() - begin) * rate)
    while sent < due:
        s.send(struct.pack("!I", sent) + bytes(200)); sent += 1
    time.sleep(0.001)
print(sent, flush=True)
"""

RECEIVE = """
import json, os, socket, struct
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
s.bind(("", 5002)); s.settimeout(20.0)
print("ready", flush=True)
received = overtaken = 0; highest = -1
try:
    while True:
        number = struct.unpack_from("!I", s.recv(2048))[0]
        if received == 500: print("flowing", flush=True)
        received += 1; overtaken += number < highest; highest = max(highest, number)
        s.settimeout(2.0)
except TimeoutError: pass
print(json.dumps({"received": received, "overtaken": overtaken}))
"""


class Stream:
    """Numbered packets from client to server as long as the block lasts; then what became of them."""

    def __init__(self, topology: Topology) -> None:
        self.sent = self.received = self.overtaken = 0
        self._topology = topology

    def __enter__(self) -> Stream:
        self._receiver = self._topology.server.start(RECEIVE)
        assert self._line() == "ready"
        self._sender = self._topology.client.start(SEND, SERVER, CLIENT, PACKETS_PS)
        assert self._line() == "flowing"
        return self

    def _line(self) -> str:
        assert self._receiver.stdout is not None
        return self._receiver.stdout.readline().strip()

    def __exit__(self, *error: object) -> None:
        output, _ = self._sender.communicate("", timeout=30)
        self.sent = int(output)
        found = json.loads(self._line())
        self._receiver.communicate(timeout=30)
        self.received, self.overtaken = found["received"], found["overtaken"]

    def unharmed(self) -> bool:
        print(f"{self.sent} sent, {self.received} received, {self.overtaken} overtaken")
        return self.sent >= 1500 and self.received == self.sent and self.overtaken == 0


@pytest.fixture(scope="module")
def topology(own_namespace: None) -> Iterator[Topology]:
    with Topology() as topology:
        for peer in (topology.client, topology.server):
            peer.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        topology.client.run("ping", "-c", "1", "-W", "5", SERVER)
        yield topology


def host(number: int) -> int:
    """The IPv4 address of queue `number`, below 100.64.0.0."""
    return value4("100.64.0.0") + number


@pytest.fixture
def crowded(topology: Topology, pin_dir: Path) -> Iterator[Path]:
    """Pins of 100,000 queues of other customers, and the watched one."""
    records = [(slot, ClassRecord(slot, 0, LINE, LINE)) for slot in range(1, QUEUES + 1)]
    records += [(slot, ClassRecord(slot, 0, LINE, LINE)) for slot in (OLD_PARENT, NEW_PARENT)]
    with Datapath.open(pin_dir, capacity=131_072) as datapath:
        datapath.write_classes([*records, (WATCHED, ClassRecord(WATCHED, OLD_PARENT, LINE, LINE))])
        datapath.change_prefixes([PrefixEntry(0, 4, host(slot), 32, slot) for slot in range(1, QUEUES + 1)])
        datapath.change_prefixes([PrefixEntry(0, 4, value4(CLIENT), 32, WATCHED)])
    yield pin_dir
    with Datapath.open(pin_dir) as datapath:
        datapath.destroy()


def attach(datapath: Datapath, path: str) -> None:
    for ifname in ("lan0", "wan0"):
        datapath.attach(ifname, ROLES[path], "police")


def change(datapath: Datapath, count: int) -> None:
    """New rates and new addresses for so many queues, each a change of its own."""
    for slot in range(1, count + 1):
        record = ClassRecord(slot, NEW_PARENT, LineRecord.of(slot * 1000, 10_000, 10**9), LINE)
        datapath.write_classes([(slot, record)])
        moved = (host(QUEUES + slot), host(slot)) if slot % 2 else (host(slot), host(slot))
        datapath.change_prefixes([(0, 4, moved[0], 32, slot)], [(0, 4, moved[1], 32)])


@pytest.mark.slow
@pytest.mark.parametrize("path", ROLES)
@pytest.mark.parametrize("count", [1, 1000])
def test_changes_among_100_000_queues_touch_nobody_else(
    topology: Topology, crowded: Path, path: str, count: int
) -> None:
    with Datapath.open(crowded) as datapath:
        attach(datapath, path)
        with Stream(topology) as stream:
            change(datapath, count)
        assert stream.unharmed()
        assert datapath.lookup(0, 4, host(QUEUES + 1)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("path", ROLES)
def test_a_class_that_moves_keeps_clock_and_counters_and_loses_nothing(
    topology: Topology, crowded: Path, path: str
) -> None:
    with Datapath.open(crowded) as datapath, Loaded(datapath) as loaded:
        attach(datapath, path)
        with Stream(topology) as stream:
            seen = [loaded.clock_tk(WATCHED, UPLOAD)]
            for move in range(200):
                parent = (NEW_PARENT, OLD_PARENT)[move % 2]
                datapath.write_classes([(WATCHED, ClassRecord(WATCHED, parent, LINE, LINE))])
                seen.append(loaded.clock_tk(WATCHED, UPLOAD))
        assert stream.unharmed()
        assert seen == sorted(seen)
        assert seen[0] > 0
        assert loaded.counters(WATCHED, UPLOAD)["packets"] == stream.sent
        assert loaded.counters(WATCHED, DOWNLOAD)["packets"] == 0
        fast_share = (
            loaded.counters(WATCHED, UPLOAD)["fast_bytes"] / loaded.counters(WATCHED, UPLOAD)["bytes"]
        )
        assert fast_share > 0.9 if path == "fast path" else fast_share == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", ROLES)
def test_new_programs_take_over_without_a_packet_lost(topology: Topology, crowded: Path, path: str) -> None:
    with Datapath.open(crowded) as datapath:
        attach(datapath, path)
    with Stream(topology) as stream:
        for _ in range(3):
            with Datapath.open(crowded) as datapath:
                poke_meta(datapath, "<Q", META_PROGRAM, 1)  # as if another build had loaded them
            with Datapath.open(crowded) as datapath:
                assert datapath.reused == "upgraded"
    assert stream.unharmed()
