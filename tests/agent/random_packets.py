# SPDX-License-Identifier: Apache-2.0
"""Frames of all kinds that a router meets, right ones and wrong ones; the same for the same seed.

Half of what is drawn for each field is what the fast path forwards, so that many frames are plain in all of
them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from tests.datapath.packets import checksum

IPV4, IPV6, VLAN, QINQ, PPPOE, EXPERIMENTAL = 0x0800, 0x86DD, 0x8100, 0x88A8, 0x8864, 0x88B5
TCP, UDP, ICMP, ICMP6, SCTP, DCCP = 6, 17, 1, 58, 132, 33
Odd = Callable[[], bool]
LABEL = 0x12345
"""A flow label that rules may name."""
MARK = b"no%06d."
"""In the payload of a frame, and so in what a router says of it: its number."""
MARK_BYTES = len(MARK % 0)
BROADCAST_MAC, MULTICAST_MAC, STRANGE_MAC = (
    b"\xff" * 6,
    bytes.fromhex("01005e000005"),
    bytes.fromhex("020000fefefe"),
)
PROTOCOLS4 = (TCP, UDP, ICMP, SCTP, DCCP, 2, 4, 41, 46, 47, 50, 51, 89, 103, 112, 115, 136, 253, 0)
HEADERS6 = (0, 43, 44, 60, 51, 59, 135)
OPTIONS4 = (
    b"\x01\x01\x01\x00",  # no operation
    b"\x94\x04\x00\x00",  # router alert
    b"\x07\x07\x04\x00\x00\x00\x00\x00",  # record route
    b"\x83\x07\x04\xc0\x00\x02\x01\x00",  # loose source route
    b"\x99\x02\x00\x00",  # unknown
    b"\x07\x28\x04\x00",  # longer than the header
)


@dataclass(frozen=True, slots=True)
class Around:
    """Where the frames go: nets and addresses, good and bad, of both families, and tags that mean
    something."""

    mac: bytes
    sources: Sequence[str]
    strange_sources: Sequence[str]
    destinations: Sequence[str]
    strange_destinations: Sequence[str]
    frame_bytes: int = 1514
    tags: Sequence[tuple[int, int]] = ()
    """(EtherType, VLAN id) of VLAN interfaces on the port."""


class Frames:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def frame(self, number: int, around: Around) -> bytes:
        """One frame that arrives at the router by a port."""
        draw = self._random
        kind, packet = self._packet(number, around)
        mac = around.mac if draw.random() < 0.96 else draw.choice((BROADCAST_MAC, MULTICAST_MAC, STRANGE_MAC))
        tags = [draw.choice(around.tags)] if around.tags and draw.random() < 0.6 else []
        if draw.random() < 0.05:
            tags += [
                (draw.choice((VLAN, QINQ)), draw.choice((0, 1, 100, 4095))) for _ in range(draw.randint(1, 3))
            ]
        if draw.random() < 0.03:
            protocol = 0x21 if kind == IPV4 else 0x57
            kind, packet = PPPOE, struct.pack("!BBHHH", 0x11, 0, 1, len(packet) + 2, protocol) + packet
        head = mac + bytes.fromhex("0200000000aa")
        for protocol, tag in tags:
            head += struct.pack("!HH", protocol, tag | draw.choice((0, 0, 0xE000, 0x1000)))
        frame = head + struct.pack("!H", kind if draw.random() < 0.99 else EXPERIMENTAL) + packet
        if draw.random() < 0.02:
            frame = frame[: draw.randint(14, max(14, len(frame)))]
        return frame[: around.frame_bytes]

    def _packet(self, number: int, around: Around) -> tuple[int, bytes]:
        draw = self._random
        plain = draw.random() < 0.3  # nothing is odd but one thing perhaps
        odd = (lambda: False) if plain else (lambda: draw.random() < 0.1)
        family = draw.choice((4, 6))
        source = self._address(family, around.strange_sources if odd() else around.sources)
        target = self._address(family, around.strange_destinations if odd() else around.destinations)
        inner = self._payload(number)
        packet = (self._ipv4 if family == 4 else self._ipv6)(source, target, number, inner, odd)
        if draw.random() < 0.1:
            packet += draw.randbytes(draw.choice((1, 6, 18, 34, 46, 400)))
        return (IPV4 if family == 4 else IPV6), packet

    def _payload(self, number: int) -> bytes:
        draw = self._random
        size = draw.choice((0, 1, 7, 18, 100, 101, 512, 1200, 1310, 1390, 1450))
        return MARK % number + draw.randbytes(size)

    def _transport(self, protocol: int, inner: bytes) -> bytes:
        draw = self._random
        ports = struct.pack(
            "!HH", draw.choice((53, 80, 5000, draw.randint(0, 65535))), draw.choice((80, 443, 5001))
        )
        if protocol == UDP:
            return (
                ports + struct.pack("!HH", 8 + len(inner), draw.choice((0, draw.randint(1, 65535)))) + inner
            )
        if protocol == TCP:
            flags = draw.choice((2, 16, 24, 17, 4, 18, draw.randint(0, 255)))
            rest = struct.pack(
                "!IIBBHHH", draw.getrandbits(32), 1, 5 << 4, flags, 8192, draw.getrandbits(16), 0
            )
            return ports + rest + inner
        if protocol in (ICMP, ICMP6):
            kind = draw.choice((8, 0, 3, 11, 13) if protocol == ICMP else (128, 129, 1, 3, 4))
            return (
                struct.pack("!BBHI", kind, draw.choice((0, 1)), draw.getrandbits(16), draw.getrandbits(32))
                + inner
            )
        return ports + draw.randbytes(8) + inner

    def _ipv4(self, source: bytes, target: bytes, number: int, inner: bytes, odd: Odd) -> bytes:
        draw = self._random
        protocol = draw.choice(PROTOCOLS4) if odd() else draw.choice((TCP, UDP, UDP, ICMP, SCTP, DCCP))
        body = self._transport(protocol, inner)
        if odd():
            body = body[: draw.randint(0, 24)]
        options = draw.choice(OPTIONS4) if odd() else b""
        options += bytes(-len(options) % 4)
        length = 20 + len(options) + len(body)
        if odd():
            length = draw.choice((0, 19, 20, 21, length - 1, length + 1, length + 200, 28, 65535)) & 0xFFFF
        flags = (
            draw.choice((0x2000, 0x6000, 0x0001, 0x20B9, 0x8000, 0xC000))
            if odd()
            else draw.choice((0, 0x4000))
        )
        head = bytearray(
            struct.pack(
                "!BBHHHBBH",
                (draw.choice((0, 5, 6, 15)) if odd() and odd() else 4) << 4
                | (draw.choice((0, 4, 6, 15)) if odd() and odd() else 5 + len(options) // 4),
                draw.choice((0, 0, 0x10, 0x20, 0xB8, 1, 2, 3, draw.getrandbits(8))),
                length,
                number & 0xFFFF,
                flags,
                draw.choice((0, 1, 2)) if odd() else draw.choice((2, 64, 128, 255)),
                protocol,
                0,
            )
        )
        head += source + target + options
        head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
        if odd():
            head[draw.choice((10, 11, 8, 1))] ^= 1 << draw.randint(0, 7)
        return bytes(head) + body

    def _ipv6(self, source: bytes, target: bytes, number: int, inner: bytes, odd: Odd) -> bytes:
        draw = self._random
        protocol = (
            draw.choice((50, 51, 47, 4, 41, 253, 59)) if odd() else draw.choice((TCP, UDP, ICMP6, SCTP, DCCP))
        )
        body = self._transport(protocol, inner)
        if odd():
            body = body[: draw.randint(0, 24)]
        for _ in range(draw.randint(1, 2) if odd() else 0):
            protocol, body = self._extension(protocol, body)
        length = len(body)
        if odd():
            length = draw.choice((0, 1, length - 1, length + 1, length + 100)) & 0xFFFF
        version = draw.choice((0, 4, 7)) if odd() and odd() else 6
        traffic_class = draw.choice((0, 0, 0x20, 0xB8, 1, 2, 3, draw.getrandbits(8)))
        label = draw.choice((0, 0, LABEL, draw.getrandbits(20)))
        hops = draw.choice((0, 1, 2)) if odd() else draw.choice((2, 64, 255))
        head = struct.pack("!IHBB", version << 28 | traffic_class << 20 | label, length, protocol, hops)
        return head + source + target + body

    def _extension(self, next_header: int, body: bytes) -> tuple[int, bytes]:
        draw = self._random
        kind = draw.choice(HEADERS6)
        if kind == 59:
            return kind, body
        if kind == 44:
            offset = draw.choice((0, 1, 8, 9, 0x5A8))
            return kind, struct.pack("!BBHI", next_header, 0, offset, draw.getrandbits(32)) + body
        option = draw.choice(
            (b"\x01\x04\0\0\0\0", b"\x05\x02\0\0\x01\0", b"\xc2\x04\0\0\0\0", draw.randbytes(6))
        )
        return kind, struct.pack("!BB", next_header, draw.choice((0, 0, 0, 3))) + option + body

    def _address(self, family: int, nets: Sequence[str]) -> bytes:
        """Of a net of this family, chosen evenly; a host of it for one with room."""
        draw = self._random
        net = draw.choice([text for text in nets if (":" in text) == (family == 6)])
        if family == 4:
            net4 = IPv4Network(net)
            offset = draw.randint(2, net4.num_addresses - 2) if net4.num_addresses > 4 else 0
            return IPv4Address(int(net4.network_address) + offset).packed
        net6 = IPv6Network(net)
        offset = draw.randint(2, 1 << 60) % net6.num_addresses
        return IPv6Address(int(net6.network_address) + offset).packed
