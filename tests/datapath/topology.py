# SPDX-License-Identifier: Apache-2.0
"""Client - router - server: the router is the test's own network namespace, the peers are two more.

The peers' namespaces have no names and live as long as a process each, so nothing is left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.nearest import nearest

CLIENT, SERVER, PUBLIC = "10.64.0.2", "198.51.100.2", "198.51.100.1"
CLIENT6, SERVER6 = "2001:db8:64::2", "2001:db8:100::2"

# Real-time scheduling: a sender that is late by more than the policer's burst sends less than the limit.
RECEIVE = """
import json, os, socket, sys, time
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
family, port, warm_s, window_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
s = socket.socket(family, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
s.bind(("", port)); s.settimeout(5.0)
print("ready", flush=True)
first = now = None; size = packets = 0; begin = None
while begin is None or now < begin + warm_s + window_s:
    data, sender = s.recvfrom(65535); now = time.monotonic()
    begin = now if begin is None else begin
    if now < begin + warm_s: continue
    if first is None: first = now; continue
    size += len(data); packets += 1
print(json.dumps({"seconds": now - first, "bytes": size, "packets": packets, "sender": sender[0]}))
"""

SEND = """
import os, socket, sys, time
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
address, source, seconds = sys.argv[1], sys.argv[6], float(sys.argv[5])
port, size, rate_bps = map(int, sys.argv[2:5])
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
s.bind((source, 0)); s.connect((address, port))
gap = size * 8 / rate_bps; begin = time.monotonic(); sent = 0; data = bytes(size)
while (now := time.monotonic()) < begin + seconds:
    due = min(int((now - begin) / gap), sent + 64)
    for _ in range(due - sent):
        try: s.send(data)
        except OSError: pass
    sent = due
    time.sleep(min(gap, 0.001))
"""


def run(*words: str) -> str:
    """A command in the router. Its error text is in the exception's notes."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def run_batch(lines: list[str], inside: Sequence[str] = ()) -> None:
    """Commands of `ip`, by one process: in an emulated machine each takes a tenth of a second."""
    words = [*inside, "ip", "-batch", "-"]
    done = subprocess.run(words, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{'; '.join(lines)}: {done.stderr}"


def _held(addresses: list[str], device: str) -> list[str]:
    """What gives a device these addresses; those of IPv6 are in use at once."""
    return [
        f"address add {address} dev {device}{' nodad' if ':' in address else ''}" for address in addresses
    ]


class Peer:
    """A namespace on the other end of a veth pair."""

    def __init__(
        self, near: str, near_addresses: list[str], addresses: list[str], gateways: list[str]
    ) -> None:
        self.near = near
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo up; exec sleep infinity"], stdout=-1
        )
        assert self._holder.stdout is not None and self._holder.stdout.readline() == b"up\n"
        ends = f"{near} numtxqueues 2 numrxqueues 2 type veth peer name far0 netns {self._holder.pid}"
        run_batch([f"link add {ends}", f"link set {near} up", *_held(near_addresses, near)])
        routes = [f"route add default via {gateway}" for gateway in gateways]
        self.run_batch(["link set lo up", "link set far0 up", *_held(addresses, "far0"), *routes])

    def _inside(self, *words: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", *words]

    def run(self, *words: str) -> str:
        return run(*self._inside(*words))

    def run_batch(self, lines: list[str]) -> None:
        run_batch(lines, self._inside())

    def name(self, name: str) -> None:
        """Give the namespace a name, for those who enter it by name; `ip netns del` takes it away."""
        run("ip", "netns", "attach", name, str(self._holder.pid))

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A command in the peer's namespace that goes on beside the test."""
        return subprocess.Popen(self._inside(*words), stdout=subprocess.PIPE, text=True)

    def start(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        """Python code, in the peer's namespace, with pipes for its input and output."""
        words = [sys.executable, "-I", "-S", "-c", program, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(self._inside(*words), stdin=pipe, stdout=pipe, text=True)

    def close(self) -> None:
        subprocess.run(["ip", "link", "del", self.near], check=False, capture_output=True)
        self._holder.kill()
        self._holder.wait()


class Topology:
    """`lan0` towards the client and `wan0` towards the server, forwarding on."""

    def __init__(self) -> None:
        for name in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            Path("/proc/sys/net", name).write_text("1")  # of this thread's namespace
        self.client = Peer(
            "lan0",
            ["10.64.0.1/24", "2001:db8:64::1/64"],
            [f"{CLIENT}/24", f"{CLIENT6}/64"],
            ["10.64.0.1", "2001:db8:64::1"],
        )
        self.server = Peer(
            "wan0",
            [f"{PUBLIC}/24", "2001:db8:100::1/64"],
            [f"{SERVER}/24", f"{SERVER6}/64"],
            [PUBLIC, "2001:db8:100::1"],
        )

    def __enter__(self) -> Topology:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.server.close()


def udp_rate_bps(
    source: Peer,
    target: Peer,
    source_address: str,
    address: str,
    offered_bps: int,
    *,
    size: int = 1000,
    window_s: float = 2.0,
) -> tuple[float, str]:
    """(IP-level rate that arrives, address it comes from) of UDP with `size` bytes of payload."""
    family, headers = (10, 48) if ":" in address else (2, 28)
    warm_s = 0.5
    receiver = target.start(RECEIVE, family, 5001, warm_s, window_s)
    assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
    sender = source.start(SEND, address, 5001, size, offered_bps, warm_s + window_s + 1.0, source_address)
    output, _ = receiver.communicate(timeout=30)
    sender.kill()
    sender.communicate()
    found = json.loads(output)
    return (found["bytes"] + headers * found["packets"]) * 8 / found["seconds"], found["sender"]


def fullest_rate_bps(
    source: Peer, target: Peer, source_address: str, address: str, limit_bps: int, *, size: int = 1000
) -> tuple[float, str]:
    """`udp_rate_bps` of half as much again as the limit, of up to three times the one nearest to it."""
    offered_bps = limit_bps * 3 // 2
    return nearest(
        limit_bps,
        lambda: udp_rate_bps(source, target, source_address, address, offered_bps, size=size),
        lambda found: found[0],
    )
