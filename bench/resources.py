# SPDX-License-Identifier: Apache-2.0
"""What the control plane costs while it runs: live streams, memory, kernel tables."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from pathlib import Path

from bench.rows import Row
from lab import netns, router
from tests.router import Router

CLOCK_TICKS_PER_S = 100
ROUNDS = 5


def streams(target: Router, browsers: int = 20, seconds: float = 5.0) -> Row:
    """Processor share of the API while browsers watch 100 queues each, above its share without them."""
    items = target.api.call("GET", "/queues?limit=1000")["items"]
    pid = target.pid_of("api")
    assert pid is not None
    shares = []
    for _ in range(ROUNDS):
        idle = cpu_share(pid, seconds / 2)
        open_streams = [
            open_stream(target, [item["id"] for item in items[n * 50 % 900 :][:100]]) for n in range(browsers)
        ]
        try:
            drain(open_streams, 2.0)
            before_s, begun_s = cpu_seconds(pid), time.monotonic()
            drain(open_streams, seconds)
            used = (cpu_seconds(pid) - before_s) / (time.monotonic() - begun_s)
        finally:
            for stream in open_streams:
                stream.close()
        shares.append(max(used - idle, 0.0))
    what = "20 browsers watching 100 queues each: share of one core"
    return Row.of("sse-20-core", what, "core", shares)


def open_stream(target: Router, ids: list[str]) -> socket.socket:
    host, port = target.api.url.removeprefix("http://").split(":")
    stream = socket.create_connection((host, int(port)), timeout=10)
    request = (
        f"GET /api/v1/stats/stream?topics=queues&ids={','.join(ids)} HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {target.api.token}\r\nAccept: text/event-stream\r\n\r\n"
    )
    stream.sendall(request.encode())
    first = stream.recv(65536)
    if b" 200 " not in first.split(b"\r\n", 1)[0]:
        raise netns.LabError(f"the stream was refused: {first[:300]!r}")
    stream.setblocking(False)
    return stream


def drain(sources: list[socket.socket], seconds: float) -> None:
    """Read and drop what the streams say, for that long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for source in sources:
            try:
                source.recv(1 << 20)
            except BlockingIOError:
                continue
        time.sleep(0.05)


def cpu_seconds(pid: int) -> float:
    """Processor time so far of a process and its descendants."""
    total = 0
    for entry in [pid, *descendants(pid)]:
        fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / CLOCK_TICKS_PER_S


def cpu_share(pid: int, seconds: float) -> float:
    before_s, begun_s = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before_s) / (time.monotonic() - begun_s)


def descendants(pid: int) -> list[int]:
    """Children of children too; what a thread or process that has just ended would have had is left out."""
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                for word in (task / "children").read_text().split():
                    found += [int(word), *descendants(int(word))]
    return found


def memory(target: Router) -> Row:
    """Resident memory of API and agent, a page that several processes share counted once (PSS).

    What the agent has mapped of the kernel's maps is in it, though `kernel_memory` counts that as well."""
    sums_mb = []
    for _ in range(ROUNDS):
        total_kib = 0
        for service in ("agent", "api"):
            pid = target.pid_of(service)
            assert pid is not None
            total_kib += sum(proportional_kib(entry) for entry in own_processes(pid))
        sums_mb.append(total_kib * 1024 / 1e6)
        target.api.call("GET", "/queues?limit=1000")
    what = "agent and API together with 100,000 queues, in tables of 131,072 slots"
    return Row.of("rss-100k", what, "MB", sums_mb)


def own_processes(pid: int) -> list[int]:
    """A process and its descendants that run the same program, as the agent's that reads the store. Daemons
    are not among them, which the lab's agent starts in the place of systemd."""
    own = program(pid)
    return [pid, *(entry for entry in descendants(pid) if program(entry) == own)]


def program(pid: int) -> str:
    """What a process runs; "" for one that has ended."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def proportional_kib(pid: int) -> int:
    """0 for a process that has ended, as a command of the agent's may have."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


LOOKUP_MAPS = {"weir_prefix4", "weir_prefix6", "weir_v4"}
ROUTE_MAPS = {"weir_hops", "weir_hop_state", "weir_regions"}
"""What the fast path keeps of routes: so much for each processor, however many queues there are."""


def kernel_memory(queues: int) -> list[Row]:
    """What the kernel charges for the datapath's pinned maps, over the number of queues."""
    state, lookup = [], []
    for _ in range(ROUNDS):
        sizes = {path.name: map_bytes(path) for path in router.PIN_FOLDER.rglob("*")}
        found = sum(size for name, size in sizes.items() if name in LOOKUP_MAPS)
        routes = sum(size for name, size in sizes.items() if name in ROUTE_MAPS)
        lookup.append(found / queues)
        state.append((sum(sizes.values()) - found - routes) / queues)
    what = f"with {queues:,} queues of two prefixes, both directions, in tables of 131,072 slots"
    return [
        Row.of(
            "kernel-bytes-per-queue", f"kernel memory of a queue without lookup tables, {what}", "bytes",
            state,
        ),
        Row.of(
            "lookup-bytes-per-queue", f"lookup tables of both families for a queue, {what}", "bytes", lookup,
        ),
    ]  # fmt: skip


def map_bytes(pin: Path) -> int:
    """The memlock of a pinned map; 0 for a pin that is no map."""
    try:
        shown = json.loads(netns.run(["bpftool", "-j", "map", "show", "pinned", str(pin)]))
    except (netns.LabError, ValueError):
        return 0
    return int(shown.get("bytes_memlock", 0))
