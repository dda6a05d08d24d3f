# SPDX-License-Identifier: Apache-2.0
"""Ordered first-match over a tree, compiled to longest-prefix match with the same answer (docs/adr/0010).

A packet walks the list: among siblings the first queue whose target holds its address takes it, then
that queue's children are tried inside it. So queues are ranked children before parent, siblings by
position, and the best rank wins. Prefixes are nested or disjoint: who may take the packets of one is
the queue that claims it or what covers it (`forks.answers`), and where that is what the covering one gives
anyway, the prefix is dropped. So the longest match is the first in the list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from weir.compiler.forks import narrower
from weir.model.claims import PrefixClaims
from weir.model.document import Document, interface_targets, packed_targets
from weir.model.limits import MAX_QUEUE_LEVELS
from weir.model.objects import Queue
from weir.model.schedule import is_open


class Scope:
    """What a queue matches, and so the most that its children can match."""

    __slots__ = ("_index", "dst", "everything", "interfaces", "prefixes")

    def __init__(
        self,
        prefixes: tuple[int, ...] = (),
        interfaces: tuple[str, ...] = (),
        everything: bool = False,
        dst: str | None = None,
    ) -> None:
        self.prefixes = prefixes
        self.interfaces = interfaces
        self.everything = everything
        self.dst = dst
        self._index: PrefixClaims | None = None

    @property
    def takes_any_address(self) -> bool:
        """A parent that names an interface does not restrict its children's addresses: they are behind it."""
        return self.everything or bool(self.interfaces)

    def part_of(self, packed: int) -> Iterable[int]:
        """The part of a child's prefix that lies in this scope, which does not take any address."""
        if self._index is None:
            self._index = PrefixClaims()
            for own in self.prefixes:
                self._index.add(own, "")
        if packed in self._index or any(True for _ in self._index.covering(packed)):
            return (packed,)
        return self._index.inside(packed)


EVERYTHING = Scope(everything=True)


class Claim(NamedTuple):
    """The prefixes and interfaces that a queue takes, with what `dst` names; and its children's scope."""

    prefixes: tuple[int, ...] = ()
    interfaces: tuple[str, ...] = ()
    dst: str | None = None
    below: Scope | None = None


NO_CLAIM = Claim()


def claim_of(queue: Queue, within: Scope) -> Claim:
    """A queue inside its parent's scope.

    A queue without target is an aggregate: it matches nothing itself, and its children as if it were absent
    but for its `dst`. Two `dst` that one entry cannot say match nothing.
    """
    try:
        dst = narrower(within.dst, queue.dst)
    except ValueError:
        return NO_CLAIM
    if not queue.target:
        same = dst == within.dst
        scope = Scope(within.prefixes, within.interfaces, within.everything, dst)
        return Claim(below=within if same else scope)
    prefixes = packed_targets(queue)
    if not within.takes_any_address:
        prefixes = [part for packed in prefixes for part in within.part_of(packed)]
    own_prefixes = tuple(prefixes) if len(prefixes) < 2 else tuple(dict.fromkeys(prefixes))
    own_interfaces = tuple(
        ifname for ifname in interface_targets(queue) if within.everything or ifname in within.interfaces
    )
    return Claim(own_prefixes, own_interfaces, dst, Scope(own_prefixes, own_interfaces, dst=dst))


def with_what_is_left(document: Document, queue: Queue, claim: Claim, now_local: datetime) -> Claim:
    """The claim of a queue in force, and what those below it leave that are not (docs/adr/0102).

    A parent's own prefixes hold its children's anyway; so this is for one without, and for one with an
    interface. What only packets with a certain far end (`dst`) would have been is not left to it.
    """
    if claim.below is None or (queue.target and not claim.below.interfaces):
        return claim
    idle = document.idle_children.of(queue.id)
    left = list(_left(document, idle, claim.below, now_local)) if idle else []
    if not left:
        return claim
    prefixes = [*claim.prefixes, *(packed for item in left for packed in item.prefixes)]
    interfaces = [*claim.interfaces, *(ifname for item in left for ifname in item.interfaces)]
    return Claim(
        tuple(dict.fromkeys(prefixes)), tuple(dict.fromkeys(interfaces)), claim.below.dst, claim.below
    )


def _left(
    document: Document, ids: Collection[str], within: Scope, now_local: datetime | None, levels: int = 1
) -> Iterator[Claim]:
    """What these queues would claim if they were in force; without a time, all of them are not.

    Sorted, so that every compilation gives the same."""
    for queue in map(document.queue, sorted(ids)):
        if queue is None or (now_local is not None and is_matched(queue, now_local)):
            continue
        claim = claim_of(queue, within)
        if claim.below is None or claim.below.dst != within.dst:
            continue
        yield claim
        if levels < MAX_QUEUE_LEVELS and (not queue.target or claim.interfaces):
            yield from _left(document, document.children_of(queue.id), claim.below, None, levels + 1)


def is_matched(queue: Queue, now_local: datetime) -> bool:
    """Whether this queue, apart from its ancestors, takes packets now."""
    return not queue.disabled and is_open(queue.time, now_local)


class Matcher:
    """Scopes of single queues on demand, each parent worked out once."""

    def __init__(self, document: Document, now_local: datetime) -> None:
        self._document = document
        self._now_local = now_local
        self._scopes: dict[str, Scope | None] = {}

    def claim(self, queue: Queue) -> Claim:
        """What the queue takes now."""
        within = self._scope_above(queue)
        if within is None or not is_matched(queue, self._now_local):
            return NO_CLAIM
        return with_what_is_left(self._document, queue, claim_of(queue, within), self._now_local)

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
        return None if within is None else claim_of(queue, within).below
