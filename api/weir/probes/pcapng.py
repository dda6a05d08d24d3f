# SPDX-License-Identifier: Apache-2.0
"""Blocks of a pcapng file (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from weir.tools.capture import STATISTICS

ETHERNET, IP = 1, 101
"""Link types (LINKTYPE_ETHERNET, LINKTYPE_RAW)."""
INBOUND, OUTBOUND = 1, 2
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_COMMENT, _NAME, _RESOLUTION, _FLAGS, _RECEIVED, _DROPPED = 1, 2, 9, 2, 4, 5
_NANOSECONDS = b"\x09"


class Packet(NamedTuple):
    """`data` is what was kept of a packet of `length` bytes; `at_ns` is since 1970."""

    at_ns: int
    data: bytes
    length: int
    way: int
    comment: str = ""


def begin(comment: str, interface: str, link_type: int, packet_bytes: int) -> bytes:
    """A section and its one interface, whose times are in nanoseconds."""
    section = struct.pack("=IHHq", _BYTE_ORDER, 1, 0, -1) + _options((_COMMENT, comment.encode()))
    about = struct.pack("=HHI", link_type, 0, packet_bytes)
    about += _options((_NAME, interface.encode()), (_RESOLUTION, _NANOSECONDS))
    return _block(_SECTION, section) + _block(_INTERFACE, about)


def packet(packet: Packet) -> bytes:
    head = struct.pack(
        "=IIIII", 0, packet.at_ns >> 32, packet.at_ns & 0xFFFFFFFF, len(packet.data), packet.length
    )
    options = [(_COMMENT, packet.comment.encode())] if packet.comment else []
    options.append((_FLAGS, struct.pack("=I", packet.way)))
    return _block(_PACKET, head + _padded(packet.data) + _options(*options))


def remark(at_ns: int, comment: str) -> bytes:
    """About the interface, as a block of statistics without any."""
    head = struct.pack("=III", 0, at_ns >> 32, at_ns & 0xFFFFFFFF)
    return _block(STATISTICS, head + _options((_COMMENT, comment.encode())))


def end(at_ns: int, received: int, dropped: int) -> bytes:
    """How many passed the filter, and how many of them the kernel had to drop."""
    head = struct.pack("=III", 0, at_ns >> 32, at_ns & 0xFFFFFFFF)
    counted = ((_RECEIVED, struct.pack("=Q", received)), (_DROPPED, struct.pack("=Q", dropped)))
    return _block(STATISTICS, head + _options(*counted))


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("=II", kind, length) + body + struct.pack("=I", length)


def _options(*given: tuple[int, bytes]) -> bytes:
    packed = b"".join(struct.pack("=HH", code, len(value)) + _padded(value) for code, value in given)
    return packed + bytes(4)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
