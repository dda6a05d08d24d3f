# SPDX-License-Identifier: Apache-2.0
"""What changes in the kernel, in an order in which no packet meets a gap: make before break.

First all is added and changed, in the order of the parts: rules and interfaces, then classes and ports, then
prefixes move to them, then routes. Only then is removed what nothing points at any more, in the other
direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from weir.compiler.types import LAST_PRIORITY, NO_SLOT, ClassSpec, ClockSpec, PortSpec, PrefixEntry, PrefixKey
from weir.model.claims import unpack
from weir.model.units import format_duration_ms, format_rate_exact
from weir.parts.delta import Action, Counts, Delta, PartDelta, Step, total
from weir.parts.part import SHAPING, Part, Parts, remove_steps, set_steps
from weir.parts.registry import PARTS

D = TypeVar("D", bound=PartDelta)


@dataclass(slots=True)
class PrefixDelta:
    """Packed prefix (`weir.model.claims`), slot before and slot after; 0 where there is no entry."""

    changes: list[tuple[int, int, int]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.changes)

    def to_set(self) -> list[PrefixEntry]:
        """Entries to add or to point at another slot."""
        return [
            PrefixEntry(domain, prefix.family, prefix.value, prefix.length, slot)
            for packed, _, slot in self.changes
            if slot != NO_SLOT
            for domain, prefix in (unpack(packed),)
        ]

    def to_remove(self) -> list[PrefixKey]:
        return [prefix_key(packed) for packed, _, slot in self.changes if slot == NO_SLOT]

    def counts(self) -> Counts:
        added = sum(1 for _, before, _ in self.changes if before == NO_SLOT)
        removed = sum(1 for _, _, after in self.changes if after == NO_SLOT)
        return Counts(added, len(self.changes) - added - removed, removed)

    def inverse(self) -> PrefixDelta:
        return PrefixDelta([(packed, after, before) for packed, before, after in self.changes])


@dataclass(slots=True)
class ShapingDelta:
    """`classes.set` has parents before children and `classes.removed` children before parents."""

    classes: Delta[ClassSpec] = field(default_factory=Delta)
    prefixes: PrefixDelta = field(default_factory=PrefixDelta)
    ports: Delta[PortSpec] = field(default_factory=Delta)

    def __bool__(self) -> bool:
        return bool(self.classes or self.prefixes or self.ports)

    def counts(self) -> Counts:
        return total(self.classes.counts(), self.prefixes.counts(), self.ports.counts())

    def inverse(self) -> ShapingDelta:
        return ShapingDelta(self.classes.inverse(), self.prefixes.inverse(), self.ports.inverse())

    def made(self) -> Iterator[Step]:
        yield from set_steps(SHAPING, "class", self.classes, _class_text)
        for packed, before, after in self.prefixes.changes:
            if after != NO_SLOT:
                action: Action = "add" if before == NO_SLOT else "change"
                text = f"{prefix_key(packed).text} -> slot {after}" + (f" (was {before})" if before else "")
                yield Step(SHAPING, action, "prefix", text)
        yield from set_steps(SHAPING, "port", self.ports, _port_text)

    def removed(self) -> Iterator[Step]:
        for packed, before, after in self.prefixes.changes:
            if after == NO_SLOT:
                yield Step(SHAPING, "remove", "prefix", f"{prefix_key(packed).text} (was slot {before})")
        yield from remove_steps(SHAPING, "port", self.ports, _port_text)
        yield from remove_steps(SHAPING, "class", self.classes, _class_text)


@dataclass(slots=True)
class Plan:
    """The whole difference: shaping's, and one for each part that differs.

    What is asked of a plan is asked of each of its parts: one that cannot be counted or undone is an error,
    not something that is left as it is.
    """

    shaping: ShapingDelta = field(default_factory=ShapingDelta)
    parts: dict[Part[Any, Any], Any] = field(default_factory=dict)
    """By part its `PartDelta`, true ones only."""
    registered: Parts = PARTS
    """All parts there are, in their order."""
    outcome: object = None
    """What `Compiled.accept` needs; an inverse has none."""

    @property
    def base_generation(self) -> int | None:
        """Of the compiled state that it was made from; None for an inverse."""
        generation: int | None = getattr(self.outcome, "base_generation", None)
        return generation

    def __bool__(self) -> bool:
        return bool(self.shaping) or any(self.parts.values())

    def of(self, part: Part[Any, D]) -> D | None:
        """What becomes of a part; None: it stays as it is."""
        found: D | None = self.parts.get(part)
        return found

    def counts(self) -> Counts:
        """Kernel entries added, changed and removed: classes, prefixes, ports, interfaces, routes, rules."""
        return total(self.shaping.counts(), *(delta.counts() for delta in self.parts.values()))

    def inverse(self) -> Plan:
        """The way back, for the backends; it cannot be accepted."""
        undone = {part: delta.inverse() for part, delta in self.parts.items()}
        return Plan(self.shaping.inverse(), undone, self.registered)

    def steps(self) -> Iterator[Step]:
        """Every step in the order it is done; made on demand, as a plan may have 300,000."""
        before, after = self.registered.before_shaping, self.registered.after_shaping
        for part in before:
            yield from self._made(part)
        yield from self.shaping.made()
        for part in after:
            yield from self._made(part)
        for part in reversed(after):
            yield from self._removed(part)
        yield from self.shaping.removed()
        for part in reversed(before):
            yield from self._removed(part)

    def _made(self, part: Part[Any, Any]) -> Iterator[Step]:
        return part.made(self.parts[part]) if part in self.parts else iter(())

    def _removed(self, part: Part[Any, Any]) -> Iterator[Step]:
        return part.removed(self.parts[part]) if part in self.parts else iter(())


def prefix_key(packed: int) -> PrefixKey:
    domain, prefix = unpack(packed)
    return PrefixKey(domain, prefix.family, prefix.value, prefix.length)


def _clock_text(clock: ClockSpec) -> str:
    if not clock.rate_bps:
        parts = ["unlimited"]
    else:
        parts = [f"{format_rate_exact(clock.rate_bps)} bucket {clock.burst_bytes} B"]
    if clock.guarantee_bps:
        parts.append(f"guaranteed {format_rate_exact(clock.guarantee_bps)}")
    if clock.priority != LAST_PRIORITY:
        parts.append(f"priority {clock.priority}")
    if clock.burst_limit_bps:
        parts.append(
            f"burst {format_rate_exact(clock.burst_limit_bps)} below "
            f"{format_rate_exact(clock.burst_threshold_bps)} in {format_duration_ms(clock.burst_time_ms)}"
        )
    return " ".join(parts)


def _class_text(old: ClassSpec | None, new: ClassSpec) -> str:
    if new.far:
        return f"slot {new.slot} fork: {new.queue_id}"
    parts = [f"slot {new.slot} {'total of ' if new.is_total else ''}queue {new.queue_id}"]
    if old is None or old.parent_slot != new.parent_slot:
        parts.append(f"under slot {new.parent_slot}" if new.parent_slot else "at the top")
    if new.is_total:
        return ", ".join([*parts, _clock_change("both ways", old.upload if old else None, new.upload)])
    for way, before, after in (
        ("up", old.upload if old else None, new.upload),
        ("down", old.download if old else None, new.download),
    ):
        if before != after:
            parts.append(_clock_change(way, before, after))
    if new.total_slot != (old.total_slot if old else NO_SLOT):
        parts.append(f"total in slot {new.total_slot}" if new.total_slot else "without total")
    return ", ".join(parts)


def _clock_change(way: str, before: ClockSpec | None, after: ClockSpec) -> str:
    was = f" (was {_clock_text(before)})" if before and before != after else ""
    return f"{way} {_clock_text(after)}{was}"


def _port_text(old: PortSpec | None, new: PortSpec) -> str:
    text = f"{new.ifname} role {new.role} shaper {new.shaper} overhead {new.overhead_bytes} B"
    text += " only what is in a queue" if new.known_only else ""
    text += f" reverse path {new.reverse_path}" if new.reverse_path != "off" else ""
    text += f" domain {new.domain}" if new.domain else ""
    return text + (f" target slot {new.interface_slot}" if new.interface_slot else "")
