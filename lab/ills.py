# SPDX-License-Identifier: Apache-2.0
"""What makes a router ill as E1 to E5 of docs/diagnosis.md tell, each until the end of a block: for tests,
and for `python -m bench.illnesses`."""

from __future__ import annotations

import ctypes
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from lab import netns, process

CROWD = 8_000
"""Sockets on one address and port, as E4 had nearly."""
PORT = 7000
FILTERS = 2_000
"""What each packet is compared with while the root's lock is held."""
LOCKED, LOCKED_ADDRESS = "held0", "192.0.2.1/24"
"""The port of `locked_port`."""
SCANNED = "100.64.0.0/10"
MANY = 1_000_000
BURST = 15
_libc = ctypes.CDLL(None)

_LISTEN = """
import resource, socket, sys, time
count, address, port, device = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (20_000, 20_000))
held = []
for _ in range(int(count)):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    one.bind((address, int(port))); one.listen(1); held.append(one)
print("ready", flush=True); time.sleep(3600)
"""
_BURSTS = """
import os, socket, sys, time
os.sched_setaffinity(0, {0})
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
while True:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.setblocking(False); one.connect_ex((address, port))
    for one in held:
        one.close()
    time.sleep(0.012)
"""
_PACED = """
import os, socket
os.sched_setaffinity(0, {1})
one = socket.socket(type=socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    one.sendto(bytes(1000), ("192.0.2.2", 9))
"""
_MESSAGES = """
import ctypes, os, socket, sys, time
class Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = [("words", ctypes.c_uint64 * 8)]
payload = ctypes.create_string_buffer(10)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(payload), 10)
many = (Message * 256)()
for message in many:
    message.words[2], message.words[3] = ctypes.addressof(vector), 1
send = ctypes.CDLL(None).sendmmsg
one = socket.socket(type=socket.SOCK_DGRAM)
"""
_AT_ONE_LOCK = (
    _MESSAGES
    + """
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # at once, also where others use the machine
one.connect(("192.0.2.2", 9))
print("ready", flush=True)
while True:
    late_s = time.monotonic() % 0.05
    if late_s > 0.02:
        time.sleep(0.05 - late_s)
    send(one.fileno(), many, 256, 0)
"""
)
_SCAN = (
    _MESSAGES
    + """
import ipaddress, random
network = ipaddress.ip_network(sys.argv[2])
one.bind((sys.argv[1], 0))
names = (ctypes.c_uint8 * (16 * 256))()
for number, message in enumerate(many):
    message.words[0], message.words[1] = ctypes.addressof(names) + 16 * number, 16
chance = random.Random(5)
print("ready", flush=True)
while True:
    for number in range(256):
        host = network[chance.randrange(network.num_addresses)].packed
        names[16 * number : 16 * number + 8] = b"\\2\\0" + (1024 + number).to_bytes(2, "big") + host
    send(one.fileno(), many, 256, 0)
    time.sleep(0.005)
"""
)


@contextmanager
def program(namespace: str, text: str, *arguments: str) -> Iterator[None]:
    """A Python program that says `ready` when it does its work, until the end of the block or of this
    process. Raises LabError with its own words when it cannot."""

    def enter() -> None:
        _libc.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
        netns.enter(namespace)

    command = [sys.executable, "-c", text, *arguments]
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=enter
    )
    with started:
        try:
            assert started.stdout and started.stderr
            if started.stdout.readline().strip() != b"ready":
                raise netns.LabError(started.stderr.read().decode(errors="replace").strip())
            yield
        finally:
            started.kill()


# -- E1 ------------------------------------------------------------------------------------------------


def scanner(namespace: str, source: str, network: str = SCANNED) -> AbstractContextManager[None]:
    """A packet to each of very many hosts of a network, some 40,000 a second."""
    return program(namespace, _SCAN, source, network)


# -- E2 ------------------------------------------------------------------------------------------------


