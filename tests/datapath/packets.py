# SPDX-License-Identifier: Apache-2.0
"""Frames byte by byte: each function is one layer around what is inside it."""

from __future__ import annotations

import socket
import struct

IPV4, IPV6, ARP, VLAN, QINQ, PPPOE = 0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8, 0x8864
PPP_IPV4, PPP_IPV6, PPP_COMPRESSED, PPP_LCP = 0x0021, 0x0057, 0x00FD, 0xC021


def ethernet(ethertype: int, inner: bytes) -> bytes:
    return bytes.fromhex("020000000001020000000002") + struct.pack("!H", ethertype) + inner


def vlan(tag: int, ethertype: int, inner: bytes) -> bytes:
    return struct.pack("!HH", tag, ethertype) + inner


def tags(vids: list[int], ethertype: int, inner: bytes, kind: int = VLAN) -> bytes:
    """Several tags of one kind, the outermost first."""
    for number, vid in enumerate(reversed(vids)):
        inner = vlan(vid, kind if number else ethertype, inner)
    return inner


def pppoe_short(protocol: int, inner: bytes) -> bytes:
    """A session's data with a protocol field of one byte (RFC 1661, 6.5)."""
    return struct.pack("!BBHHB", 0x11, 0, 1, len(inner) + 1, protocol) + inner


def pppoe(protocol: int, inner: bytes, *, version_type: int = 0x11, code: int = 0) -> bytes:
    return struct.pack("!BBHHH", version_type, code, 1, len(inner) + 2, protocol) + inner


def ipv4(
    source: str,
    destination: str,
    payload: bytes = b"x" * 32,
    *,
    version: int = 4,
    ihl: int = 5,
    fragment: int = 0,
    protocol: int = 17,
    damage: int = 0,
) -> bytes:
    """`damage` is added to the header's checksum."""
    options = bytes(4 * (ihl - 5)) if ihl > 5 else b""
    total = 20 + len(options) + len(payload)
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack("!BBHHHBBH", version << 4 | ihl, 0, total, 1, fragment, 64, protocol, 0)
    header = bytearray(head + addresses + options)
    header[10:12] = ((checksum(header) + damage) & 0xFFFF).to_bytes(2, "big")
    return bytes(header) + payload


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of so many 16-bit words."""
    total = sum(word for (word,) in struct.iter_unpack("!H", data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return 0xFFFF - total


def ipv6(
    source: str, destination: str, payload: bytes = b"x" * 32, *, version: int = 6, next_header: int = 17
) -> bytes:
    addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    return struct.pack("!IHBB", version << 28, len(payload), next_header, 64) + addresses + payload


def hop_by_hop(next_header: int, inner: bytes) -> bytes:
    """An IPv6 extension header of 8 bytes (PadN)."""
    return struct.pack("!BBBB4x", next_header, 0, 1, 4) + inner


def fragment_header(next_header: int, offset: int, inner: bytes) -> bytes:
    return struct.pack("!BBHI", next_header, 0, offset << 3, 7) + inner


def udp(source_port: int, destination_port: int, payload: bytes = b"x" * 24, *, checksum: int = 0) -> bytes:
    return struct.pack("!HHHH", source_port, destination_port, 8 + len(payload), checksum) + payload


def tcp(source_port: int, destination_port: int, flags: int, *, checksum: int = 0) -> bytes:
    """A TCP header without options; `flags` as on the wire (1 FIN, 2 SYN, 4 RST, 16 ACK)."""
    return struct.pack("!HHIIBBHHH", source_port, destination_port, 1, 1, 5 << 4, flags, 8192, checksum, 0)


def frame4(source: str, destination: str, size: int = 100) -> bytes:
    """Ethernet and an IPv4 packet of `size` bytes."""
    return ethernet(IPV4, ipv4(source, destination, bytes(size - 20)))


def frame6(source: str, destination: str, size: int = 100) -> bytes:
    """Ethernet and an IPv6 packet of `size` bytes."""
    return ethernet(IPV6, ipv6(source, destination, bytes(size - 40)))


def value4(text: str) -> int:
    return int.from_bytes(socket.inet_aton(text), "big")


def value6(text: str) -> int:
    return int.from_bytes(socket.inet_pton(socket.AF_INET6, text), "big")
