# SPDX-License-Identifier: Apache-2.0
"""A rule looks at one object at a time, and says which objects a change makes it look at again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from weir.model.address import split_address
from weir.model.claims import PrefixClaims, pack
from weir.model.document import Change, Document
from weir.model.interface import Vlan
from weir.model.objects import ConfigObject, Kind, Queue
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding, Severity
from weir.model.tree import MAX_WALK, RankKey, ancestors, rank_below, subtree_ids
from weir.model.vrf import table_of

T = TypeVar("T")
_LINES = 1024
"""Of so many parents it is remembered what is above their children."""
LINK_LOCAL = parse_prefix("fe80::/10")


class View:
    """A document during one run of the rules, with what several rules ask for worked out once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._lines: dict[str, tuple[tuple[Queue, ...], frozenset[str]]] = {}
        self._ranks: dict[str, RankKey] = {}
        self._in_order: dict[int | str, list[str]] = {}
        self._networks: PrefixClaims | None = None
        self._own_addresses: dict[str, list[str]] | None = None
        self._vlans: dict[Vlan, list[str]] | None = None
        self._vrf_tables: dict[int, list[str]] | None = None
        self._seen: set[tuple[str, object]] = set()
        self._worked_out: dict[str, Any] = {}
        self.walked: set[str] = set()
        """Queues whose subtree the running rule has already reached."""

    def above(self, queue: Queue) -> tuple[Queue, ...]:
        """As `ancestors`, of which siblings that come together have the same ones."""
        if queue.parent is None:
            return ()
        known = self._lines.get(queue.parent)
        if known is None:
            if len(self._lines) >= _LINES:
                self._lines.clear()
            parent = self.document.queue(queue.parent)
            line = () if parent is None else (parent, *ancestors(self.document, parent))[:MAX_WALK]
            known = self._lines[queue.parent] = line, frozenset(above.id for above in line)
        line, ids = known
        return tuple(ancestors(self.document, queue)) if queue.id in ids else line

    def is_below(self, queue: Queue, ancestor_id: str) -> bool:
        return any(above.id == ancestor_id for above in self.above(queue))

    def rank(self, queue: Queue) -> RankKey:
        key = self._ranks.get(queue.id)
        if key is None:
            key = self._ranks[queue.id] = rank_below(self.above(queue), queue)
        return key

    def takers(self, target: int | str) -> list[str]:
        """The queues that name this packed prefix or interface and always take it, in matching order."""
        known = self._in_order.get(target)
        if known is None:
            if isinstance(target, int):
                ids: Iterable[str] = self.document.targets().get(target)
            else:
                ids = self.document.queue_ids_by_interface.of(target)
            queues = (queue for queue in map(self.document.queue, ids) if queue is not None)
            always = [queue for queue in queues if self._takes_always(queue)]
            if len(always) > 1:
                always.sort(key=self.rank)
            known = self._in_order[target] = [queue.id for queue in always]
        return known

    def _takes_always(self, queue: Queue) -> bool:
        """False when the queue, or one above it, is disabled, has a time window or a `dst`."""
        return not any(
            item.disabled or item.time is not None or item.dst is not None
            for item in (queue, *self.above(queue))
        )

    def networks(self) -> PrefixClaims:
        """The connected networks of enabled interfaces -> interface ids."""
        if self._networks is None:
            self._networks = _connected_networks(self.document)
        return self._networks

    def own_addresses(self) -> dict[str, list[str]]:
        """The router's own addresses -> ids of the interfaces that have them."""
        if self._own_addresses is None:
            self._own_addresses = {}
            for interface in self.document.interfaces():
                for text in interface.addresses:
                    self._own_addresses.setdefault(split_address(text)[0], []).append(interface.id)
        return self._own_addresses

    def vlans(self) -> dict[Vlan, list[str]]:
        """Every VLAN -> the interfaces that are it; more than one is an error."""
        if self._vlans is None:
            self._vlans = {}
            for interface in self.document.interfaces():
                if interface.vlan is not None:
                    self._vlans.setdefault(interface.vlan, []).append(interface.id)
        return self._vlans

    def vrf_tables(self) -> dict[int, list[str]]:
        """Every VRF's routing table -> the VRFs that have it; more than one is an error."""
        if self._vrf_tables is None:
            self._vrf_tables = {}
            for interface in self.document.interfaces():
                table = table_of(interface)
                if table is not None:
                    self._vrf_tables.setdefault(table, []).append(interface.id)
        return self._vrf_tables

    def worked_out(self, what: str, make: Callable[[], T]) -> T:
        """What `make` gives the first time, and the same from then on."""
        if what not in self._worked_out:
            self._worked_out[what] = make()
        found: T = self._worked_out[what]
        return found

    def once(self, what: str, key: object) -> bool:
        """True the first time: thousands of changes around one name or prefix reach its users once."""
        if (what, key) in self._seen:
            return False
        self._seen.add((what, key))
        return True


