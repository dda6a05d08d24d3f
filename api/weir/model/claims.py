# SPDX-License-Identifier: Apache-2.0
"""Which queues name which prefixes, and the two questions that matter: what covers one, what lies in it.

A prefix is packed into one integer, `domain | family | value | length`, so that a table of several
hundred thousand costs some tens of bytes per entry and sorts into address order, where everything inside a
prefix follows it directly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator

from weir.model.prefix import WIDTH, Prefix

Claimants = str | dict[str, None]
"""One queue's id, or several as an ordered set: most prefixes are named once, some exports name one a
thousand times."""

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

    def get(self, packed: int) -> Collection[str]:
        """The ids that name exactly this prefix, in the order they were given; not to be changed."""
        found = self._claims.get(packed, ())
        return (found,) if isinstance(found, str) else found

    def first(self, packed: int) -> str | None:
        """The first of `get`."""
        found = self._claims.get(packed)
        return found if found is None or isinstance(found, str) else next(iter(found))

    def set(self, packed: int, ids: Collection[str]) -> None:
        """Replace who names a prefix; nobody removes it."""
        if not ids:
            self._remove(packed)
            return
        if packed not in self._claims:
            self._insert(packed)
        self._claims[packed] = next(iter(ids)) if len(ids) == 1 else dict.fromkeys(ids)

    def add(self, packed: int, queue_id: str) -> None:
        found = self._claims.get(packed)
        if found is None:
            self._insert(packed)
            self._claims[packed] = queue_id
        elif isinstance(found, dict):
            found[queue_id] = None
        elif found != queue_id:
            self._claims[packed] = {found: None, queue_id: None}

    def discard(self, packed: int, queue_id: str) -> None:
        found = self._claims.get(packed)
        if isinstance(found, dict):
            found.pop(queue_id, None)
            if len(found) == 1:
                self._claims[packed] = next(iter(found))
        elif found == queue_id:
            self._remove(packed)

    def _insert(self, packed: int) -> None:
        self._count(packed, 1)
        if self._ordered is not None:
            insort(self._ordered, packed)

    def _remove(self, packed: int) -> None:
        if self._claims.pop(packed, None) is not None:
            self._count(packed, -1)
            if self._ordered is not None:
                del self._ordered[bisect_left(self._ordered, packed)]

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
