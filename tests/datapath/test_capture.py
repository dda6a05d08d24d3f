# SPDX-License-Identifier: Apache-2.0
"""A capture sees what the fast path forwards, within its filter and bounds, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lab.process import PATIENCE
from tests.datapath import bpf_run
from tests.datapath.fast_router import OWN_MAC, PEER_MAC, SLOT, Fast
from tests.datapath.test_torch import PORT, peers, sends
from tests.datapath.topology import CLIENT, CLIENT6, SERVER, SERVER6, Topology
from tests.pcapng_file import seen
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.agent.captured import note_of, seat_of
from weir.probes.fast_frames import FastFrames
from weir.probes.pcapng import INBOUND, OUTBOUND, Packet
from weir.tools.capture import CAPTURE, MAPS, Capture

__all__ = ["peers"]  # a fixture
SENT = 50
SECONDS = 3 * PATIENCE
ON = frozenset({"lan0", "wan0"})
MACS = bytes.fromhex((PEER_MAC + OWN_MAC).replace(":", ""))
NO_TYPES = "mount --bind /dev/null /sys/kernel/btf/vmlinux; "


@contextmanager
def frames(datapath: Datapath, interface: str, **asked: Any) -> Iterator[FastFrames]:
    maps = [datapath.map_fd(name) for name in MAPS]
    made = FastFrames(datapath.library, Capture(interface, **asked), maps)
    try:
        yield made
    finally:
        made.close()
        for descriptor in maps:
            os.close(descriptor)


def is_ours(data: bytes) -> bool:
    """And not what the stations' kernels send whenever they like."""
    return 17 in (data[23] if data[12:14] == b"\x08\x00" else data[20],)


def read(made: FastFrames, count: int) -> list[Packet]:
    found: list[Packet] = []

    def has_come() -> bool:
        found.extend(packet for packet in made.read() if is_ours(packet.data))
        return len(found) >= count

    until("they are read", has_come)
    return found


@pytest.mark.parametrize(("here", "there", "headers"), [(CLIENT, SERVER, 42), (CLIENT6, SERVER6, 62)])
def test_packets_of_both_ways_are_seen_as_they_leave(
    fast: Fast, peers: Topology, here: str, there: str, headers: int
) -> None:
    fast.loaded.limit(SLOT, 0)
    with frames(fast.loaded.datapath, "lan0", packet_bytes=64) as made:
        sends(peers.client, here, there, count=SENT)
        sends(peers.server, there, here, size=200, count=SENT)
        found = read(made, 2 * SENT)
    assert [packet.way for packet in found] == [INBOUND] * SENT + [OUTBOUND] * SENT
    assert {(packet.length, len(packet.data)) for packet in found[:SENT]} == {(72 + headers, 64)}
    assert {(packet.length, len(packet.data)) for packet in found[SENT:]} == {(200 + headers, 64)}
    assert {packet.data[:12] for packet in found} == {MACS}, "already those that they leave with"
    assert sorted(packet.at_ns for packet in found) == [packet.at_ns for packet in found]


@pytest.mark.parametrize(
    ("asked", "versions"),
    [
        ({}, {4, 6}),
        ({"network": f"{CLIENT}/32"}, {4}),
        ({"network": "198.51.100.0/24", "port": PORT}, {4}),
        ({"network": "198.51.101.0/24"}, set()),
        ({"network": "0.0.0.0/0", "protocol": "udp"}, {4}),
        ({"network": f"{SERVER6}/128"}, {6}),
        ({"network": "2001:db8:64::/48", "port": 4000}, {6}),
        ({"network": "2001:db8:101::/48"}, set()),
        ({"network": "::/0", "port": PORT}, {6}),
        ({"protocol": "udp"}, {4, 6}),
        ({"protocol": "udp", "port": PORT + 1}, set()),
        ({"protocol": "tcp"}, set()),
        ({"protocol": "icmp"}, set()),
        ({"port": PORT}, {4, 6}),
    ],
)
def test_the_filter_means_on_the_fast_path_what_it_means_in_the_stack(
    fast: Fast, peers: Topology, asked: dict[str, Any], versions: set[int]
) -> None:
    fast.loaded.limit(SLOT, 0)
    datapath = fast.loaded.datapath
    with frames(datapath, "lan0") as every, frames(datapath, "lan0", **asked) as chosen:
        for here, there in ((CLIENT, SERVER), (CLIENT6, SERVER6)):
            sends(peers.client, here, there, count=SENT)
        read(every, 2 * SENT)
        found = [packet for packet in chosen.read() if is_ours(packet.data)]
    assert sorted(packet.data[14] >> 4 for packet in found) == sorted(SENT * list(versions))


