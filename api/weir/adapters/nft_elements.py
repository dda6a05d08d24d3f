# SPDX-License-Identifier: Apache-2.0
"""Elements of nftables sets, and named counters, by netlink (uapi/linux/netfilter/nf_tables.h).

`nft` lists every set of the system before it adds one element: with 100,000 in interval sets that takes a
second and more, whatever set the element is for. The kernel itself needs microseconds. Sets are made by nft;
only their elements are put in, taken out and read here, each change as one transaction.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weir.adapters.netfilter import BEGIN as _BEGIN
from weir.adapters.netfilter import END as _END
from weir.adapters.netfilter import FAMILY_INET as _INET
from weir.adapters.netfilter import attribute as _attribute
from weir.adapters.netfilter import kept as _kept
from weir.adapters.netfilter import message as _message
from weir.adapters.netfilter import messages as _messages
from weir.adapters.netfilter import opened as _opened
from weir.model.problem import ApplyFailed, Unavailable

_SUBSYSTEM = 10
_NEW, _GET, _DELETE = (_SUBSYSTEM << 8 | number for number in (12, 13, 14))
_GET_GENERATION = _SUBSYSTEM << 8 | 16
_GET_OBJECT = _SUBSYSTEM << 8 | 19
_OBJECT_TABLE, _OBJECT_TYPE, _COUNTER = 1, 3, 1
_REQUEST, _ACK, _DUMP, _CREATE = 0x1, 0x4, 0x300, 0x400
_ERROR, _DONE = 2, 3
_NESTED, _FLAG_BITS = 0x8000, 0xC000
_TABLE, _SET, _ELEMENTS = 1, 2, 3
_ELEMENT = 1 | _NESTED
_KEY = _VALUE = 1
_EXPIRATION = 5
_ATTRIBUTE = struct.Struct("=HH")
_KEY_AT = 3 * _ATTRIBUTE.size
"""Where the key of an element begins, behind the heads of its attributes."""
_PER_MESSAGE = 1000
"""Elements in one message: their list is an attribute of at most 64 KiB."""
_ASKED_AT_ONCE = 500
_TRIES, _RESIZE_S = 50, 0.02
_RECEIVE_BYTES = 1 << 20
_ENOENT = 2


NOT_THERE = "no-such-element"
"""The code of the problem when something to remove is not there."""


class Changed(NamedTuple):
    """What one set gets and loses: keys in network byte order."""

    set: str
    added: Sequence[bytes]
    removed: Sequence[bytes]


def change(table: str, changes: Sequence[Changed], family: int = _INET) -> None:
    """All of it or nothing. Raises `ApplyFailed` naming the set, and `Unavailable` without nftables."""
    batch = _Batch(table, family)
    for item in changes:
        batch.take(_DELETE, item.set, item.removed)
    for item in changes:
        batch.take(_NEW, item.set, item.added)
    if batch.sets:
        batch.send()


def keys(table: str, name: str, family: int = _INET) -> frozenset[bytes]:
    """What a set holds. Raises `ApplyFailed` when there is no such set, `Unavailable` when it is always busy.

    A set that the kernel is making room for is told with elements twice, and with others not at all.
    """
    for _ in range(_TRIES):
        found = [key for payload in _answers(table, name, family) for key in _parsed(payload)]
        once = frozenset(found)
        if len(once) == len(found):
            return once
        time.sleep(_RESIZE_S)
    raise Unavailable(f"the set {name} is resized all the time", code="set-busy")


def learnt(table: str, name: str) -> dict[bytes, int]:
    """What packets added to a set: the milliseconds until each element is forgotten. Raises as `keys`."""
    found: dict[bytes, int] = {}
    for payload in _answers(table, name):
        for kind, first, end in _attributes(payload, 4, len(payload)):
            if kind == _ELEMENTS:
                for _, inner, last in _attributes(payload, first, end):
                    found[_key(payload, inner, last)] = _expires_ms(payload, inner, last)
    return found


def _expires_ms(payload: bytes, at: int, end: int) -> int:
    found = (first for kind, first, _ in _attributes(payload, at, end) if kind == _EXPIRATION)
    return int(next((struct.unpack_from("!Q", payload, first)[0] for first in found), 0))


def _answers(table: str, name: str, family: int = _INET) -> Iterator[bytes]:
    """The messages that tell a set."""
    with _opened() as link:
        link.send(_message(_GET, _REQUEST | _DUMP, 1, _place(table, name), family=family))
        while True:
            for kind, _, payload in _messages(link.recv(_RECEIVE_BYTES)):
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    _raise(-struct.unpack_from("=i", payload)[0], f"set {name}")
                yield payload


def held(table: str, name: str, asked: Sequence[bytes]) -> set[bytes]:
    """Which of these a set has, each asked for alone: the others are not looked at."""
    found: set[bytes] = set()
    place = _place(table, name)
    with _opened() as link:
        for first in range(0, len(asked), _ASKED_AT_ONCE):
            some = asked[first : first + _ASKED_AT_ONCE]
            asking = (
                _message(_GET, _REQUEST | _ACK, at, place + _listed([key])) for at, key in enumerate(some)
            )
            link.send(b"".join(asking))
            found.update(_answered(link, len(some), f"set {name}"))
    return found


def generation() -> int:
    """The number of the last change of nftables in this network namespace, by anybody."""
    with _kept() as link:
        link.send(_message(_GET_GENERATION, _REQUEST, 1, b""))
        for kind, _, payload in _messages(link.recv(_RECEIVE_BYTES)):
            if kind != _ERROR:
                return int(struct.unpack_from("!I", payload, 8)[0])
    raise Unavailable("nftables did not say its generation", code="bad-answer")


def ask_objects(table: str, family: int = _INET) -> Iterator[dict[int, bytes]]:
    """The attributes of each named counter of a table (NFTA_OBJ_*); nothing where there is no such table.
    Raises `Unavailable`, `ApplyFailed`."""
    counters = _attribute(_OBJECT_TYPE, struct.pack("!I", _COUNTER))
    asked = _attribute(_OBJECT_TABLE, table.encode() + b"\0") + counters
    with _opened() as link:
        link.send(_message(_GET_OBJECT, _REQUEST | _DUMP, 1, asked, family=family))
        while True:
            for kind, _, payload in _messages(link.recv(_RECEIVE_BYTES)):
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    _raise(-struct.unpack_from("=i", payload)[0], f"counters of {table}")
                every = _attributes(payload, 4, len(payload))
                yield {number: payload[first:end] for number, first, end in every}


def _answered(link: socket.socket, count: int, where: str) -> Iterator[bytes]:
    """Of each question the element, if it is there, and an acknowledgement; or an error."""
    while count:
        for kind, _, payload in _messages(link.recv(_RECEIVE_BYTES)):
            if kind != _ERROR:
                yield from _parsed(payload)
                continue
            code = -struct.unpack_from("=i", payload)[0]
            if code not in (0, _ENOENT):
                _raise(code, where)
            count -= 1


class _Batch:
    def __init__(self, table: str, family: int) -> None:
        self._table, self._family = table, family
        self._parts = [_message(_BEGIN, _REQUEST, 0, b"", _SUBSYSTEM)]
        self.sets: list[str] = []

    def take(self, kind: int, name: str, asked: Sequence[bytes]) -> None:
        place = _place(self._table, name)
        flags = _REQUEST | _ACK | (_CREATE if kind == _NEW else 0)
        for first in range(0, len(asked), _PER_MESSAGE):
            some = asked[first : first + _PER_MESSAGE]
            self.sets.append(name)
            asking = place + _listed(some)
            self._parts.append(_message(kind, flags, len(self.sets), asking, family=self._family))

    def send(self) -> None:
        self._parts.append(_message(_END, _REQUEST, 0, b"", _SUBSYSTEM))
        with _opened() as link:
            link.send(b"".join(self._parts))
            waiting = len(self.sets)
            while waiting:
                for kind, _, payload in _messages(link.recv(_RECEIVE_BYTES)):
                    if kind == _ERROR:
                        self._judge(payload)
                        waiting -= 1

    def _judge(self, payload: bytes) -> None:
        """Behind the error is the header of the message that it is about."""
        code, number = -struct.unpack_from("=i", payload)[0], struct.unpack_from("=I", payload, 12)[0]
        if code:
            _raise(code, f"set {self.sets[number - 1]}" if 0 < number <= len(self.sets) else "sets")


def _raise(code: int, where: str) -> None:
    name = NOT_THERE if code == _ENOENT else "kernel-refused"
    raise ApplyFailed(f"{where}: {os.strerror(code)}", code=name, path="sets")


def _place(table: str, name: str) -> bytes:
    return _attribute(_TABLE, table.encode() + b"\0") + _attribute(_SET, name.encode() + b"\0")


def _listed(asked: Sequence[bytes]) -> bytes:
    """All keys of a set have one length: what stands before each is the same."""
    whole = _attribute(_ELEMENT, _attribute(_KEY | _NESTED, _attribute(_VALUE, asked[0])))
    before, after = whole[:_KEY_AT], whole[_KEY_AT + len(asked[0]) :]
    return _attribute(_ELEMENTS | _NESTED, before + (after + before).join(asked) + after)


def _attributes(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Type, first byte and the one behind the last."""
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        yield kind & ~_FLAG_BITS, at + _ATTRIBUTE.size, at + length
        at += (length + 3) & ~3


