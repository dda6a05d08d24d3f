# SPDX-License-Identifier: Apache-2.0
"""Inside the virtual machine: how long a SYN looks for its listener, as listeners get more.

    python -m tests.kernel.guest.listeners COUNT...

Opens COUNT sockets that listen on one port and as many addresses of the loopback network, and prints a line
of JSON: buckets of the table, and for each COUNT the median and the worst time of a lookup in ns, of SYNs to
listeners all over the list and of SYNs to addresses where nobody listens.
"""

from __future__ import annotations

import ctypes
import ipaddress
import json
import os
import resource
import socket
import statistics
import struct
import subprocess
import sys
from pathlib import Path

from tests.datapath.bpf_run import bpf, run

PORT = 8443
FIRST = ipaddress.IPv4Address("127.1.0.1")
CLOSED = ipaddress.IPv4Address("127.200.0.1")
PROBES, REPEAT = 65, 200
OBJ_GET = 7
PINNED = "/sys/fs/bpf/listener_lookup"
TABLE = Path("/proc/sys/net/ipv4/tcp_listen_hash_entries")


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(counts) + 100, max(counts) + 100))
    program = load()
    opened: list[socket.socket] = []
    rows = []
    for count in counts:
        while len(opened) < count:
            opened.append(listener(FIRST + len(opened)))
        rows.append(
            {
                "listeners": count,
                "open_ns": times(program, [FIRST + count * n // PROBES for n in range(PROBES)], found=1),
                "closed_ns": times(program, [CLOSED + n for n in range(PROBES)], found=0),
            }
        )
    buckets = int(TABLE.read_text()) if TABLE.exists() else None
    print(json.dumps({"buckets": buckets, "rows": rows}))


def load() -> int:
    """Compile, load and pin the program; its descriptor."""
    source = Path(__file__).with_name("listener_lookup.bpf.c")
    compiled = Path("/tmp/listener_lookup.bpf.o")
    include = "/usr/include/x86_64-linux-gnu"
    subprocess.run(
        ["clang", "-O2", "-g", "-target", "bpf", f"-I{include}", "-c", str(source), "-o", str(compiled)],
        check=True,
    )
    subprocess.run(["bpftool", "prog", "load", str(compiled), PINNED, "type", "classifier"], check=True)
    path = ctypes.create_string_buffer(PINNED.encode())
    return bpf(OBJ_GET, bytearray(struct.pack("<QII", ctypes.addressof(path), 0, 0)))


def listener(address: ipaddress.IPv4Address) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.bind((str(address), PORT))
    made.listen(1)
    return made


def times(program: int, addresses: list[ipaddress.IPv4Address], *, found: int) -> dict[str, float]:
    """Median and worst of the addresses, each the kernel's own mean over many runs."""
    measured = []
    for address in addresses:
        done = run(program, syn(address), repeat=REPEAT)
        if done.verdict != found:
            raise RuntimeError(f"the lookup of {address} returned {done.verdict}, not {found}")
        measured.append(done.duration_ns)
    return {"median": statistics.median(measured), "worst": max(measured)}


def syn(address: ipaddress.IPv4Address) -> bytes:
    ethernet = bytes(12) + struct.pack(">H", 0x0800)
    addresses = ipaddress.IPv4Address("127.0.0.1").packed + address.packed
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, 0, 64, socket.IPPROTO_TCP, 0) + addresses
    tcp = struct.pack(">HHIIBBHHH", 40000, PORT, 1, 0, 5 << 4, 0x02, 65535, 0, 0)
    return ethernet + ip + tcp


if __name__ == "__main__":
    main()
    # Closing 65,536 sockets one by one is of no use: the machine is switched off next.
    sys.stdout.flush()
    os._exit(0)
