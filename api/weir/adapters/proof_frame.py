# SPDX-License-Identifier: Apache-2.0
"""Frames that prove a packet's way, as bytes: made with a number that no other frame has, and read again."""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from ipaddress import ip_address

from weir.adapters.nft_trace import Recognised

MARK = 0x4000_0000
"""WEIR_PROVE_MARK (datapath/include/weir/prove.h)."""
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
PROTOCOLS = {"icmp": ICMP, "tcp": TCP, "udp": UDP, "icmpv6": ICMPV6}
_NONCE_AT = {ICMP: 8, TCP: 20, UDP: 8, ICMPV6: 8}
_ECHO = {ICMP: 8, ICMPV6: 128}
_WORDS = b"weir path --prove"
_TTL = 64
_SYN = 2
_SENDER = bytes.fromhex("020000000001")
"""Locally administered; no interface of the router's has it."""
_TYPES = {4: 0x0800, 6: 0x86DD}
_IPV4, _IPV6 = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!IHBB16s16s")
_UNREACHABLE_INNER = 8
"""From an ICMP error's header to the packet that it quotes."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Of a packet: addresses and ports; for ICMP the echo's id is both ports."""

    source: str
    source_port: int
    destination: str
    port: int


@dataclass(frozen=True, slots=True)
class ProofFrame:
    """The first packet of a connection: a SYN of TCP, a datagram of UDP, or an ICMP echo request. `port` of
    ICMP is the echo's id."""

    ends: Ends
    protocol: int
    tos: int
    nonce: bytes
    sequence: int

    @classmethod
    def made(cls, ends: Ends, protocol: str, tos: int = 0) -> ProofFrame:
        """Raises KeyError for another protocol."""
        drawn = os.urandom(12)
        return cls(ends, PROTOCOLS[protocol], tos, drawn[:8], int.from_bytes(drawn[8:], "big"))

    @property
    def family(self) -> int:
        return ip_address(self.ends.source).version

    @property
    def nonce_at(self) -> int:
        """From the transport header on."""
        return _NONCE_AT[self.protocol]

    @property
    def head_bytes(self) -> int:
        return _IPV4.size if self.family == 4 else _IPV6.size

    def recognised(self) -> Recognised:
        """With what the router would tell the sender, which is to leave as little: ICMP errors that quote it,
        and the refusal of TCP."""
        error = ICMP if self.family == 4 else ICMPV6
        quoted = _UNREACHABLE_INNER + self.head_bytes + self.nonce_at
        refusals = [(error, quoted, self.nonce)]
        if self.protocol == TCP:
            acknowledged = self.sequence + 1 + len(self._payload()) & 0xFFFF_FFFF
            refusals.append((TCP, 8, struct.pack("!I", acknowledged)))
        return Recognised(MARK, self.nonce, self.nonce_at, self.family, self.protocol, tuple(refusals))

    def packet(self) -> bytes:
        """From the IP header on."""
        source, destination = (ip_address(each).packed for each in (self.ends.source, self.ends.destination))
        body = self._transport(source, destination)
        if self.family == 6:
            return (
                _IPV6.pack(6 << 28 | self.tos << 20, len(body), self.protocol, _TTL, source, destination)
                + body
            )
        number = int.from_bytes(self.nonce[:2], "big")
        fields = (0x45, self.tos, _IPV4.size + len(body), number, 0, _TTL, self.protocol)
        check = _checksum(_IPV4.pack(*fields, 0, source, destination))
        return _IPV4.pack(*fields, check, source, destination) + body

    def frame(self, mac: str) -> bytes:
        """With an Ethernet header to that address of the router's; "" = the interface has none."""
        to = bytes.fromhex(mac.replace(":", "")) if mac else bytes(6)
        return to.ljust(6, b"\0")[:6] + _SENDER + struct.pack("!H", _TYPES[self.family]) + self.packet()

    def _payload(self) -> bytes:
        return self.nonce + _WORDS

    def _transport(self, source: bytes, destination: bytes) -> bytes:
        data, ends = self._payload(), self.ends
        if self.protocol == UDP:
            head = struct.pack("!HHHH", ends.source_port, ends.port, 8 + len(data), 0)
            at = 6
        elif self.protocol == TCP:
            head = struct.pack(
                "!HHIIBBHHH", ends.source_port, ends.port, self.sequence, 0, 5 << 4, _SYN, 64_240, 0, 0
            )
            at = 16
        else:
            head = struct.pack("!BBHHH", _ECHO[self.protocol], 0, 0, ends.source_port, 1)
            at = 2
        whole = head + data
        covered = whole if self.protocol == ICMP else self._pseudo(source, destination, len(whole)) + whole
        return whole[:at] + struct.pack("!H", _checksum(covered) or 0xFFFF) + whole[at + 2 :]

    def _pseudo(self, source: bytes, destination: bytes, length: int) -> bytes:
        return source + destination + struct.pack("!II", length, self.protocol)

    def read(self, header: bytes) -> Ends | None:
        """The ends of this frame as it was seen on its way, from the IP header on."""
        if len(header) < self.head_bytes + 8:
            return None
        if self.family == 4:
            size, places = (header[0] & 15) * 4, (header[12:16], header[16:20])
        else:
            size, places = _IPV6.size, (header[8:24], header[24:40])
        source, destination = (str(ip_address(each)) for each in places)
        if self.protocol in (ICMP, ICMPV6):
            (number,) = struct.unpack_from("!H", header, size + 4)
            return Ends(source, number, destination, 0)
        source_port, port = struct.unpack_from("!HH", header, size)
        return Ends(source, source_port, destination, port)


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def send_own(frame: ProofFrame) -> None:
    """As a packet of the router's own. Raises `OSError` with the kernel's reason."""
    is_v4 = frame.family == 4
    family, level = (socket.AF_INET, socket.IPPROTO_IP) if is_v4 else (socket.AF_INET6, socket.IPPROTO_IPV6)
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
        sender.setsockopt(level, socket.IP_HDRINCL if is_v4 else _IPV6_HDRINCL, 1)
        sender.bind((frame.ends.source, 0))
        sender.sendto(frame.packet(), (frame.ends.destination, 0))


_IPV6_HDRINCL = 36
