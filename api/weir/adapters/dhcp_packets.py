# SPDX-License-Identifier: Apache-2.0
"""DHCP messages of a client (RFC 2131, 2132, 3442) as IPv4 packets, made and read. Pure.

Whatever comes in may be anybody's: what is not a sound answer to this client is None, never an error. UDP
checksums are not looked at: a sender on this machine leaves them to the card that it takes us for.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

SERVER_PORT, CLIENT_PORT = 67, 68
BROADCAST, NOBODY = "255.255.255.255", "0.0.0.0"
MIN_RENEW_S, MIN_LEASE_S, MAX_LEASE_S = 2, 30, 10 * 365 * 86400
MAX_SERVERS, MAX_ROUTES = 8, 64

_BOOTP = struct.Struct("!BBBBIHH4s4s4s4s16s192xI")
_IP = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_COOKIE = 0x63825363
_NO_OPTION, _END = 0, 255
_MASK, _ROUTERS, _DNS, _HOSTNAME, _WANTED, _LEASE = 1, 3, 6, 12, 50, 51
_KIND, _SERVER, _ASKED_FOR, _T1, _T2, _CLIENT_ID, _ROUTES = 53, 54, 55, 58, 59, 61, 121
_MIN_OPTIONS_BYTES = 64
"""Some servers drop messages shorter than BOOTP's 300 bytes."""


class Kind(IntEnum):
    DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE = range(1, 8)


@dataclass(frozen=True, slots=True)
class Question:
    """What a client says. `own` is the address that it has; `wanted` the one it asks for; "" = none."""

    kind: Kind
    transaction: int
    mac: bytes
    own: str = ""
    wanted: str = ""
    server: str = ""
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server says. `address` has its prefix length; `routes` are (destination, gateway)."""

    kind: Kind
    address: str
    server: str
    routes: tuple[tuple[str, str], ...]
    dns: tuple[str, ...]
    lease_s: int
    renew_s: int
    rebind_s: int


def packet(question: Question, destination: str = BROADCAST) -> bytes:
    """An IPv4 packet from the client's port to the server's."""
    own = question.own or NOBODY
    body = _BOOTP.pack(
        *(1, 1, 6, 0, question.transaction, 0, 0),
        *(_bytes(own), bytes(4), bytes(4), bytes(4), question.mac.ljust(16, b"\0"), _COOKIE),
    )
    body += b"".join(bytes((code, len(value))) + value for code, value in _options(question)) + b"\xff"
    body = body.ljust(_BOOTP.size + _MIN_OPTIONS_BYTES, b"\0")
    source, target, length = _bytes(own), _bytes(destination), _UDP.size + len(body)
    udp = _UDP.pack(CLIENT_PORT, SERVER_PORT, length, 0) + body
    total = _checksum(source + target + struct.pack("!HH", 17, length) + udp)
    udp = _UDP.pack(CLIENT_PORT, SERVER_PORT, length, total or 0xFFFF) + body
    header = _IP.pack(0x45, 0xC0, _IP.size + length, 0, 0, 64, 17, 0, source, target)
    return header[:10] + struct.pack("!H", _checksum(header)) + header[12:] + udp


def read_reply(data: bytes, transaction: int, mac: bytes) -> Reply | None:
    """The answer to this client in an IPv4 packet; None for anything else."""
    try:
        return _read(_payload(data), transaction, mac)
    except (struct.error, ValueError, IndexError):
        return None


def _options(question: Question) -> Iterator[tuple[int, bytes]]:
    yield _KIND, bytes((question.kind,))
    yield _CLIENT_ID, b"\x01" + question.mac
    if question.wanted:
        yield _WANTED, _bytes(question.wanted)
    if question.server:
        yield _SERVER, _bytes(question.server)
    if question.kind in (Kind.DISCOVER, Kind.REQUEST):
        name = question.hostname.encode("ascii", "ignore")[:63]
        if name:
            yield _HOSTNAME, name
        yield _ASKED_FOR, bytes((_ROUTES, _MASK, _ROUTERS, _DNS, _LEASE, _SERVER, _T1, _T2))


def _payload(data: bytes) -> bytes:
    """What a UDP datagram to the client's port carries. Raises `ValueError`."""
    first, _, total, _, fragment, _, protocol, _, _, _ = _IP.unpack_from(data)
    start = (first & 15) * 4
    if first >> 4 != 4 or start < 20 or protocol != 17 or fragment & 0x3FFF or total > len(data):
        raise ValueError("not a whole UDP datagram")
    _, port, length, _ = _UDP.unpack_from(data, start)
    if port != CLIENT_PORT or length < _UDP.size or start + length > total:
        raise ValueError("not to a client")
    return data[start + _UDP.size : start + length]


