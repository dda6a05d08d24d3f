# SPDX-License-Identifier: Apache-2.0
"""Attributes of nfnetlink, and the sets that belong to one rule alone, as nft makes them (1.0.6 and 1.1)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from weir.adapters.netfilter import attribute

_NESTED = 0x8000
_KEY, _VALUE, _FLAGS, _USERDATA = 1, 1, 3, 6
"""Of an element."""
_INTERVAL_END = 1
_OPEN = bytes((1, 4, 1, 0, 0, 0))
"""What nft keeps of an element behind which all are in the set."""

Fields = Mapping[int, "bytes | Fields | AnonymousSet"]
"""Attributes by their number; those that nest others as a mapping of its own. A set that is looked at by one
rule alone stands for its name, which the kernel gives."""


class AnonymousSet(NamedTuple):
    """`type`: nft's number of the type of its keys; `order`: that of their bytes, as nft calls it."""

    type: int
    order: int
    is_interval: bool
    elements: tuple[Fields, ...]

    @property
    def key_bytes(self) -> int:
        return len(key_of(self.elements[0]))


Key = Callable[[Any], bytes]
"""A value of JSON as the kernel compares it."""


class NotKnown(Exception):
    """Something that only nft can say to the kernel."""


def to_bytes(fields: Fields) -> bytes:
    """As attributes, but for a set that has no name yet."""
    return b"".join(
        attribute(kind, value) if isinstance(value, bytes) else attribute(kind | _NESTED, to_bytes(value))
        for kind, value in fields.items()
        if not isinstance(value, AnonymousSet)
    )


def key_of(element: Fields) -> bytes:
    """The key of a set's element."""
    outer = element[_KEY]
    assert isinstance(outer, Mapping)
    key = outer[_VALUE]
    assert isinstance(key, bytes)
    return key


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def be32(value: int) -> bytes:
    return struct.pack("!i", value)


def elements_of(values: Sequence[Any], key: Key) -> tuple[bool, tuple[Fields, ...]]:
    """Whether they are intervals; of these each has an element where it begins and one behind its end."""
    if not any(isinstance(value, dict) for value in values):
        return False, tuple({_KEY: {_VALUE: key(value)}} for value in values)
    spans = sorted(_ends(value, key) for value in values)
    size = len(spans[0][0])
    found: list[Fields] = [] if not any(spans[0][0]) else [_end(bytes(size))]
    for number, (first, last) in enumerate(spans):
        if number and first <= _next(spans[number - 1][1]):
            raise NotKnown("intervals that touch")
        if last == b"\xff" * size:
            found.append({_KEY: {_VALUE: first}, _USERDATA: _OPEN})
        else:
            found += [{_KEY: {_VALUE: first}}, _end(_next(last))]
    return True, tuple(found)


def _end(key: bytes) -> Fields:
    return {_KEY: {_VALUE: key}, _FLAGS: be32(_INTERVAL_END)}


def _next(key: bytes) -> bytes:
    return ((int.from_bytes(key, "big") + 1) % (1 << 8 * len(key))).to_bytes(len(key), "big")


def _ends(value: Any, key: Key) -> tuple[bytes, bytes]:
    """The first and the last key of a value."""
    if not isinstance(value, dict):
        return key(value), key(value)
    if "range" in value:
        first, last = value["range"]
        return key(first), key(last)
    first = key(value["prefix"]["addr"])
    host = (1 << 8 * len(first) - int(value["prefix"]["len"])) - 1
    return first, (int.from_bytes(first, "big") | host).to_bytes(len(first), "big")
