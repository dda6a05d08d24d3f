# SPDX-License-Identifier: Apache-2.0
"""What an ospfd that ended unplanned would have said: Grace-LSAs, by which neighbours keep the adjacency
for a while (RFC 3623, 5), and the file by which the next ospfd knows of them.

ospfd does both itself since FRR 9. One before does them only for a restart that was asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

GRACE_S = 120
"""ospfd's own default."""
FILE = Path("/var/run/frr/ospfd-gr.json")
"""Where ospfd looks (FRR 8, `OSPFD_GR_STATE`), whatever its options say."""
_OSPF = 89
_ALL_ROUTERS = "224.0.0.5"
_INTERNETWORK_CONTROL = 0xC0
_VERSION, _UPDATE = 2, 4
_NO_AUTHENTICATION, _CRYPTOGRAPHIC = 0, 2
_MD5_BYTES = 16
_LINK_LOCAL_OPAQUE = 9
_GRACE = 3 << 24
"""Opaque type 3 of the instance 0."""
_OPTIONS = 0x42
"""Opaque LSAs, and external ones as in each of FRR's."""
_FIRST_SEQUENCE = 0x8000_0001
_UNKNOWN_REASON = 0
_HEADER = struct.Struct("!BBH4s4sHH8s")
_LSA_HEADER = struct.Struct("!HBBI4sIHH")
_CHECKSUM_AT = 16
"""In an LSA."""


@dataclass(frozen=True, slots=True)
class Link:
    """An address of an interface with neighbours; `key` is the number and the text of its password."""

    device: str
    address: str
    area: int
    key: tuple[int, str] | None = field(default=None, repr=False)


def announce(router_id: str, link: Link) -> None:
    """Ask the neighbours of a link to keep us for `GRACE_S`. Raises `OSError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, _OSPF) as handle:
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.device.encode())
        handle.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(link.address))
        handle.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        handle.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, _INTERNETWORK_CONTROL)
        handle.bind((link.address, 0))
        handle.sendto(packet(router_id, link, int(time.time())), (_ALL_ROUTERS, 0))


def prepare(now_s: float, file: Path = FILE) -> None:
    """Tell the next ospfd that it restarts within the grace period. Raises `OSError`."""
    until = {"gracePeriod": GRACE_S, "timestamp": int(now_s) + GRACE_S}
    owner = file.parent.stat()  # FRR's, whose user ospfd has by then, and writes it again
    file.write_text(json.dumps({"instances": {"default": until}}), encoding="ascii")
    os.chown(file, owner.st_uid, owner.st_gid)


def packet(router_id: str, link: Link, now_s: int) -> bytes:
    """A link state update with a Grace-LSA (RFC 2328, A.3.5 and D; RFC 3623, A). The time is its sequence
    number, and that of its signature, as in FRR."""
    body = struct.pack("!I", 1) + _grace_lsa(router_id, link.address, now_s)
    kind, signature = _NO_AUTHENTICATION, bytes(8)
    if link.key is not None:
        kind = _CRYPTOGRAPHIC
        signature = struct.pack("!HBBI", 0, link.key[0], _MD5_BYTES, now_s & 0xFFFF_FFFF)

    def header(checksum: int, authentication: bytes) -> bytes:
        length, area = _HEADER.size + len(body), struct.pack("!I", link.area)
        return _HEADER.pack(
            _VERSION, _UPDATE, length, socket.inet_aton(router_id), area, checksum, kind, authentication
        )

    if link.key is None:
        return header(_ip_checksum(header(0, signature) + body), signature) + body
    whole = header(0, signature) + body
    password = link.key[1].encode()[:_MD5_BYTES].ljust(_MD5_BYTES, b"\0")
    return whole + hashlib.md5(whole + password, usedforsecurity=False).digest()


def _grace_lsa(router_id: str, address: str, now_s: int) -> bytes:
    body = struct.pack("!HHI", 1, 4, GRACE_S)
    body += struct.pack("!HHB3x", 2, 1, _UNKNOWN_REASON)
    body += struct.pack("!HH4s", 3, 4, socket.inet_aton(address))
    sequence = _FIRST_SEQUENCE + now_s % 0x3FFF_FFFF
    size = _LSA_HEADER.size + len(body)
    name = (_LINK_LOCAL_OPAQUE, _GRACE, socket.inet_aton(router_id))
    found = bytearray(_LSA_HEADER.pack(1, _OPTIONS, *name, sequence, 0, size) + body)
    struct.pack_into("!H", found, _CHECKSUM_AT, fletcher(bytes(found)))
    return bytes(found)


def fletcher(lsa: bytes) -> int:
    """The checksum of an LSA (RFC 2328, 12.1.7; RFC 905, annex B), which is over all but its age."""
    summed = bytearray(lsa[2:])
    place = _CHECKSUM_AT - 2
    summed[place : place + 2] = bytes(2)
    first: int = sum(summed) % 255
    second: int = sum(byte * (len(summed) - at) for at, byte in enumerate(summed)) % 255
    high = ((len(summed) - place - 1) * first - second) % 255 or 255
    low = 510 - first - high
    return high << 8 | (low - 255 if low > 255 else low)


def _ip_checksum(data: bytes) -> int:
    """Over the packet without its eight bytes of authentication."""
    summed = data[:16] + data[24:]
    total: int = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