@contextmanager
def locked_port(router: str) -> Iterator[None]:
    """A port with four queues, of which nothing is behind it."""
    made = [
        f"link add {LOCKED} numtxqueues 4 type veth peer held1",
        f"addr add {LOCKED_ADDRESS} dev {LOCKED}",
        f"link set {LOCKED} up",
        "link set held1 up",
        f"neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev {LOCKED}",
    ]
    netns.ip(router, made)
    try:
        yield
    finally:
        netns.ip(router, [f"link delete {LOCKED}"])


def long_root(router: str) -> None:
    """One root with one lock, and so many filters under it that the lock is held for long."""
    port = f"dev {LOCKED}"
    made = [f"qdisc replace {port} root handle 1: htb default 1"]
    made.append(f"class add {port} parent 1: classid 1:1 htb rate 10gbit quantum 60000")
    head = f"filter add {port} parent 1: protocol ip prio 1 u32 match ip dst"
    made += [f"{head} 198.51.{number >> 8}.{number & 255} flowid 1:1" for number in range(FILTERS)]
    netns.run(["tc", "-n", router, "-batch", "-"], stdin="\n".join(made) + "\n")


@contextmanager
def lock_senders(router: str) -> Iterator[None]:
    """One for each of two cores, as fast as they can for the same 20 of each 50 ms."""
    with ExitStack() as stack:
        for core in ("0", "1"):
            stack.enter_context(program(router, _AT_ONE_LOCK, core))
        yield


# -- E3 and E4 -----------------------------------------------------------------------------------------


def listeners(router: str, address: str, count: int = CROWD) -> AbstractContextManager[None]:
    """So many sockets of the router listen on one address and port, each for another interface than the one
    that has it: a lookup for a SYN walks all and takes none."""
    return program(router, _LISTEN, str(count), address, str(PORT), "wan0")


def send_syns(namespace: str, address: str, count: int, gap_s: float = 0.0005) -> None:
    """One after the other."""
    with netns.inside(namespace):
        for _ in range(count):
            with socket.socket() as one:
                one.setblocking(False)
                one.connect_ex((address, PORT))
            time.sleep(gap_s)


def syn_bursts(namespace: str, address: str) -> AbstractContextManager[None]:
    return program(namespace, _BURSTS, address, str(PORT), str(BURST))


@contextmanager
def paced_port(router: str, receiving: str) -> Iterator[None]:
    """A port of core 1 whose packets wait for timers, and core 1 takes what `receiving` receives."""
    made = [
        "link add paced0 type veth peer paced1",
        "address add 192.0.2.1/24 dev paced0",
        "link set paced0 up",
        "link set paced1 up",
        "neighbor add 192.0.2.2 lladdr 02:00:00:00:00:02 dev paced0",
    ]
    netns.ip(router, made)
    try:
        shaped = "qdisc replace dev paced0 root tbf rate 20mbit burst 3kb limit 30kb"
        netns.run(["tc", "-n", router, *shaped.split()])
        steer = f"for queue in /sys/class/net/{receiving}/queues/rx-*/rps_cpus; do echo 2 >$queue; done"
        netns.run(["ip", "netns", "exec", router, "sh", "-c", steer])
        with program(router, _PACED):
            yield
    finally:
        netns.ip(router, ["link delete paced0"])


# -- E5 ------------------------------------------------------------------------------------------------


@contextmanager
def many_routes(router: str, gateway: str, tries: int = MANY) -> Iterator[int]:
    """Routes to that many places by chance, fewer where chance repeats itself; gives how many."""
    chance = random.Random(1)
    places = {chance.randrange(11 << 16, 100 << 16) for _ in range(tries)}
    routes = [f"{place >> 16}.{place >> 8 & 255}.{place & 255}.0/24 via {gateway}" for place in places]
    netns.ip(router, [f"route add {route}" for route in routes])
    try:
        yield len(places)
    finally:
        netns.ip(router, [f"route delete {route}" for route in routes])