def _read(body: bytes, transaction: int, mac: bytes) -> Reply | None:
    operation, *_, asked, _, _, _, offered, _, _, hardware, cookie = _BOOTP.unpack_from(body)
    if (operation, asked, hardware[: len(mac)], cookie) != (2, transaction, mac, _COOKIE):
        return None
    options = _read_options(body[_BOOTP.size :])
    kind = Kind(options[_KIND][0]) if options.get(_KIND) else None
    server = options.get(_SERVER, b"")
    if kind not in (Kind.OFFER, Kind.ACK, Kind.NAK) or (len(server) != 4 and kind != Kind.NAK):
        return None
    server_text = _text(server) if len(server) == 4 else ""
    if kind == Kind.NAK:
        return Reply(kind, "", server_text, (), (), 0, 0, 0)
    length = _prefix_length(options.get(_MASK, b""), offered)
    lease_s = _seconds(options.get(_LEASE))
    lease_s = lease_s and min(max(lease_s, MIN_LEASE_S), MAX_LEASE_S)
    if not lease_s or not _is_host(offered):
        return None
    renew_s, rebind_s = _seconds(options.get(_T1)), _seconds(options.get(_T2))
    if not MIN_RENEW_S <= renew_s < rebind_s < lease_s:
        renew_s, rebind_s = lease_s // 2, lease_s * 7 // 8  # RFC 2131, 4.4.5
    return Reply(
        kind,
        f"{_text(offered)}/{length}",
        server_text,
        _routes(options),
        tuple(_text(item) for item in _quads(options.get(_DNS, b""))[:MAX_SERVERS]),
        lease_s,
        renew_s,
        rebind_s,
    )


def _read_options(data: bytes) -> dict[int, bytes]:
    """One that comes in pieces is put together (RFC 3396)."""
    found: dict[int, bytes] = {}
    place = 0
    while place < len(data) and data[place] != _END:
        if data[place] == _NO_OPTION:
            place += 1
            continue
        code, length = data[place], data[place + 1]
        if place + 2 + length > len(data):
            raise ValueError("an option that ends outside the message")
        found[code] = found.get(code, b"") + data[place + 2 : place + 2 + length]
        place += 2 + length
    return found


def _routes(options: Mapping[int, bytes]) -> tuple[tuple[str, str], ...]:
    """Classless static routes take the place of the router option (RFC 3442)."""
    listed = options.get(_ROUTES, b"")
    if not listed:
        routers = [item for item in _quads(options.get(_ROUTERS, b"")) if _is_host(item)]
        return (("0.0.0.0/0", _text(routers[0])),) if routers else ()
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(listed) and len(found) < MAX_ROUTES:
        length = listed[place]
        size = (length + 7) // 8
        network = listed[place + 1 : place + 1 + size].ljust(4, b"\0")
        gateway = listed[place + 1 + size : place + 5 + size]
        if length > 32 or len(gateway) != 4:
            raise ValueError("a route that ends outside its option")
        if _is_host(gateway):
            found.append((str(ipaddress.ip_network((network, length), strict=False)), _text(gateway)))
        place += 5 + size
    return tuple(dict.fromkeys(found))


def _quads(data: bytes) -> Sequence[bytes]:
    places = range(0, len(data) + 1, 4)
    return [data[start:end] for start, end in pairwise(places)]


def _prefix_length(mask: bytes, address: bytes) -> int:
    """Of a network mask; without one that of the address' class, as of old (RFC 2131)."""
    if len(mask) != 4:
        return 8 if address[0] < 128 else 16 if address[0] < 192 else 24
    bits = int.from_bytes(mask, "big")
    length = bits.bit_count()
    if bits != (1 << 32) - (1 << (32 - length)):
        raise ValueError("a mask with holes")
    return length


def _is_host(data: bytes) -> bool:
    address = ipaddress.IPv4Address(data)
    return not (address.is_multicast or address.is_loopback or address.is_reserved or data[0] == 0)


def _seconds(data: bytes | None) -> int:
    """0 = not given."""
    if data is None or len(data) != 4:
        return 0
    return int.from_bytes(data, "big")


def _bytes(text: str) -> bytes:
    return ipaddress.IPv4Address(text).packed


def _text(data: bytes) -> str:
    return str(ipaddress.IPv4Address(data))


def _checksum(data: bytes) -> int:
    """The Internet's (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = int(sum(struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
