# SPDX-License-Identifier: Apache-2.0
"""What a relay does to DHCP messages (RFC 2131, RFC 1542 section 4, RFC 3046). Pure.

Whatever comes in may be anybody's. What is not passed on is `Dropped`, with the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SERVER_PORT, CLIENT_PORT = 67, 68
REQUEST, REPLY = 1, 2
MALFORMED, UNTRUSTED, HOPS, STRANGER, UNSENT = "malformed", "untrusted", "hops", "stranger", "unsent"
"""Why a message is not passed on: it is no DHCP message; it carries option 82 or a relay's address and may
not; too many relays were on its way; it is the answer of nobody who was asked; it could not be sent."""
_HEADER_BYTES, _COOKIE = 240, bytes.fromhex("63825363")
_LEAST_BYTES = 300
"""BOOTP's; some servers and clients drop what is shorter."""
_MOST_BYTES = 1472
"""Of a message to a server: with the headers of UDP and IPv4 it fits into an Ethernet frame. One that would
be longer with option 82 goes without (RFC 3046, section 2.1)."""
_PAD, _OVERLOAD, _KIND, _AGENT, _END = 0, 52, 53, 82, 255
_FILE, _SNAME = slice(108, 236), slice(44, 108)
_CIRCUIT, _REMOTE = 1, 2
_BROADCAST_FLAG, _ETHERNET = 0x80, 1
NOBODY, EVERYBODY, ALL_STATIONS = bytes(4), b"\xff" * 4, b"\xff" * 6

Option = tuple[int, bytes]


class Dropped(Exception):
    """The reason is its only argument."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one relay. `address` is the router's own on the clients' link, `agent_option` the value of option 82
    that is added (b"" = none), `trusted`: option 82 and the address of another relay may come in."""

    address: bytes
    agent_option: bytes
    trusted: bool
    max_hops: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A message for a client, with the address and the station that it is sent to."""

    body: bytes
    address: bytes
    mac: bytes


def agent_option(circuit_id: bytes, remote_id: bytes) -> bytes:
    """The value of option 82 (RFC 3046, section 2.0)."""
    parts = ((_CIRCUIT, circuit_id), (_REMOTE, remote_id))
    return b"".join(bytes((code, len(value))) + value for code, value in parts if value)


def to_server(body: bytes, rules: Rules) -> bytes:
    """A client's message as a server gets it. Raises `Dropped`."""
    options = _checked(body, REQUEST)
    hops, relay = body[3], body[24:28]
    is_marked = any(code == _AGENT for code, _ in (*options, *_overloaded(body, options)))
    if relay == rules.address or (not rules.trusted and (is_marked or relay != NOBODY)):
        raise Dropped(UNTRUSTED)
    if hops >= rules.max_hops:
        raise Dropped(HOPS)
    head = body[:3] + bytes((hops + 1,)) + body[4:24]
    if relay != NOBODY:  # another relay's, which is answered itself (RFC 3046, section 2.1.1)
        return _message(head + relay + body[28:_HEADER_BYTES], options)
    head += rules.address + body[28:_HEADER_BYTES]
    plain = _message(head, options)
    if is_marked or not rules.agent_option:
        return plain
    marked = _message(head, [*options, (_AGENT, rules.agent_option)])
    return marked if len(marked) <= _MOST_BYTES else plain


def to_client(body: bytes, rules: Rules) -> Answer:
    """A server's message as the client gets it. Raises `Dropped`."""
    options = _checked(body, REPLY)
    if body[24:28] != rules.address:
        raise Dropped(STRANGER)
    kept = [
        (code, value)
        for code, value in options
        if code != _AGENT or (rules.trusted and value != rules.agent_option)
    ]
    offered, own = body[16:20], body[12:16]
    address = offered if offered != NOBODY else own
    has_station = body[1] == _ETHERNET and body[2] == 6
    if body[10] & _BROADCAST_FLAG or address == NOBODY or not has_station:
        return Answer(_message(body[:_HEADER_BYTES], kept), EVERYBODY, ALL_STATIONS)
    return Answer(_message(body[:_HEADER_BYTES], kept), address, body[28:34])


def _checked(body: bytes, operation: int) -> list[Option]:
    """The options of a DHCP message; plain BOOTP is none."""
    if len(body) < _HEADER_BYTES or body[0] != operation or body[236:240] != _COOKIE:
        raise Dropped(MALFORMED)
    options = list(_options(body[_HEADER_BYTES:]))
    if not any(code == _KIND for code, _ in options):
        raise Dropped(MALFORMED)
    return options


def _overloaded(body: bytes, options: Sequence[Option]) -> Iterator[Option]:
    """Options that stand in the fields for names (RFC 2132, section 9.3)."""
    said = b"".join(value for code, value in options if code == _OVERLOAD)
    if said and said[0] & 1:
        yield from _options(body[_FILE])
    if said and said[0] & 2:
        yield from _options(body[_SNAME])


def _options(data: bytes) -> Iterator[Option]:
    place = 0
    while place < len(data) and data[place] != _END:
        if data[place] == _PAD:
            place += 1
            continue
        start = place + 2
        if start > len(data) or start + data[place + 1] > len(data):
            raise Dropped(MALFORMED)
        end = start + data[place + 1]
        yield data[place], data[start:end]
        place = end


def _message(head: bytes, options: Sequence[Option]) -> bytes:
    """What stood behind the end of the options is gone."""
    said = b"".join(bytes((code, len(value))) + value for code, value in options)
    return (head + said + bytes((_END,))).ljust(_LEAST_BYTES, b"\0")


_IP, _UDP = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!HHHH")
_UDP_NUMBER = 17


def payload(packet: bytes, own: bytes) -> bytes | None:
    """What an IPv4 packet carries for a server beside the link; None for any other packet, such as one that
    is routed to a server. UDP checksums are not looked at: a sender on this machine leaves them to the card
    that it takes us for."""
    if len(packet) < _IP.size:
        return None
    first, _, total, _, fragment, _, protocol, _, _, target = _IP.unpack_from(packet)
    start = (first & 15) * 4
    if first >> 4 != 4 or start < _IP.size or protocol != _UDP_NUMBER or fragment & 0x3FFF:
        return None
    if target not in (EVERYBODY, own) or not start + _UDP.size <= total <= len(packet):
        return None
    _, port, length, _ = _UDP.unpack_from(packet, start)
    if port != SERVER_PORT or length < _UDP.size or start + length > total:
        return None
    return packet[start + _UDP.size : start + length]


def packet_to_client(answer: Answer, own: bytes) -> bytes:
    """The answer as an IPv4 packet from the router's address."""
    length = _UDP.size + len(answer.body)
    udp = _UDP.pack(SERVER_PORT, CLIENT_PORT, length, 0) + answer.body
    total = _checksum(own + answer.address + struct.pack("!HH", _UDP_NUMBER, length) + udp)
    udp = _UDP.pack(SERVER_PORT, CLIENT_PORT, length, total or 0xFFFF) + answer.body
    header = _IP.pack(0x45, 0xC0, _IP.size + length, 0, 0, 64, _UDP_NUMBER, 0, own, answer.address)
    return header[:10] + struct.pack("!H", _checksum(header)) + header[12:] + udp


def _checksum(data: bytes) -> int:
    """The Internet's (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = int(sum(struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