def _parsed(payload: bytes) -> list[bytes]:
    """The keys of a message with elements, behind nfnetlink's header."""
    for kind, first, end in _attributes(payload, 4, len(payload)):
        if kind == _ELEMENTS:
            return _keys(payload, first, end)
    return []


def _keys(payload: bytes, first: int, end: int) -> list[bytes]:
    """Elements that are nothing but a key are alike, so their keys lie at equal distances."""
    if first == end:
        return []
    each = (_ATTRIBUTE.unpack_from(payload, first)[0] + 3) & ~3
    key_bytes = _ATTRIBUTE.unpack_from(payload, first + 8)[0] - 4
    head = payload[first : first + _KEY_AT]
    if head * ((end - first) // each) == _heads(payload, first, end, each):
        return [payload[at : at + key_bytes] for at in range(first + _KEY_AT, end, each)]
    return [_key(payload, inner, last) for _, inner, last in _attributes(payload, first, end)]


def _heads(payload: bytes, first: int, end: int, each: int) -> bytes:
    return b"".join([payload[at : at + _KEY_AT] for at in range(first, end, each)])


def _key(payload: bytes, at: int, end: int) -> bytes:
    found = (payload[first + 4 : last] for kind, first, last in _attributes(payload, at, end) if kind == _KEY)
    return next(found, b"")