def test_only_what_the_interface_has_is_seen(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    with frames(fast.loaded.datapath, "lo") as other, frames(fast.loaded.datapath, "wan0") as made:
        sends(peers.client, CLIENT, SERVER, count=SENT)
        assert {packet.way for packet in read(made, SENT)} == {OUTBOUND}
        assert (other.read(), other.sums()) == ([], (0, 0, 0))


def test_what_finds_no_room_is_counted_and_forwarded_all_the_same(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    sent = 8000
    with frames(fast.loaded.datapath, "lan0", network=f"{CLIENT}/32", packet_bytes=1536) as made:
        sends(peers.client, CLIENT, SERVER, count=sent)
        until("all have come", lambda: made.sums().seen == sent)
        sums, kept = made.sums(), 0
        assert (sums.lost, sums.dropped > 1000) == (0, True)
        while packets := made.read():
            kept += len(packets)
        assert kept == sent - sums.dropped
        sends(peers.client, CLIENT, SERVER, count=SENT)
        assert len(read(made, SENT)) == SENT, "there is room again"
        assert made.sums().dropped == sums.dropped


@contextmanager
def running(datapath: Datapath, before: str = "", **asked: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a run with its seat, as the agent starts it; it has begun its file."""
    arguments = Capture(**asked)
    words = [sys.executable, "-m", "weir.probes", "capture", json.dumps(CAPTURE.to_json(arguments))]
    quoted = " ".join(f"'{word}'" for word in (*words, note_of(arguments, ON), str(os.getpid())))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    maps = tuple(datapath.map_fd(name) for name in MAPS)
    seat = seat_of(arguments, datapath.library, ON, datapath.attached(), maps)
    socket.send_fds(ours, [seat.told], list(maps))
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"{before}exec {quoted}"], stdin=theirs, stdout=subprocess.PIPE
    )
    with ours, theirs, seat, process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def begun(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    first = os.read(process.stdout.fileno(), 4096)
    assert first.startswith(struct.pack("=I", 0x0A0D0D0A)), first
    return first


def asks(peers: Topology) -> None:
    """Two questions to the router, whose answers nobody takes: they are for PEER_MAC."""
    peers.client.begin("ping", "-c2", "-i0.01", "-W0.1", "10.64.0.1").communicate()


def test_a_file_has_both_paths_in_the_order_of_their_times(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    with running(fast.loaded.datapath, interface="lan0", seconds=SECONDS, network=f"{CLIENT}/32") as process:
        first = begun(process)
        for _ in range(5):
            sends(peers.client, CLIENT, SERVER, count=10)
            asks(peers)
        assert process.stdout is not None
        found = seen(first + process.stdout.read())
    assert "it is on at lan0, wan0." in found.comment and "shown as they leave" in found.comment
    assert "what comes in here from it by the fast path is NOT found" in found.comment
    forwarded = [packet for packet in found.packets if packet[1] == "fast path"]
    assert [packet[2][12:14] + packet[2][23:24] for packet in forwarded] == [b"\x08\x00\x11"] * 50
    assert {packet[0] for packet in forwarded} == {INBOUND}
    by_stack = [packet for packet in found.packets if packet[1] == ""]
    echoes = [packet for packet in by_stack if packet[2][12:14] == b"\x08\x00" and packet[2][23] == 1]
    assert sorted(packet[0] for packet in echoes) == [INBOUND] * 10 + [OUTBOUND] * 10
    times = [packet[3] for packet in found.packets]
    assert times == sorted(times)
    assert found.statistics == (len(found.packets), 0)


def test_a_full_ring_is_told_in_the_statistics(fast: Fast, peers: Topology) -> None:
    """While nobody reads the file, a pipe's worth of it is written."""
    fast.loaded.limit(SLOT, 0)
    asked = {"network": f"{CLIENT}/32", "packet_bytes": 1536, "most_bytes": 50_000_000}
    with running(fast.loaded.datapath, interface="lan0", seconds=SECONDS, **asked) as process:
        first = begun(process)
        sends(peers.client, CLIENT, SERVER, count=8000)
        assert process.stdout is not None
        found = seen(first + process.stdout.read())
    received, dropped = found.statistics
    assert received >= 8000 and dropped > 1000
    assert len(found.packets) == received - dropped


def test_a_run_that_is_killed_leaves_no_program_behind(fast: Fast, peers: Topology) -> None:
    with running(fast.loaded.datapath, interface="lan0", seconds=60) as process:
        begun(process)
        facts = [path.read_text() for path in Path(f"/proc/{process.pid}/fdinfo").iterdir()]
        numbers = [re.search(r"^prog_id:\s+(\d+)", text, re.MULTILINE) for text in facts if "link_id" in text]
        (number,) = [int(found[1]) for found in numbers if found]
        assert bpf_run.has_program(number)
        os.kill(process.pid, signal.SIGKILL)
        until("the kernel has forgotten it", lambda: not bpf_run.has_program(number))


def test_a_kernel_without_types_of_its_own_is_told_and_the_rest_is_there(fast: Fast, peers: Topology) -> None:
    fast.loaded.limit(SLOT, 0)
    asked = {"network": f"{CLIENT}/32", "protocol": "icmp"}
    with running(fast.loaded.datapath, NO_TYPES, interface="lan0", seconds=SECONDS, **asked) as process:
        first = begun(process)
        asks(peers)
        assert process.stdout is not None
        found = seen(first + process.stdout.read())
    assert "What the fast path forwards is NOT here: this kernel does not show" in found.comment
    assert [packet[1] for packet in found.packets] == [""] * 4
