# SPDX-License-Identifier: Apache-2.0
"""The compiled document, held by the process that runs it and moved from plan to plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from weir.compiler.allocation import SlotAllocation, SlotDraft
from weir.compiler.at_rest import ClaimedPrefixes, SlotTable
from weir.compiler.plan import Plan, prefix_key
from weir.compiler.types import ClassSpec, PortSpec, PrefixKey
from weir.model.claims import PrefixClaims, pack
from weir.model.prefix import Prefix
from weir.parts.part import Part, Parts

K = TypeVar("K", int, str)
V = TypeVar("V", bound=tuple[object, ...] | str)
W = TypeVar("W")

Wanted = Mapping[Part[Any, Any], Any]
"""By registered part what the document asks of it."""


@dataclass(slots=True)
class Tables:
    """The parts of `Compiled` that queues make, indexed for incremental change."""

    by_id: dict[str, ClassSpec] = field(default_factory=dict)
    """By `ClassSpec.id`: a queue's own class under its id, its total under another."""
    by_slot: SlotTable = field(default_factory=SlotTable)
    claims: PrefixClaims = field(default_factory=PrefixClaims)
    """Who may have a prefix, the best rank first; the first one gets it unless it is shadowed."""
    shadowed: set[int] = field(default_factory=set)
    """Prefixes in `claims` whose packets go where those of what covers them go: not in the kernel."""
    forks: dict[int, str] = field(default_factory=dict)
    """Prefixes that lead to a fork -> its id; every other one leads to the first who claims it."""
    port_forks: dict[str, str] = field(default_factory=dict)
    """The same for interfaces as targets."""
    dst: dict[str, str] = field(default_factory=dict)
    """The `dst` of queues that have one, their parents' included."""
    claimed: ClaimedPrefixes = field(default_factory=ClaimedPrefixes)
    """Prefixes by queue."""
    interface_claims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    claimed_interfaces: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ports: dict[str, PortSpec] = field(default_factory=dict)
    matched_timed: frozenset[str] = frozenset()
    """Queues with a time window that was open when this was compiled."""

    def copy(self) -> Tables:
        """Tables of their own, to be changed as `Edits` does."""
        return Tables(
            dict(self.by_id),
            self.by_slot.copy(),
            self.claims.copy(),
            set(self.shadowed),
            dict(self.forks),
            dict(self.port_forks),
            dict(self.dst),
            self.claimed.copy(),
            dict(self.interface_claims),
            dict(self.claimed_interfaces),
            self.ports,
            self.matched_timed,
        )

    def slot_of(self, packed: int) -> int:
        """The slot that the kernel has for a prefix; 0 if it has no such entry."""
        class_id = self.forks.get(packed) or self.claims.first(packed)
        return 0 if class_id is None or packed in self.shadowed else self.by_id[class_id].slot

    def fork_uses(self) -> Counter[str]:
        """How many prefixes and ports lead to each fork."""
        return Counter(self.forks.values()) + Counter(self.port_forks.values())


