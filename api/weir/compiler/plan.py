# SPDX-License-Identifier: Apache-2.0
"""What changes in the kernel, in an order in which no packet meets a gap: make before break.

First interfaces come up, classes and ports are made, then prefixes move to them, then routes and firewall;
only then is removed what nothing points at any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

from weir.compiler.types import (
    LAST_PRIORITY,
    NO_SLOT,
    Action,
    BackendName,
    ClassSpec,
    ClockSpec,
    Counts,
    FirewallRule,
    NetworkSpec,
    PortSpec,
    PrefixEntry,
    PrefixKey,
    RouteSpec,
    Step,
)
from weir.model.claims import unpack
from weir.model.units import format_duration_ms, format_rate_exact

T = TypeVar("T")
K = TypeVar("K")


@dataclass(slots=True)
class Delta(Generic[T]):
    """Items to add (old is None) or change, in order, and items to remove, in order."""

    set: list[tuple[T | None, T]] = field(default_factory=list)
    removed: list[T] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.set or self.removed)

    def counts(self) -> Counts:
        added = sum(1 for old, _ in self.set if old is None)
        return Counts(added, len(self.set) - added, len(self.removed))

    def inverse(self) -> Delta[T]:
        return Delta(
            [(None, old) for old in reversed(self.removed)]
            + [(new, old) for old, new in reversed(self.set) if old is not None],
            [new for old, new in reversed(self.set) if old is None],
        )


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


class RulesDelta(NamedTuple):
    """All rules before and after: a rule set is replaced as one."""

    before: tuple[FirewallRule, ...]
    after: tuple[FirewallRule, ...]

    def counts(self) -> Counts:
        before, after = set(self.before), set(self.after)
        return Counts(len(after - before), 0, len(before - after))

    def inverse(self) -> RulesDelta:
        return RulesDelta(self.after, self.before)


class OverridesDelta(NamedTuple):
    """Overrides of the tuning before and after, by setting."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    def counts(self) -> Counts:
        before, after = self.before, self.after
        changed = sum(before[key] != after[key] for key in before.keys() & after.keys())
        return Counts(len(after.keys() - before.keys()), changed, len(before.keys() - after.keys()))

    def inverse(self) -> OverridesDelta:
        return OverridesDelta(self.after, self.before)


@dataclass(slots=True)
class Plan:
    """The whole difference. Empty parts mean that a backend has nothing to do.

    Every field but `outcome` is a part, and what is asked of a plan is asked of each of them: a part that
    cannot be counted or undone is an error, not something that is left as it is.
    """

    network: Delta[NetworkSpec] = field(default_factory=Delta)
    shaping: ShapingDelta = field(default_factory=ShapingDelta)
    routes: Delta[RouteSpec] = field(default_factory=Delta)
    firewall: RulesDelta | None = None
    tuning: OverridesDelta | None = None
    outcome: object = None
    """What `Compiled.accept` needs; an inverse has none."""

    @property
    def base_generation(self) -> int | None:
        """Of the compiled state that it was made from; None for an inverse."""
        generation: int | None = getattr(self.outcome, "base_generation", None)
        return generation

    def __bool__(self) -> bool:
        return any(self._parts().values())

    def counts(self) -> Counts:
        """Kernel entries added, changed and removed: classes, prefixes, ports, interfaces, routes, rules."""
        return total(*(part.counts() for part in self._parts().values() if part is not None))

    def inverse(self) -> Plan:
        """The way back, for the backends; it cannot be accepted."""
        undone: dict[str, Any] = {
            name: None if part is None else part.inverse() for name, part in self._parts().items()
        }
        return type(self)(**undone)

    def _parts(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "outcome"}

    def steps(self) -> Iterator[Step]:
        """Every step in the order it is done; made on demand, as a plan may have 300,000."""
        classes, prefixes, ports = self.shaping.classes, self.shaping.prefixes, self.shaping.ports
        yield from _set_steps("network", "interface", self.network, _interface_text)
        yield from _set_steps("shaping", "class", classes, _class_text)
        for packed, before, after in prefixes.changes:
            if after != NO_SLOT:
                action = "add" if before == NO_SLOT else "change"
                text = f"{prefix_key(packed).text} -> slot {after}" + (f" (was {before})" if before else "")
                yield Step("shaping", action, "prefix", text)  # type: ignore[arg-type]
        yield from _set_steps("shaping", "port", ports, _port_text)
        yield from _set_steps("routes", "route", self.routes, _route_text)
        if self.firewall is not None:
            yield from _firewall_steps(*self.firewall)
        if self.tuning is not None:
            yield from _override_steps(*self.tuning)
        for packed, before, after in prefixes.changes:
            if after == NO_SLOT:
                yield Step("shaping", "remove", "prefix", f"{prefix_key(packed).text} (was slot {before})")
        yield from _remove_steps("routes", "route", self.routes, _route_text)
        yield from _remove_steps("shaping", "port", ports, _port_text)
        yield from _remove_steps("shaping", "class", classes, _class_text)
        yield from _remove_steps("network", "interface", self.network, _interface_text)


