# SPDX-License-Identifier: Apache-2.0
"""One frame's way through nftables, as the kernel traces it (uapi/linux/netfilter/nf_tables.h), and where it
is stopped.

A table of our own (`nft.PROOF_TABLE`) marks the frame for tracing before any other chain sees it, drops it
where the router itself would take it, and where it would leave by an interface at which it is not caught; and
drops what the router would tell its sender. The table belongs to this object's socket (`flags owner`, Linux
5.12): it goes with the process.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from weir.adapters import nft
from weir.adapters.netfilter import BEGIN, END, attribute, message, messages, opened
from weir.adapters.rtnl_dump import attributes
from weir.model.problem import Unavailable

_NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN, _NEW_RULE, _GET_RULE, _TRACE, _NEW_OBJECT = (
    10 << 8 | number for number in (0, 2, 3, 6, 7, 17, 18)
)
_SUBSYSTEM = 10
_REQUEST, _ACK, _CREATE, _APPEND = 0x1, 0x4, 0x400, 0x800
_ERROR = 2
_NESTED = 0x8000
_OWNER = 2
_GROUP = 9
"""NFNLGRP_NFTRACE."""
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1
_PREROUTING, _INPUT, _OUTPUT, _POSTROUTING = 0, 1, 3, 4
_FIRST, _LAST = -450, 0x7FFF_FFFE
"""Before and behind all others; behind _LAST only is a connection noted for good (NF_IP_PRI_LAST)."""
_MARK, _OIF, _NFTRACE, _PROTOCOL = 3, 5, 12, 16
_DROP, _ACCEPT = 0, 1
_NETWORK, _TRANSPORT = 1, 2
_TIMEOUT, _TIMEOUT_OBJECT = "short", 7
_RECEIVE_BYTES = 1 << 20
_COMMENT = 0
_LOOPBACK = 1
"""Index of `lo`, by which a frame of the router's to itself comes back."""
POLICY, RETURN, RULE = 1, 2, 3
"""Kinds of steps: what a chain does at its end, its end without that, a rule that matched."""
VERDICTS = {
    0: "drop",
    1: "accept",
    3: "queue",
    -1: "continue",
    -2: "break",
    -3: "jump",
    -4: "goto",
    -5: "return",
}


@dataclass(frozen=True, slots=True)
class Recognised:
    """What tells the frame from all others: bits of its mark, and 8 bytes at a place of its transport header.
    `refusals` are (protocol, offset, bytes) of what would be told its sender (from the transport header on).
    """

    mark: int
    nonce: bytes
    nonce_at: int
    family: int
    protocol: int
    refusals: tuple[tuple[int, int, bytes], ...] = ()


@dataclass(slots=True)
class Traced:
    """One step through nftables. `header` is the IP and the transport header, of the first in each chain."""

    table: str
    chain: str
    kind: int
    verdict: str
    handle: int
    came: int
    leaves: int
    mark: int
    header: bytes
    comment: str | None = None

    @property
    def says(self) -> bool:
        """It is a rule's, or a chain's policy; not the end of a chain, whose handle is 0 (Linux 6.18)."""
        return self.kind == POLICY or (self.kind == RULE and self.handle != 0)


