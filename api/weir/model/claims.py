# SPDX-License-Identifier: Apache-2.0
"""Which queues name which prefixes, and the two questions that matter: what covers one, what lies in it.

A prefix is packed into one integer, `domain | family | value | length`, so that a table of several
hundred thousand costs some tens of bytes per entry and sorts into address order, where everything inside a
prefix follows it directly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator
from heapq import merge

from weir.model.frozen import FrozenPrefixes
from weir.model.prefix import WIDTH, Prefix, parse_prefix_in_domain, plain_prefix, text_in_domain

Claimants = str | dict[str, None]
"""One queue's id, or several as an ordered set: most prefixes are named once, some exports name one a
thousand times."""

_LENGTH_BITS = 8
_VALUE_BITS = 128
_FAMILY_SHIFT = _LENGTH_BITS + _VALUE_BITS
_DOMAIN_SHIFT = _FAMILY_SHIFT + 1
_LENGTH_MASK = (1 << _LENGTH_BITS) - 1
_VALUE_MASK = (1 << _VALUE_BITS) - 1
_END_OF_DOMAIN_0 = 1 << _DOMAIN_SHIFT


def pack(prefix: Prefix, domain: int = 0) -> int:
    """The sortable integer of a prefix; IPv4 sorts before IPv6 within a domain."""
    family_bit = 1 if prefix.family == 6 else 0
    return ((domain << 1 | family_bit) << _FAMILY_SHIFT) | prefix.value << _LENGTH_BITS | prefix.length


def pack_text(text: str) -> int:
    """As `pack`, of a target's text."""
    found = plain_prefix(text)
    if found is None:
        domain, prefix = parse_prefix_in_domain(text)
        return pack(prefix, domain)
    family, value, length = found
    return (family == 6) << _FAMILY_SHIFT | value << _LENGTH_BITS | length