def total(*counts: Counts) -> Counts:
    return Counts(*(sum(column) for column in zip(*counts, strict=True)))


def prefix_key(packed: int) -> PrefixKey:
    domain, prefix = unpack(packed)
    return PrefixKey(domain, prefix.family, prefix.value, prefix.length)


def delta_of(before: Mapping[K, T], after: Mapping[K, T]) -> Delta[T]:
    """The difference of two mappings, in the order of each."""
    delta: Delta[T] = Delta()
    for key, new in after.items():
        old = before.get(key)
        if old != new:
            delta.set.append((old, new))
    delta.removed.extend(old for key, old in before.items() if key not in after)
    return delta


def _override_steps(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Step]:
    for key, value in after.items():
        if before.get(key) != value:
            action: Action = "change" if key in before else "add"
            yield Step("tuning", action, "setting", f"{key} = {value or 'left to the kernel'}")
    for key in before:
        if key not in after:
            yield Step("tuning", "remove", "setting", f"{key}: back to the product's value")


def _set_steps(
    backend: BackendName, what: str, delta: Delta[T], text: Callable[[T | None, T], str]
) -> Iterator[Step]:
    for old, new in delta.set:
        yield Step(backend, "add" if old is None else "change", what, text(old, new))


def _remove_steps(
    backend: BackendName, what: str, delta: Delta[T], text: Callable[[T | None, T], str]
) -> Iterator[Step]:
    for old in delta.removed:
        yield Step(backend, "remove", what, text(None, old))


def _firewall_steps(before: tuple[FirewallRule, ...], after: tuple[FirewallRule, ...]) -> Iterator[Step]:
    """All of it happens at once; a rule set in another order is a change, too."""
    for rule in after:
        if rule not in before:
            yield Step("firewall", "add", "rule", _rule_text(rule))
    for rule in before:
        if rule not in after:
            yield Step("firewall", "remove", "rule", _rule_text(rule))
    if set(before) == set(after):
        yield Step("firewall", "change", "rules", "their order")


def _rule_text(rule: FirewallRule) -> str:
    interfaces = [
        *(f"from {name}" for name in rule.in_interfaces),
        *(f"from {name} in a VRF" for name in rule.in_members),
        *(f"to {name}" for name in rule.out_interfaces),
        *(f"not from {name}" for name in rule.outside),
    ]
    ports = f" (TCP {', '.join(map(str, rule.tcp_ports))})" if rule.tcp_ports else ""
    family = f" IPv{rule.family}" if rule.family else ""
    number = rule.zone or rule.connections
    verdict = f"{rule.verdict} {number}" if number else rule.verdict
    return f"{rule.chain} {verdict}{family} {' '.join(interfaces)}: {rule.comment}{ports}"


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


def _interface_text(old: NetworkSpec | None, new: NetworkSpec) -> str:
    state = "up" if new.up else "down"
    mtu = f" mtu {new.mtu}" if new.mtu else ""
    vlan = f" {new.vlan.text}," if new.vlan else ""
    addresses = " ".join([*new.addresses, *(["DHCP"] if new.dhcp else [])])
    vrf = f" VRF with table {new.vrf_table}," if new.vrf_table else f" in VRF {new.vrf}," if new.vrf else ""
    return f"{new.ifname}{vlan}{vrf} {state}{mtu} {addresses or 'without address'}"


def _route_text(old: RouteSpec | None, new: RouteSpec) -> str:
    via = "blackhole" if new.blackhole else " ".join(filter(None, (new.gateway, new.interface)))
    vrf = f" in VRF {new.vrf}" if new.vrf else ""
    return f"{new.destination}{vrf} via {via} distance {new.distance}"
