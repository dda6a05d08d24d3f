# SPDX-License-Identifier: Apache-2.0
"""DHCPv6 messages of a client that asks for a prefix, and perhaps an address (RFC 8415), made and read. Pure.

Whatever comes in may be anybody's: what is not a sound answer to this client is None, never an error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv6Address, IPv6Network

SERVER_PORT, CLIENT_PORT = 547, 546
MAX_LIFETIME_S = 10 * 365 * 86400
"""Also of what holds for ever."""
MIN_RENEW_S = 2
LONGEST_BITS = 64

_CLIENT_ID, _SERVER_ID, _IA_NA, _IA_ADDR, _ORO, _PREFERENCE, _ELAPSED = 1, 2, 3, 5, 6, 7, 8
_STATUS, _IA_PD, _IA_PREFIX, _SOL_MAX_RT = 13, 25, 26, 82
_OPTION = struct.Struct("!HH")
_IA = struct.Struct("!4sII")
_PREFIX = struct.Struct("!IIB16s")
_ADDRESS = struct.Struct("!16sII")
_USABLE = (IPv6Network("2000::/3"), IPv6Network("fc00::/7"))


class Kind(IntEnum):
    SOLICIT, ADVERTISE, REQUEST, CONFIRM, RENEW, REBIND, REPLY, RELEASE = range(1, 9)


@dataclass(frozen=True, slots=True)
class Question:
    """What a client says. `prefix` is the one that it has, or `::/56` for any of that length; `address`
    likewise, `::` for any, "" where none is asked for."""

    kind: Kind
    transaction: bytes
    mac: bytes
    iaid: bytes
    prefix: str
    address: str = ""
    server: bytes = b""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Given:
    """`text` is a prefix, or an address; the lifetimes are in seconds, `preferred_s` the smaller one."""

    text: str
    preferred_s: int
    valid_s: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says. `refusal` is why there is no prefix, in its words or ours."""

    kind: Kind
    server: bytes
    preference: int
    prefix: Given | None
    address: Given | None
    renew_s: int
    rebind_s: int
    refusal: str


def duid(mac: bytes) -> bytes:
    """By which servers know a client: of its hardware address (DUID-LL, RFC 8415, 11.4)."""
    return struct.pack("!HH", 3, 1) + mac


def message(question: Question) -> bytes:
    """What a datagram to the servers' port carries."""
    return bytes((question.kind,)) + question.transaction + b"".join(_options(question))


def _options(question: Question) -> Iterator[bytes]:
    yield _option(_CLIENT_ID, duid(question.mac))
    if question.server:
        yield _option(_SERVER_ID, question.server)
    yield _option(_ELAPSED, struct.pack("!H", min(int(question.elapsed_s * 100), 0xFFFF)))
    if question.kind is not Kind.RELEASE:
        yield _option(_ORO, struct.pack("!H", _SOL_MAX_RT))
    network = IPv6Network(question.prefix)
    prefix = _option(_IA_PREFIX, _PREFIX.pack(0, 0, network.prefixlen, network.network_address.packed))
    yield _option(_IA_PD, _IA.pack(question.iaid, 0, 0) + prefix)
    if question.address:
        own = IPv6Address(question.address)
        inner = b"" if own.is_unspecified else _option(_IA_ADDR, _ADDRESS.pack(own.packed, 0, 0))
        yield _option(_IA_NA, _IA.pack(question.iaid, 0, 0) + inner)


def _option(code: int, value: bytes) -> bytes:
    return _OPTION.pack(code, len(value)) + value


def read_answer(data: bytes, question: Question) -> Answer | None:
    """The answer to this question; None for anything else."""
    try:
        return _read(data, question)
    except (struct.error, ValueError, IndexError):
        return None


@dataclass(slots=True)
class _Found:
    prefixes: list[Given] = field(default_factory=list)
    addresses: list[Given] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    refusal: str = ""
    too_long: str = ""