def text_of(packed: int) -> str:
    """The target that `pack_text` gives this for."""
    return text_in_domain(*unpack(packed))


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
    """A set of (prefix, queue id) pairs. Finding covering prefixes costs one lookup per length in use.

    After `freeze` the pairs are in sorted arrays, and what changes since lies over them.
    """

    def __init__(self) -> None:
        self._frozen: FrozenPrefixes[Claimants] = FrozenPrefixes()
        self._claims: dict[int, Claimants | None] = {}
        """What is not frozen; None for a frozen prefix that nobody names any more."""
        self._ordered: list[int] | None = None
        """The keys of `_claims`."""
        self._count = 0
        self._lengths: dict[int, dict[int, int]] = {}
        """Per (domain, family): length -> number of prefixes of that length."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, packed: object) -> bool:
        return isinstance(packed, int) and self._find(packed) is not None

    def __iter__(self) -> Iterator[int]:
        """The prefixes in address order."""
        if not len(self._frozen):
            return iter([packed for packed in self._in_order() if self._claims[packed] is not None])
        kept = (packed for packed in self._frozen if packed not in self._claims)
        return merge(kept, (packed for packed in self._in_order() if self._claims[packed] is not None))

    def get(self, packed: int) -> Collection[str]:
        """The ids that name exactly this prefix, in the order they were given; not to be changed."""
        found = self._find(packed)
        return () if found is None else (found,) if isinstance(found, str) else found

    def first(self, packed: int) -> str | None:
        """The first of `get`."""
        found = self._find(packed)
        return found if found is None or isinstance(found, str) else next(iter(found))

    def set(self, packed: int, ids: Collection[str]) -> None:
        """Replace who names a prefix; nobody removes it."""
        if ids:
            self._put(packed, next(iter(ids)) if len(ids) == 1 else dict.fromkeys(ids))
        else:
            self._remove(packed)

    def add(self, packed: int, queue_id: str) -> None:
        found = self._find(packed)
        if found is None:
            self._count_length(packed, 1)
            self._lay_over(packed, queue_id)
        elif isinstance(found, dict):
            found[queue_id] = None
        elif found != queue_id:
            self._lay_over(packed, {found: None, queue_id: None})

    def discard(self, packed: int, queue_id: str) -> None:
        found = self._find(packed)
        if isinstance(found, dict):
            found.pop(queue_id, None)
            if len(found) == 1:
                self._lay_over(packed, next(iter(found)))
        elif found == queue_id:
            self._remove(packed)

    def copy(self) -> PrefixClaims:
        """One that is changed by `set` only, as `add` and `discard` change what both hold."""
        twin = PrefixClaims()
        twin._frozen, twin._claims, twin._count = self._frozen, dict(self._claims), self._count
        twin._lengths = {group: dict(counts) for group, counts in self._lengths.items()}
        return twin

    def freeze(self) -> None:
        """Into arrays; what changes from now on lies over them."""
        if all(packed >= _END_OF_DOMAIN_0 for packed in self._claims):
            return
        pairs = ((packed, self._find(packed)) for packed in self if packed < _END_OF_DOMAIN_0)
        frozen = FrozenPrefixes((packed, found) for packed, found in pairs if found is not None)
        self._claims = {packed: found for packed, found in self._claims.items() if packed >= _END_OF_DOMAIN_0}
        self._frozen, self._ordered = frozen, None

    def _find(self, packed: int) -> Claimants | None:
        if self._claims and packed in self._claims:
            return self._claims[packed]
        at = self._frozen.place(packed)
        return None if at is None else self._frozen.values[at]

    def _put(self, packed: int, found: Claimants) -> None:
        if self._find(packed) is None:
            self._count_length(packed, 1)
        self._lay_over(packed, found)

    def _remove(self, packed: int) -> None:
        if self._find(packed) is None:
            return
        self._count_length(packed, -1)
        if self._frozen.place(packed) is not None:
            self._lay_over(packed, None)
            return
        del self._claims[packed]
        if self._ordered is not None:
            del self._ordered[bisect_left(self._ordered, packed)]

    def _lay_over(self, packed: int, found: Claimants | None) -> None:
        if self._ordered is not None and packed not in self._claims:
            insort(self._ordered, packed)
        self._claims[packed] = found

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
            if self._find(candidate) is not None:
                yield candidate

    def inside(self, packed: int) -> list[int]:
        """The prefixes that this one covers, itself included if it is in the set, in address order."""
        end, ordered = last_inside(packed), self._in_order()
        over = ordered[bisect_left(ordered, packed) : bisect_right(ordered, end)]
        found = [inner for inner in over if self._claims[inner] is not None]
        if not len(self._frozen):
            return found
        places = range(self._frozen.lower(packed), self._frozen.lower(end + 1))
        frozen = (inner for inner in map(self._frozen.__getitem__, places) if inner not in self._claims)
        return sorted([*found, *frozen])

    def of_address(self, address: Prefix, domain: int = 0) -> list[int]:
        """The prefixes that hold an address (or a whole prefix), the shortest first."""
        packed = pack(address, domain)
        found = list(self.covering(packed))
        return [*found, packed] if packed in self else found

    def replace_all(self, claims: dict[int, Claimants]) -> None:
        """Take over a whole table, faster than one by one."""
        self._frozen, self._claims, self._ordered = FrozenPrefixes(), {**claims}, None
        self._lengths, self._count = {}, 0
        for packed in claims:
            self._count_length(packed, 1)

    def _in_order(self) -> list[int]:
        if self._ordered is None:
            self._ordered = sorted(self._claims)
        return self._ordered

    def _lengths_of(self, packed: int) -> Iterable[int]:
        return self._lengths.get(packed >> _FAMILY_SHIFT, ())

    def _count_length(self, packed: int, difference: int) -> None:
        self._count += difference
        group, length = packed >> _FAMILY_SHIFT, packed & _LENGTH_MASK
        counts = self._lengths.setdefault(group, {})
        before = counts.get(length, 0)
        counts[length] = before + difference
        if not counts[length]:
            del counts[length]
        elif not before:
            self._lengths[group] = dict(sorted(counts.items()))
