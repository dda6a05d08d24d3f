# SPDX-License-Identifier: Apache-2.0
"""The other side of DHCP for tests: answers as bytes, and a network in which time passes only by waiting."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weir.adapters.dhcp_packets import Kind

MAC = "02:00:00:00:00:01"
SERVER, SERVER_MAC = "198.51.100.1", bytes.fromhex("020000000099")
COOKIE = bytes.fromhex("63825363")
LEASE_S = 3600


def quad(text: str) -> bytes:
    return ipaddress.IPv4Address(text).packed


def seconds(count: int) -> bytes:
    return count.to_bytes(4, "big")


OPTIONS: Mapping[int, bytes] = {
    54: quad(SERVER),
    1: quad("255.255.255.0"),
    3: quad(SERVER),
    6: quad("9.9.9.9") + quad("149.112.112.112"),
    51: seconds(LEASE_S),
}


def answer(
    kind: Kind, transaction: int, offered: str = "198.51.100.7", options: Mapping[int, bytes] = OPTIONS
) -> bytes:
    """An IPv4 packet from a server to the client with `MAC`."""
    hardware = bytes.fromhex(MAC.replace(":", "")).ljust(16, b"\0")
    body = struct.pack("!BBBBIHH", 2, 1, 6, 0, transaction, 0, 0)
    body += bytes(4) + quad(offered) + bytes(8) + hardware + bytes(192) + COOKIE
    body += bytes((53, 1, kind))
    body += b"".join(bytes((code, len(value))) + value for code, value in options.items()) + b"\xff"
    udp = struct.pack("!HHHH", 67, 68, 8 + len(body), 0) + body
    return (
        struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, quad(SERVER), b"\xff" * 4) + udp
    )


@dataclass(frozen=True, slots=True)
class Heard:
    """A client's message, as far as tests look at it."""

    kind: Kind
    at: float
    transaction: int
    own: str
    wanted: str
    server: str
    to: str
    mac: bytes


def heard(packet: bytes, at: float, mac: bytes) -> Heard:
    body = packet[28:]
    options: dict[int, bytes] = {}
    place = 240
    while body[place] != 255:
        code, length = body[place], body[place + 1]
        options[code] = body[place + 2 : place + 2 + length]
        place += 2 + length

    def text(data: bytes) -> str:
        return str(ipaddress.IPv4Address(data)) if any(data) else ""

    return Heard(
        Kind(options[53][0]),
        at,
        int.from_bytes(body[4:8], "big"),
        text(body[12:16]),
        text(options.get(50, b"")),
        text(options.get(54, b"")),
        text(packet[16:20]),
        mac,
    )


@dataclass
class Network:
    """A wire with a server (`respond`: what it says to a message), and a clock that only waiting moves."""

    respond: Callable[[Heard], bytes | None]
    now: float = 1000.0
    said: list[Heard] = field(default_factory=list)
    waiting: list[bytes] = field(default_factory=list)
    opened: int = 0

    def __enter__(self) -> Network:
        self.opened += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.opened -= 1
        self.waiting.clear()

    def send(self, data: bytes, mac: bytes = b"") -> None:
        assert self.opened == 1
        message = heard(data, self.now, mac)
        self.said.append(message)
        reply = self.respond(message)
        if reply is not None:
            self.waiting.append(reply)

    def receive(self, timeout_s: float) -> tuple[bytes, bytes] | None:
        if self.waiting:
            return self.waiting.pop(0), SERVER_MAC
        self.now += timeout_s
        return None

    def wait(self, timeout_s: float) -> None:
        self.now += timeout_s

    def wake(self) -> None:
        """Nobody waits here."""

    def kinds(self) -> list[str]:
        return [message.kind.name for message in self.said]
