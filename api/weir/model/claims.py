# SPDX-License-Identifier: Apache-2.0
"""Which queues name which prefixes, and the two questions that matter: what covers one, what lies in it.

A prefix is packed into one integer, `domain | family | value | length`, so that a table of several
hundred thousand costs some tens of bytes per entry and sorts into address order, where everything inside a
prefix follows it directly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from weir.model.prefix import WIDTH, Prefix

Claimants = str | tuple[str, ...]
"""One queue's id, or several: most prefixes are named once, and a tuple for each would cost megabytes."""

_LENGTH_BITS = 8
_VALUE_BITS = 128
_FAMILY_SHIFT = _LENGTH_BITS + _VALUE_BITS
_DOMAIN_SHIFT = _FAMILY_SHIFT + 1
_LENGTH_MASK = (1 << _LENGTH_BITS) - 1
_VALUE_MASK = (1 << _VALUE_BITS) - 1


def pack(prefix: Prefix, domain: int = 0) -> int:
    """The sortable integer of a prefix; IPv4 sorts before IPv6 within a domain."""
    family_bit = 1 if prefix.family == 6 else 0
    return ((domain << 1 | family_bit) << _FAMILY_SHIFT) | prefix.value << _LENGTH_BITS | prefix.length


def unpack(packed: int) -> tuple[int, Prefix]:
    """The domain and the prefix."""
    family = 6 if packed >> _FAMILY_SHIFT & 1 else 4
    value = packed >> _LENGTH_BITS & _VALUE_MASK
    return packed >> _DOMAIN_SHIFT, Prefix(family, value, packed & _LENGTH_MASK)


def last_inside(packed: int) -> int:
    """The largest integer that a prefix inside this one can have: `[packed, last_inside]` holds them all."""
    width = WIDTH[6 if packed >> _FAMILY_SHIFT & 1 else 4]
    host_mask = (1 << (width - (packed & _LENGTH_MASK))) - 1
    return packed | host_mask << _LENGTH_BITS | _LENGTH_MASK


class PrefixClaims:
    """A set of (prefix, queue id) pairs. Finding covering prefixes costs one lookup per length in use."""

    def __init__(self) -> None:
        self._claims: dict[int, Claimants] = {}
        self._ordered: list[int] | None = None
        self._lengths: dict[int, dict[int, int]] = {}
        """Per (domain, family): length -> number of prefixes of that length."""

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, packed: object) -> bool:
        return packed in self._claims

    def __iter__(self) -> Iterator[int]:
        """The prefixes in address order."""
        return iter(self._in_order())

    def get(self, packed: int) -> tuple[str, ...]:
        """The ids that name exactly this prefix, in the order they were given."""
        found = self._claims.get(packed, ())
        return (found,) if isinstance(found, str) else found

    def set(self, packed: int, ids: tuple[str, ...]) -> None:
        """Replace who names a prefix; nobody removes it."""
        present = packed in self._claims
        if ids:
            self._claims[packed] = ids[0] if len(ids) == 1 else ids
            if not present:
                self._count(packed, 1)
                if self._ordered is not None:
                    insort(self._ordered, packed)
        elif present:
            del self._claims[packed]
            self._count(packed, -1)
            if self._ordered is not None:
                del self._ordered[bisect_left(self._ordered, packed)]

    def add(self, packed: int, queue_id: str) -> None:
        ids = self.get(packed)
        if queue_id not in ids:
            self.set(packed, (*ids, queue_id))

    def discard(self, packed: int, queue_id: str) -> None:
        ids = self.get(packed)
        if queue_id in ids:
            self.set(packed, tuple(other for other in ids if other != queue_id))

    def covering(self, packed: int) -> Iterator[int]:
        """The prefixes that strictly cover this one, the shortest first. It need not be in the set."""
        length = packed & _LENGTH_MASK
        width = WIDTH[6 if packed >> _FAMILY_SHIFT & 1 else 4]
        without_length = packed >> _LENGTH_BITS
        for shorter in self._lengths_of(packed):
            if shorter >= length:
                return
            shift = width - shorter
            candidate = without_length >> shift << (shift + _LENGTH_BITS) | shorter
            if candidate in self._claims:
                yield candidate

    def inside(self, packed: int) -> list[int]:
        """The prefixes that this one covers, itself included if it is in the set, in address order."""
        ordered = self._in_order()
        return ordered[bisect_left(ordered, packed) : bisect_right(ordered, last_inside(packed))]

    def of_address(self, address: Prefix, domain: int = 0) -> list[int]:
        """The prefixes that hold an address (or a whole prefix), the shortest first."""
        packed = pack(address, domain)
        found = list(self.covering(packed))
        return [*found, packed] if packed in self._claims else found

    def replace_all(self, claims: dict[int, Claimants]) -> None:
        """Take over a whole table, faster than one by one."""
        self._claims = claims
        self._ordered = None
        self._lengths = {}
        for packed in claims:
            self._count(packed, 1)
        for group, counts in self._lengths.items():
            self._lengths[group] = dict(sorted(counts.items()))

    def _in_order(self) -> list[int]:
        if self._ordered is None:
            self._ordered = sorted(self._claims)
        return self._ordered

    def _lengths_of(self, packed: int) -> Iterable[int]:
        return self._lengths.get(packed >> _FAMILY_SHIFT, ())

    def _count(self, packed: int, difference: int) -> None:
        group, length = packed >> _FAMILY_SHIFT, packed & _LENGTH_MASK
        counts = self._lengths.setdefault(group, {})
        before = counts.get(length, 0)
        counts[length] = before + difference
        if not counts[length]:
            del counts[length]
        elif not before:
            self._lengths[group] = dict(sorted(counts.items()))
