# SPDX-License-Identifier: Apache-2.0
"""A client and a server 20 ms apart, one class for the client's network, and what reaches the client.

The router is the calling process's network namespace; the peers are `tests.datapath.topology`'s. They send
packets of one MTU (no segmentation offload), as a network does.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import subprocess
import time
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType

from tests.datapath import packets as p
from tests.datapath.topology import CLIENT, Topology, run
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord
from weir.adapters.share_controller import ShareController
from weir.adapters.subqueue_records import SubqueuesRecord
from weir.adapters.tc import fq_lines

SLOT = 3
MEGABIT = 1_000_000
ROUND_TRIP_MS = 20
LIMIT_MS = 50
BACKLOG_SIZE = 32
SPENT_TK = 1 << 62
"""A time that does not come: the class has nothing left for sparse flows."""

BULK_SEND = """
import os, selectors, socket, sys, time
address, flows, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
waiting = selectors.DefaultSelector(); data = bytes(65536)
for _ in range(flows):
    flow = socket.create_connection((address, 5100)); flow.setblocking(False)
    waiting.register(flow, selectors.EVENT_WRITE)
end = time.monotonic() + seconds
while time.monotonic() < end:
    for key, _ in waiting.select(0.2):
        try: key.fileobj.send(data)
        except OSError: pass
os._exit(0)
"""

BULK_RECEIVE = """
import selectors, socket, sys, time
warm_s, window_s = float(sys.argv[1]), float(sys.argv[2])
listener = socket.socket(); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("", 5100)); listener.listen(64); listener.setblocking(False)
waiting = selectors.DefaultSelector(); waiting.register(listener, selectors.EVENT_READ)
print("ready", flush=True)
begin = None; count = 0
while begin is None or time.monotonic() < begin + warm_s + window_s:
    for key, _ in waiting.select(0.2):
        if key.fileobj is listener:
            flow, _ = listener.accept(); flow.setblocking(False)
            waiting.register(flow, selectors.EVENT_READ); begin = begin or time.monotonic(); continue
        try: got = len(key.fileobj.recv(1 << 18))
        except OSError: continue
        if not got: waiting.unregister(key.fileobj)
        elif time.monotonic() >= begin + warm_s: count += got
print(count * 8 / window_s)
"""

SEND = """
import heapq, json, socket, struct, sys, time
flows = json.loads(sys.argv[1]); own = []; sent = [0] * len(flows); begin = time.monotonic(); due = []
for number, (address, rate_ps, seconds, size) in enumerate(flows):
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); flow.connect((address, 5200 + number))
    own.append(flow); due.append((begin, number))
while due:
    at, number = heapq.heappop(due); address, rate_ps, seconds, size = flows[number]
    time.sleep(max(0.0, at - time.monotonic()))
    try: own[number].send(struct.pack("<IQ", sent[number], time.time_ns()) + bytes(size - 12))
    except OSError: pass
    sent[number] += 1
    if at + 1 / rate_ps < begin + seconds: heapq.heappush(due, (at + 1 / rate_ps, number))
print(json.dumps(sent))
"""

LISTEN = """
import json, selectors, socket, struct, sys
flows = json.loads(sys.argv[1]); waiting = selectors.DefaultSelector(); rows = [[] for _ in flows]
for number, (address, *_) in enumerate(flows):
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    own.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    own.bind((address, 5200 + number)); waiting.register(own, selectors.EVENT_READ, number)
print("ready", flush=True)
while (found := waiting.select(1.0)) or not any(rows):
    for key, _ in found:
        data, control, _, _ = key.fileobj.recvmsg(2048, 64)
        number, sent_ns = struct.unpack_from("<IQ", data); seconds, ns = struct.unpack("@qq", control[0][2])
        rows[key.data].append((number, sent_ns, seconds * 10**9 + ns, len(data) + 28))
