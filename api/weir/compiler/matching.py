# SPDX-License-Identifier: Apache-2.0
"""Ordered first-match over a tree, compiled to longest-prefix match with the same answer (docs/adr/0010).

A packet walks the list: among siblings the first queue whose target holds its address takes it, then
that queue's children are tried inside it. So queues are ranked children before parent, siblings by
position, and the best rank wins. Prefixes are nested or disjoint: once every prefix is dropped that lies
in one of a better rank, ranks improve with length along every chain, and the longest match is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from weir.model.claims import PrefixClaims, last_inside
from weir.model.document import Document, interface_targets, packed_targets
from weir.model.objects import Queue
from weir.model.schedule import is_open

R = TypeVar("R", int, tuple[tuple[float, str], ...])


class Scope:
    """What a queue matches, and so the most that its children can match."""

    __slots__ = ("_index", "everything", "interfaces", "prefixes")

    def __init__(
        self, prefixes: tuple[int, ...] = (), interfaces: tuple[str, ...] = (), everything: bool = False
    ) -> None:
        self.prefixes = prefixes
        self.interfaces = interfaces
        self.everything = everything
        self._index: PrefixClaims | None = None

    def part_of(self, packed: int) -> Iterable[int]:
        """The part of a child's prefix that lies in this scope.

        A parent that names an interface does not restrict its children's addresses: they are behind it.
        """
        if self.everything or self.interfaces:
            return (packed,)
        if self._index is None:
            self._index = PrefixClaims()
            for own in self.prefixes:
                self._index.add(own, "")
        if packed in self._index or any(True for _ in self._index.covering(packed)):
            return (packed,)
        return self._index.inside(packed)


EVERYTHING = Scope(everything=True)


def narrowed(queue: Queue, within: Scope) -> tuple[tuple[int, ...], tuple[str, ...], Scope]:
    """A queue's own prefixes and interfaces inside its parent's scope, and the scope of its children.

    A queue without target is an aggregate: it matches nothing itself, and its children as if it were absent.
    """
    if not queue.target:
        return (), (), within
    prefixes: list[int] = []
    for packed in packed_targets(queue):
        prefixes.extend(within.part_of(packed))
    own_prefixes = tuple(prefixes) if len(prefixes) < 2 else tuple(dict.fromkeys(prefixes))
    own_interfaces = tuple(
        ifname for ifname in interface_targets(queue) if within.everything or ifname in within.interfaces
    )
    return own_prefixes, own_interfaces, Scope(own_prefixes, own_interfaces)


def is_matched(queue: Queue, now_local: datetime) -> bool:
    """Whether this queue, apart from its ancestors, takes packets now.

    `dst` is not enforced yet, and a queue that asks for it must not take other traffic instead.
    """
    return not queue.disabled and queue.dst is None and is_open(queue.time, now_local)


class Matcher:
    """Scopes of single queues on demand, each parent worked out once."""

    def __init__(self, document: Document, now_local: datetime) -> None:
        self._document = document
        self._now_local = now_local
        self._scopes: dict[str, Scope | None] = {}

    def claims(self, queue: Queue) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The prefixes and interfaces that the queue takes now."""
        within = self._scope_above(queue)
        if within is None or not is_matched(queue, self._now_local):
            return (), ()
        prefixes, interfaces, _ = narrowed(queue, within)
        return prefixes, interfaces

    def _scope_above(self, queue: Queue) -> Scope | None:
        if queue.parent is None:
            return EVERYTHING
        if queue.parent not in self._scopes:
            self._scopes[queue.parent] = self._scope_of(self._document.queue(queue.parent))
        return self._scopes[queue.parent]

    def _scope_of(self, queue: Queue | None) -> Scope | None:
        if queue is None or not is_matched(queue, self._now_local):
            return None
        within = self._scope_above(queue)
        return None if within is None else narrowed(queue, within)[2]


def shadowed_flags(
    in_order: Iterable[int], rank_of: Callable[[int], R], outer_best: R | None
) -> Iterator[tuple[int, bool]]:
    """For prefixes in address order: whether one that covers it has a rank at least as good.

    `outer_best` is the best rank among prefixes that cover all of them. The same rank shadows too: a queue
    that names a prefix and a part of it needs only the former.
    """
    open_around: list[tuple[int, R]] = []
    for packed in in_order:
        while open_around and open_around[-1][0] < packed:
            open_around.pop()
        best = open_around[-1][1] if open_around else outer_best
        own = rank_of(packed)
        shadowed = best is not None and best <= own
        end = last_inside(packed)
        if end != packed:
            open_around.append((end, best if shadowed and best is not None else own))
        yield packed, shadowed