class FrameTrace:
    """As long as it is open; to be used by one thread."""

    def __init__(self, frame: Recognised, caught_at: int, is_tracked: bool) -> None:
        """`caught_at`: index of the interface by which it may go on, 0 = none. `is_tracked`: the kernel
        tracks connections; this is not to make it begin. Raises `Unavailable` where this kernel cannot do
        it."""
        self._ids: set[bytes] = set()
        """Of the frame, as the kernel numbers traces."""
        self._heard = opened()
        try:
            self._heard.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, _GROUP)
            self._owner = opened()
        except BaseException:
            self._heard.close()
            raise
        try:
            with nft.transaction():
                self._make(frame, caught_at, is_tracked)
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            with nft.transaction():
                self._batch([(_DELETE_TABLE, 0, _name(1, nft.PROOF_TABLE))])
        finally:
            self._close()

    def _make(self, frame: Recognised, caught_at: int, is_tracked: bool) -> None:
        plain = list(_table(frame, caught_at))
        try:
            self._batch([*plain, *_short_lived(frame)] if is_tracked else plain)
        except Unavailable:
            if not is_tracked:
                raise
            self._batch(plain)  # a kernel without times for connections

    def _close(self) -> None:
        self._owner.close()
        self._heard.close()

    def _batch(self, parts: Sequence[tuple[int, int, bytes]]) -> None:
        """All of it or nothing."""
        sent = [message(BEGIN, _REQUEST, 0, b"", _SUBSYSTEM)]
        sent += [
            message(kind, _REQUEST | _ACK | flags, at, body)
            for at, (kind, flags, body) in enumerate(parts, 1)
        ]
        self._owner.send(b"".join((*sent, message(END, _REQUEST, 0, b"", _SUBSYSTEM))))
        waiting, first = len(parts), 0
        while waiting:
            for kind, _, payload in messages(self._owner.recv(1 << 16)):
                if kind == _ERROR:
                    first = first or -struct.unpack_from("=i", payload)[0]
                    waiting -= 1
        if first:
            text = f"the kernel refuses the table that traces a frame: {os.strerror(first)}"
            raise Unavailable(text, code="no-trace")

    def told(self, most_s: float) -> list[Traced]:
        """What is traced of the frame, in order, until it is over, or nothing more comes for so long. Rules
        have their comments."""
        found: list[Traced] = []
        while not (found and _is_over(found[-1])) and select.select([self._heard], [], [], most_s)[0]:
            found += self._read()
        for item in found:
            if item.kind == RULE and item.handle and item.table != nft.PROOF_TABLE:
                item.comment = self._comment(item)
        return found

    def _read(self) -> Iterator[Traced]:
        for kind, _, payload in messages(self._heard.recv(_RECEIVE_BYTES)):
            if kind != _TRACE:
                continue
            said = attributes(payload, 4)
            if _text(said.get(1)) == nft.PROOF_TABLE:
                self._ids.add(said.get(6, b""))
            if said.get(6) in self._ids:
                yield _step(said)

    def _comment(self, item: Traced) -> str | None:
        """None: the rule is gone, or has none."""
        body = _name(1, item.table) + _name(2, item.chain) + attribute(3, struct.pack("!Q", item.handle))
        self._owner.send(message(_GET_RULE, _REQUEST, 99, body))
        for kind, _, payload in messages(self._owner.recv(1 << 16)):
            if kind == _ERROR:
                return None
            return _comment_of(attributes(payload, 4).get(7, b""))
        return None


def _comment_of(user_data: bytes) -> str | None:
    """Type, length, value (libnftnl/udata.h)."""
    at = 0
    while at + 2 <= len(user_data):
        kind, length = user_data[at], user_data[at + 1]
        if kind == _COMMENT:
            return user_data[at + 2 : at + 2 + length].rstrip(b"\0").decode(errors="replace")
        at += 2 + length
    return None


def _step(said: dict[int, bytes]) -> Traced:
    verdict = attributes(said[5]).get(1) if 5 in said else None
    code = struct.unpack("!i", verdict)[0] if verdict else struct.unpack("!i", said.get(16, b"\0\0\0\1"))[0]
    return Traced(
        _text(said.get(1)),
        _text(said.get(2)),
        _number(said.get(4)),
        VERDICTS.get(code, str(code)),
        int.from_bytes(said.get(3, b""), "big"),
        _number(said.get(10)),
        _number(said.get(12)),
        _number(said.get(14)),
        said.get(8, b"") + said.get(9, b""),
    )


def _is_over(step: Traced) -> bool:
    """It was dropped, or is past the last chain."""
    return step.verdict == "drop" or (
        step.table == nft.PROOF_TABLE and step.chain == "leaves" and step.leaves != _LOOPBACK
    )


def _number(value: bytes | None) -> int:
    return int.from_bytes(value or b"", "big")


def _text(value: bytes | None) -> str:
    return (value or b"").rstrip(b"\0").decode(errors="replace")


