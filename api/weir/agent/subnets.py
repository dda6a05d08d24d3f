# SPDX-License-Identifier: Apache-2.0
"""Which part of a delegated prefix each network inside has, and which routers behind are given. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv6Address, IPv6Network, summarize_address_range

from weir.kinds.dhcp6_pools import DelegatedPool
from weir.model.address_range import Span, without
from weir.model.delegation import LAN_BITS


def assigned(
    asked: Mapping[str, int | None], count: int, known: Mapping[str, int], pools: Sequence[Span] = ()
) -> dict[str, int]:
    """By interface, a number below `count`; without those for which there is none.

    `asked`: the number that is configured, or None for any. That is the one that it had (`known`), or else
    the first that nobody has or had; when there is no such one, the first that nobody has now. Of `pools`,
    which are for routers behind, nobody has any but who is configured to.
    """
    found = {name: number for name, number in asked.items() if number is not None and number < count}
    taken = set(found.values())
    free = sorted(name for name, number in asked.items() if number is None)
    for name in free:
        number = known.get(name)
        if number is not None and number < count and number not in taken and not _is_in(pools, number):
            found[name] = number
            taken.add(number)
    had = taken | {number for name, number in known.items() if name not in asked}
    for name in free:
        if name not in found:
            number = _first_without(had, count, pools)
            number = _first_without(taken, count, pools) if number is None else number
            if number is not None:
                found[name] = number
                taken.add(number)
                had.add(number)
    return found


def prefixes_of(prefix: str, pool: DelegatedPool, taken: Collection[int]) -> Iterator[str]:
    """Of what routers behind are given prefixes, in as few prefixes as it takes: without those in which a
    network of this router is, `taken` by their numbers."""
    whole = IPv6Network(prefix)
    blocks, size = pool.blocks(whole.prefixlen), 1 << LAN_BITS - pool.length
    if blocks is None:
        return
    start, shift = int(whole.network_address), 128 - pool.length
    for first, last in without(blocks, {number // size for number in taken}):
        ends = IPv6Address(start + (first << shift)), IPv6Address(start + (last + 1 << shift) - 1)
        yield from map(str, summarize_address_range(*ends))


def _first_without(taken: set[int], count: int, pools: Sequence[Span]) -> int | None:
    number = 0
    while number < count:
        span = next((span for span in pools if span[0] <= number <= span[1]), None)
        if span is not None:
            number = span[1] + 1
        elif number in taken:
            number += 1
        else:
            return number
    return None


def _is_in(pools: Sequence[Span], number: int) -> bool:
    return any(first <= number <= last for first, last in pools)