class PrefixTable(Mapping[PrefixKey, int]):
    """The classifier's entries: `(domain, family, value, length)` -> slot. A view; it holds nothing."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, key: tuple[int, int, int, int]) -> int:
        domain, family, value, length = key
        slot = self._tables.slot_of(pack(Prefix(family, value, length), domain))
        if not slot:
            raise KeyError(key)
        return slot

    def __iter__(self) -> Iterator[PrefixKey]:
        shadowed = self._tables.shadowed
        return (prefix_key(packed) for packed in self._tables.claims if packed not in shadowed)

    def __len__(self) -> int:
        return len(self._tables.claims) - len(self._tables.shadowed)


class Shaping:
    """Classes by slot, prefixes and ports, as the datapath is to hold them."""

    def __init__(self, tables: Tables) -> None:
        self.classes: Mapping[int, ClassSpec] = tables.by_slot
        self.prefixes = PrefixTable(tables)
        self.ports: Mapping[str, PortSpec] = tables.ports


class Compiled:
    """What the kernel is to hold. Changes only through `accept`."""

    def __init__(
        self, tables: Tables, wanted: Wanted, allocation: SlotAllocation, now_local: datetime, parts: Parts
    ) -> None:
        self.tables = tables
        self.wanted = wanted
        self.allocation = allocation
        self.now_local = now_local
        self.parts = parts
        self.generation = 0
        """Counts accepted plans; a plan fits only the state that it was made from."""

    def copy(self) -> Compiled:
        """A state of its own, of the same generation: 100,000 queues take 30 ms."""
        twin = Compiled(self.tables.copy(), self.wanted, self.allocation.copy(), self.now_local, self.parts)
        twin.generation = self.generation
        return twin

    @property
    def shaping(self) -> Shaping:
        return Shaping(self.tables)

    def of(self, part: Part[W, Any]) -> W:
        """What is asked of a part."""
        found: W = self.wanted[part]
        return found

    def class_of(self, queue_id: str) -> ClassSpec | None:
        return self.tables.by_id.get(queue_id)

    def slots(self) -> dict[str, int]:
        """Queue id -> slot."""
        return {spec.queue_id: spec.slot for spec in self.tables.by_id.values() if spec.is_queue}

    def accept(self, plan: Plan) -> None:
        """Take over a plan made from this very state, after the kernel holds it."""
        outcome = plan.outcome
        if not isinstance(outcome, Replacement | Edits) or outcome.base_generation != self.generation:
            raise ValueError("the plan was not made from this state")
        is_same = isinstance(outcome, Edits) and outcome.touches_nothing(self.tables)
        if not plan and is_same and outcome.wanted is self.wanted:
            self.now_local = outcome.now_local  # only time has passed: what fitted this state still does
            return
        self.generation += 1
        self.allocation.accept(outcome.slots)
        self.wanted = outcome.wanted
        self.now_local = outcome.now_local
        if isinstance(outcome, Replacement):
            self.tables = outcome.tables
        else:
            outcome.apply_to(self.tables)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A compiled state before a plan that compiled everything again, which left it unchanged."""

    tables: Tables
    wanted: Wanted
    now_local: datetime

    @classmethod
    def of(cls, compiled: Compiled) -> Earlier:
        return cls(compiled.tables, compiled.wanted, compiled.now_local)


@dataclass(slots=True)
class Replacement:
    """Outcome of a plan that compiled everything."""

    base_generation: int
    tables: Tables
    wanted: Wanted
    slots: SlotDraft
    now_local: datetime


@dataclass(slots=True)
class Edits:
    """Outcome of an incremental plan: what becomes of the entries that it touched."""

    base_generation: int
    wanted: Wanted
    slots: SlotDraft
    now_local: datetime
    classes: dict[str, ClassSpec | None] = field(default_factory=dict)
    """By `ClassSpec.id`; None = gone."""
    claims: dict[int, tuple[str, ...]] = field(default_factory=dict)
    shadowed: dict[int, bool] = field(default_factory=dict)
    claimed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    interface_claims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    claimed_interfaces: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ports: dict[str, PortSpec] | None = None
    forks: dict[int, str] = field(default_factory=dict)
    """By prefix; "" = no fork any more."""
    port_forks: dict[str, str] = field(default_factory=dict)
    dst: dict[str, str] = field(default_factory=dict)
    matched_timed: frozenset[str] = frozenset()

    def touches_nothing(self, tables: Tables) -> bool:
        """Whether the compiled state stays as it is, apart from its time."""
        edited = (self.classes, self.claims, self.shadowed, self.claimed, self.interface_claims)
        others = (self.claimed_interfaces, self.forks, self.port_forks, self.dst, self.slots.slot_by_key)
        return (
            not any(edited)
            and not any(others)
            and self.ports is None
            and self.matched_timed == tables.matched_timed
        )

    def apply_to(self, tables: Tables) -> None:
        for class_id in self.classes:
            old = tables.by_id.pop(class_id, None)
            if old is not None:
                tables.by_slot.pop(old.slot, None)
        for class_id, spec in self.classes.items():
            if spec is not None:
                tables.by_id[class_id] = tables.by_slot[spec.slot] = spec
        for packed, ids in self.claims.items():
            tables.claims.set(packed, ids)
        for packed, is_shadowed in self.shadowed.items():
            (tables.shadowed.add if is_shadowed else tables.shadowed.discard)(packed)
        _overlay(tables.claimed, self.claimed)
        _overlay(tables.forks, self.forks)
        _overlay(tables.port_forks, self.port_forks)
        _overlay(tables.dst, self.dst)
        _overlay(tables.interface_claims, self.interface_claims)
        _overlay(tables.claimed_interfaces, self.claimed_interfaces)
        if self.ports is not None:
            tables.ports = self.ports
        tables.matched_timed = self.matched_timed


def _overlay(target: MutableMapping[K, V], edits: dict[K, V]) -> None:
    for key, value in edits.items():
        if value:
            target[key] = value
        else:
            target.pop(key, None)
