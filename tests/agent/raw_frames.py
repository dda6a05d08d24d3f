# SPDX-License-Identifier: Apache-2.0
"""Frames written byte by byte to a device, and how many of their UDP payloads arrive in another namespace."""

from __future__ import annotations

import socket
import struct
import time

from lab import netns
from lab.measure import bound
from tests.datapath import packets as p

PORT = 4321
TRAFFIC_S = 1.0


def mac_of(namespace: str, device: str) -> bytes:
    with netns.inside(namespace), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as probe:
        probe.bind((device, 0))
        found: bytes = probe.getsockname()[4]
        return found


def udp4(source: str, destination: str, ip_bytes: int) -> bytes:
    return p.ipv4(source, destination, p.udp(PORT, PORT, bytes(ip_bytes - 28)))


def udp6(source: str, destination: str, ip_bytes: int) -> bytes:
    segment = p.udp(PORT, PORT, bytes(ip_bytes - 48))
    addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    total = checksum(addresses + struct.pack("!II", len(segment), 17) + segment)
    return p.ipv6(source, destination, segment[:6] + struct.pack("!H", total or 0xFFFF) + segment[8:])


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def arrived_bps(
    sender: tuple[str, str],
    to_mac: bytes,
    inner: bytes,
    receiver: tuple[str, str],
    offered_bps: int,
    ip_bytes: int,
) -> float:
    """IP bits per second that arrive of so many offered, each in `inner` behind both Ethernet addresses.

    `sender`: namespace and device; `receiver`: namespace and address, where PORT is listened to. Buckets are
    emptied first.
    """
    interval_s = ip_bytes * 8 / offered_bps
    with netns.inside(sender[0]):
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind((sender[1], 0))
    with out, bound(receiver[0], receiver[1], PORT) as sink:
        sink.setblocking(False)
        frame = to_mac + out.getsockname()[4] + inner
        begin = due = time.monotonic()
        warm = begin + TRAFFIC_S / 3
        while due < warm:
            due = send_due(out, frame, due, interval_s)
        drained(sink)
        while due < warm + TRAFFIC_S:
            due = send_due(out, frame, due, interval_s)
        took_s = time.monotonic() - warm
        return drained(sink) * ip_bytes * 8 / took_s


def send_due(out: socket.socket, frame: bytes, due: float, interval_s: float) -> float:
    """Sends one frame when it is due; returns when the next one is."""
    while (left_s := due - time.monotonic()) > 0:
        time.sleep(min(left_s, 0.001))
    out.send(frame)
    return due + interval_s


def drained(sink: socket.socket) -> int:
    count = 0
    while True:
        try:
            sink.recv(2048)
        except BlockingIOError:
            return count
        count += 1