def _read(data: bytes, question: Question) -> Answer | None:
    if len(data) < 4 or data[1:4] != question.transaction or data[0] not in (Kind.ADVERTISE, Kind.REPLY):
        return None
    options = list(_parsed(data[4:]))
    known = dict(reversed(options))
    server = known.get(_SERVER_ID, b"")
    if known.get(_CLIENT_ID) != duid(question.mac) or not 0 < len(server) <= 130:
        return None
    if question.server and server != question.server and question.kind is not Kind.REBIND:
        return None
    found = _Found(refusal=_refusal(options))
    for code, value in options:
        if code == _IA_PD and value[:4] == question.iaid:
            _note_prefixes(found, value)
        elif code == _IA_NA and value[:4] == question.iaid and question.address:
            _note_addresses(found, value)
    best = max(found.prefixes, key=lambda one: (one.preferred_s, one.valid_s), default=None)
    words = found.refusal or found.too_long or "the server named no prefix"
    renew_s, rebind_s = _times(found, best)
    return Answer(
        Kind(data[0]),
        server,
        known.get(_PREFERENCE, b"\0")[0],
        best,
        max(found.addresses, key=lambda one: one.preferred_s, default=None),
        renew_s,
        rebind_s,
        "" if best else words,
    )


def _parsed(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Raises `ValueError` for options that end behind the packet."""
    at = 0
    while at < len(data):
        code, length = _OPTION.unpack_from(data, at)
        at += _OPTION.size
        if at + length > len(data):
            raise ValueError("an option is cut off")
        yield code, data[at : at + length]
        at += length


def _refusal(options: list[tuple[int, bytes]]) -> str:
    """The words of a status that is no success."""
    for code, value in options:
        if code == _STATUS and int.from_bytes(value[:2], "big"):
            number = int.from_bytes(value[:2], "big")
            text = "".join(one for one in value[2:202].decode(errors="replace") if one.isprintable())
            known = {2: "the server has no address", 3: "the server does not know this line"}
            known[6] = "the server has no prefix for this line"
            words = known.get(number, f"the server refuses (status {number})")
            return f"{words}: {text}" if text else words
    return ""


def _note_prefixes(found: _Found, value: bytes) -> None:
    _, renew_s, rebind_s = _IA.unpack_from(value)
    options = list(_parsed(value[_IA.size :]))
    found.refusal = found.refusal or _refusal(options)
    for code, inner in options:
        if code != _IA_PREFIX:
            continue
        preferred_s, valid_s, bits, packed = _PREFIX.unpack_from(inner)
        network = IPv6Network((packed, bits), strict=False) if bits <= 128 else None
        if network is None or not _is_sound(network, preferred_s, valid_s):
            continue
        if bits > LONGEST_BITS:
            found.too_long = f"the server gave {network}, which is too small for a network: that takes a /64"
            continue
        found.prefixes.append(_given(str(network), preferred_s, valid_s))
        found.times.append((renew_s, rebind_s))


def _note_addresses(found: _Found, value: bytes) -> None:
    for code, inner in _parsed(value[_IA.size :]):
        if code == _IA_ADDR:
            packed, preferred_s, valid_s = _ADDRESS.unpack_from(inner)
            if _is_sound(IPv6Network(packed), preferred_s, valid_s):
                found.addresses.append(_given(str(IPv6Address(packed)), preferred_s, valid_s))


def _is_sound(network: IPv6Network, preferred_s: int, valid_s: int) -> bool:
    return 0 < valid_s >= preferred_s and any(network.subnet_of(usable) for usable in _USABLE)


def _given(text: str, preferred_s: int, valid_s: int) -> Given:
    return Given(text, min(preferred_s, MAX_LIFETIME_S), min(valid_s, MAX_LIFETIME_S))


def _times(found: _Found, best: Given | None) -> tuple[int, int]:
    """T1 and T2; where the server leaves them to the client, of the preferred lifetime (RFC 8415, 14.2)."""
    if best is None:
        return 0, 0
    renew_s, rebind_s = found.times[found.prefixes.index(best)]
    lasts_s = best.preferred_s or best.valid_s
    renew_s = min(renew_s or lasts_s // 2, best.valid_s)
    rebind_s = min(rebind_s or lasts_s * 4 // 5, best.valid_s)
    renew_s = max(min(renew_s, rebind_s), MIN_RENEW_S)
    return renew_s, max(rebind_s, renew_s)