def _table(frame: Recognised, caught_at: int) -> Iterator[tuple[int, int, bytes]]:
    yield _NEW_TABLE, _CREATE, _name(1, nft.PROOF_TABLE) + _be32(2, _OWNER)
    hooks = {
        "enters": (_PREROUTING, _FIRST),
        "begins": (_OUTPUT, _FIRST),
        "taken": (_INPUT, _LAST),
        "lives": (_POSTROUTING, _LAST - 1),
        "leaves": (_POSTROUTING, _LAST),
    }
    for name, (hook, priority) in hooks.items():
        yield _NEW_CHAIN, _CREATE, _chain(name, hook, priority)
    known = _is_frame(frame)
    traced = _immediate(1, _nested(1, b"\x01")) + _meta_set(_NFTRACE)
    for name in ("enters", "begins"):
        yield _rule(name, known + traced)
    for protocol, at, words in frame.refusals:
        test = _loaded_meta(_PROTOCOL, bytes([protocol])) + _payload(_TRANSPORT, at, words)
        yield _rule("begins", test + _verdict(_DROP))
    yield _rule("taken", known + _verdict(_DROP))
    for index in filter(None, (_LOOPBACK, caught_at)):
        yield _rule("leaves", known + _loaded_meta(_OIF, struct.pack("=I", index)) + _verdict(_ACCEPT))
    yield _rule("leaves", known + _verdict(_DROP))


def _short_lived(frame: Recognised) -> Iterator[tuple[int, int, bytes]]:
    """The frame's connection is forgotten in a second, also when nobody is left to remove it."""
    of = struct.pack("!H", socket.AF_INET if frame.family == 4 else socket.AF_INET6)
    times = attribute(1, of) + attribute(2, bytes([frame.protocol])) + _nested(3, _be32(1, 1))
    made = _name(1, nft.PROOF_TABLE) + _name(2, _TIMEOUT) + _be32(3, _TIMEOUT_OBJECT) + _nested(4, times)
    yield _NEW_OBJECT, _CREATE, made
    gets = _expression("objref", _be32(1, _TIMEOUT_OBJECT) + _name(2, _TIMEOUT))
    yield _rule("lives", _is_frame(frame) + gets)


def _is_frame(frame: Recognised) -> bytes:
    bits = struct.pack("=I", frame.mark)
    return (
        _expression("meta", _be32(1, 1) + _be32(2, _MARK))
        + _expression(
            "bitwise",
            _be32(1, 1)
            + _be32(2, 1)
            + _be32(3, 4)
            + _nested(4, attribute(1, bits))
            + _nested(5, attribute(1, bytes(4))),
        )
        + _compared(bits)
        + _loaded_meta(_PROTOCOL, bytes([frame.protocol]))
        + _payload(_TRANSPORT, frame.nonce_at, frame.nonce)
    )


def _chain(name: str, hook: int, priority: int) -> bytes:
    placed = _be32(1, hook) + attribute(2, struct.pack("!i", priority))
    return (
        _name(1, nft.PROOF_TABLE)
        + _name(3, name)
        + attribute(4 | _NESTED, placed)
        + _be32(5, _ACCEPT)
        + _name(7, "filter")
    )


def _rule(chain: str, expressions: bytes) -> tuple[int, int, bytes]:
    body = _name(1, nft.PROOF_TABLE) + _name(2, chain) + attribute(4 | _NESTED, expressions)
    return _NEW_RULE, _CREATE | _APPEND, body


def _expression(name: str, data: bytes) -> bytes:
    return attribute(1 | _NESTED, _name(1, name) + attribute(2 | _NESTED, data))


def _compared(value: bytes) -> bytes:
    return _expression("cmp", _be32(1, 1) + _be32(2, 0) + _nested(3, attribute(1, value)))


def _loaded_meta(key: int, value: bytes) -> bytes:
    return _expression("meta", _be32(1, 1) + _be32(2, key)) + _compared(value)


def _meta_set(key: int) -> bytes:
    return _expression("meta", _be32(2, key) + _be32(3, 1))


def _payload(base: int, offset: int, value: bytes) -> bytes:
    where = _be32(1, 1) + _be32(2, base) + _be32(3, offset) + _be32(4, len(value))
    return _expression("payload", where) + _compared(value)


def _immediate(register: int, data: bytes) -> bytes:
    return _expression("immediate", _be32(1, register) + attribute(2 | _NESTED, data))


def _verdict(code: int) -> bytes:
    return _immediate(0, _nested(2, _be32(1, code)))


def _nested(kind: int, data: bytes) -> bytes:
    return attribute(kind | _NESTED, data)


def _be32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!I", value))


def _name(kind: int, text: str) -> bytes:
    return attribute(kind, text.encode() + b"\0")