print(json.dumps(rows))
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """What became of one UDP flow. Delays are those above the idle path's."""

    sent: int
    arrived: list[tuple[int, int, int, int]]
    """(number, sent_ns, arrived_ns, IP bytes)"""

    @property
    def lost(self) -> int:
        return self.sent - len({number for number, *_ in self.arrived})

    @property
    def overtaken(self) -> int:
        """How many arrived after one that was sent later."""
        numbers = [number for number, *_ in self.arrived]
        return sum(later < earlier for earlier, later in pairwise(numbers))

    def added_delay_ms(self, share: float) -> float:
        delays = sorted(arrived - sent for _, sent, arrived, _ in self.arrived)
        return delays[min(len(delays) - 1, int(len(delays) * share))] / 1e6 - ROUND_TRIP_MS

    def rate_bps(self, from_s: float, to_s: float) -> float:
        """Of what arrived between these times after the first packet."""
        begin_ns = self.arrived[0][2] + from_s * 1e9
        end_ns = self.arrived[0][2] + to_s * 1e9
        inside = [size for _, _, at, size in self.arrived if begin_ns <= at < end_ns]
        return sum(inside) * 8 / (to_s - from_s)


class Rig:
    def __init__(self) -> None:
        self.topology = Topology()
        self.client, self.server = self.topology.client, self.topology.server
        for peer in (self.client, self.server):
            for feature in ("tso", "gso", "gro"):
                peer.run("ethtool", "-K", "far0", feature, "off")
        delay = ["netem", "delay", f"{ROUND_TRIP_MS}ms", "limit", "10000"]
        self.server.run("tc", "qdisc", "replace", "dev", "far0", "root", *delay)
        self.datapath = Datapath.open(None, capacity=4096)
        self.datapath.change_prefixes([(0, 4, p.value4("10.64.0.0"), 24, SLOT)])
        self.sharing = ShareController(self.datapath)
        for line in fq_lines("lan0", 2):
            run("tc", *line.split())
        self.datapath.attach("lan0", mode="edt")

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sharing.stop()
        self.datapath.close()
        self.topology.__exit__(kind, error, trace)

    def limit(self, rate_bps: int, subqueues: SubqueuesRecord | None = None, *, sparse: bool = True) -> None:
        """The client's network as one class, from nothing. Without `sparse` no flow passes others."""
        line = LineRecord.of(rate_bps, 4 * 1514, LIMIT_MS * MEGABIT, subqueues=subqueues)
        self.datapath.clear_class(SLOT)
        self.datapath.write_classes([(SLOT, ClassRecord(SLOT, 0, line, line))])
        fd = self.datapath.map_fd("weir_waits")
        with mmap.mmap(fd, 8192 * BACKLOG_SIZE) as waits:
            struct.pack_into("<Q", waits, (SLOT * 2 + 1) * BACKLOG_SIZE, 0 if sparse else SPENT_TK)
        os.close(fd)

    def add_hosts(self, count: int) -> list[str]:
        addresses = [f"10.64.0.{10 + number}" for number in range(count)]
        for address in addresses:
            self.client.run("ip", "address", "replace", f"{address}/24", "dev", "far0")
        return addresses

    def streams(self, flows: list[tuple[str, float, float, int]]) -> list[Stream]:
        """UDP to the client, all at once: (address, packets per second, seconds, payload bytes)."""
        described = json.dumps(flows)
        listening = self.client.start(LISTEN, described)
        ready(listening)
        sent = json.loads(self.server.start(SEND, described).communicate(timeout=120)[0])
        arrived = json.loads(listening.communicate(timeout=120)[0])
        return [Stream(*both) for both in zip(sent, arrived, strict=True)]

    def call_beside_downloads(self, flows: int, seconds: float) -> tuple[Stream, float]:
        """A 50 packet/s call beside so many bulk TCP flows, and their goodput in bit/s."""
        warm_s = 3.0
        receiving = self.client.start(BULK_RECEIVE, warm_s, seconds)
        ready(receiving)
        sending = self.server.start(BULK_SEND, CLIENT, flows, warm_s + seconds + 2)
        time.sleep(warm_s)
        (call,) = self.streams([(CLIENT, 50, seconds, 160)])
        goodput_bps = float(receiving.communicate(timeout=120)[0])
        sending.kill()
        sending.communicate()
        return call, goodput_bps


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