def _connected_networks(document: Document) -> PrefixClaims:
    """The networks of enabled interfaces, link-local ones apart -> interface ids."""
    claims = PrefixClaims()
    for interface in document.interfaces():
        if not interface.disabled:
            for text in interface.addresses:
                _, network = split_address(text)
                if not LINK_LOCAL.covers(network):
                    claims.add(pack(network, interface.domain), interface.id)
    return claims


@dataclass(frozen=True, slots=True)
class Reach:
    """The ids that a change concerns. A change of another kind than `kinds` concerns none, and is not asked
    about: of 100,000 changes of one kind most rules never hear."""

    kinds: frozenset[Kind]
    ids: Callable[[View, Change], Iterable[str]]

    def __call__(self, view: View, change: Change) -> Iterable[str]:
        return self.ids(view, change)


def caused_by(*kinds: Kind) -> Callable[[Callable[[View, Change], Iterable[str]]], Reach]:
    """What a change of these kinds reaches."""
    return partial(Reach, frozenset(kinds))


@dataclass(frozen=True, slots=True)
class Rule:
    """`check` gets an object of `kind`; `reach` gives the ids of that kind that a change concerns."""

    name: str
    kind: Kind
    check: Callable[[View, Any], Iterable[Finding]]
    reach: Reach
    gives_errors: bool

    @property
    def key(self) -> tuple[Kind, str]:
        """What tells it from all others: rules of two kinds may have one name."""
        return self.kind, self.name


def own(kind: Kind) -> Reach:
    """A rule that looks at nothing but the object itself."""

    @caused_by(kind)
    def reach(_view: View, change: Change) -> Iterable[str]:
        return (change.id,) if change.kind == kind else ()

    return reach


def all_after(kind: Kind, *causes: Kind) -> Reach:
    """Every object of a small kind after a change of one of the causes; else the changed object itself."""

    @caused_by(kind, *causes)
    def reach(view: View, change: Change) -> list[str]:
        if change.kind in causes:
            return list(view.document.of_kind(kind)) if view.once(f"all {kind}", causes) else []
        return [change.id] if change.kind == kind else []

    return reach


def old_and_new(change: Change) -> tuple[Queue | None, Queue | None]:
    """A queue's two states; (None, None) for a change of another kind."""
    old = change.old if isinstance(change.old, Queue) else None
    new = change.new if isinstance(change.new, Queue) else None
    return old, new


def differs(change: Change, *fields: str) -> bool:
    """True when an object appears, goes, or changes in one of these fields."""
    if change.old is None or change.new is None:
        return True
    return any(getattr(change.old, name) != getattr(change.new, name) for name in fields)


def below_if(*fields: str) -> Reach:
    """The queue, and all below it when one of these fields changed."""

    @caused_by("queue")
    def reach(view: View, change: Change) -> Iterator[str]:
        if change.kind == "queue":
            if differs(change, *fields):
                yield from subtree_ids(view.document, change.id, view.walked)
            else:
                yield change.id

    return reach


def finding(severity: Severity, code: str, item: ConfigObject, field: str | None, message: str) -> Finding:
    return Finding(severity, code, message, item.kind, item.id, field)


def error(code: str, item: ConfigObject, field: str | None, message: str) -> Finding:
    return finding("error", code, item, field, message)


def warning(code: str, item: ConfigObject, field: str | None, message: str) -> Finding:
    return finding("warning", code, item, field, message)


def notice(code: str, item: ConfigObject, field: str | None, message: str) -> Finding:
    return finding("notice", code, item, field, message)
