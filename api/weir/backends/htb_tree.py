# SPDX-License-Identifier: Apache-2.0
"""The HTB tree of one port, made of the compiled classes.

Every queue's packets go to the leaf with the minor `OWN | slot`. A queue with children has an inner class
besides, with its slot as minor: HTB passes packets unshaped that are handed to an inner class, so what
matches the queue and none of its children is one child more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from weir.adapters.htb_classes import HtbClass
from weir.adapters.tc import HTB_OWN
from weir.compiler.types import ClassSpec, ClockSpec, PortSpec

UNLIMITED_BPS = 100_000_000_000
UNLIMITED_BURST_BYTES = 1_250_000
LEAST_RATE_BPS = 8_000
LEAST_REDUCED_BPS = 800
"""Of a class that shares a limit with very many: the least burst lasts 20 s then; the kernel's end at 274."""
LEAST_BURST_BYTES = 2_000


def in_tree(spec: ClassSpec) -> bool:
    """A total is charged from two ports, and a tree belongs to one: the programs police it instead. Forks
    take no packets."""
    return spec.is_queue


def inner_slots(specs: Mapping[int, ClassSpec]) -> set[int]:
    """The slots of queues with others below them."""
    return {spec.parent_slot for spec in specs.values() if in_tree(spec)}


def clock_of(spec: ClassSpec, port: PortSpec) -> ClockSpec:
    """The direction that a port's tree limits."""
    return spec.upload if port.role == "wan" else spec.download


def slot_of(minor: int) -> int:
    return minor & ~HTB_OWN


def tree_of(specs: Mapping[int, ClassSpec], port: PortSpec) -> dict[int, HtbClass]:
    """All classes of a port's tree by minor, those of parents first."""
    inner, less, found = inner_slots(specs), reduced_rates(specs, port), {}
    for spec in _from_the_top(specs):
        made = classes_of(spec, port, spec.slot in inner, less.get(spec.slot))
        found.update({item.minor: item for item in made})
    return found


def reduced_rates(specs: Mapping[int, ClassSpec], port: PortSpec) -> dict[int, int]:
    """By slot, for classes that cannot have the rate they ask for, in bit/s.

    HTB serves every class its rate, whatever the limits above: where more is promised than a limit is, that
    would be broken. There all below it get their part, in proportion to what they and those below them
    were promised (as the share controller does, datapath/share).
    """
    tree = _from_the_top(specs)
    promised = {spec.slot: _asked_bps(spec, port) for spec in tree}
    below: dict[int, int] = defaultdict(int)
    for spec in reversed(tree):
        promised[spec.slot] = max(promised[spec.slot], below[spec.slot])
        below[spec.parent_slot] += promised[spec.slot]
    limits: dict[int, float] = {}
    less: dict[int, int] = {}
    for spec in tree:
        limits[spec.slot] = _ceil_bps(spec, port)
        limit = limits.get(spec.parent_slot, float("inf"))
        if below[spec.parent_slot] > limit:
            part = promised[spec.slot] * limit / below[spec.parent_slot]
            limits[spec.slot] = min(limits[spec.slot], part)
            if part < _asked_bps(spec, port):
                less[spec.slot] = max(int(part), LEAST_REDUCED_BPS)
    return less


def _from_the_top(specs: Mapping[int, ClassSpec]) -> list[ClassSpec]:
    return sorted(filter(in_tree, specs.values()), key=lambda spec: spec.depth)


def classes_of(
    spec: ClassSpec, port: PortSpec, is_inner: bool, rate_bps: int | None = None
) -> list[HtbClass]:
    """One queue's classes: its leaf, below an inner class when it has children. `rate_bps`: instead of what
    it asks for."""
    whole = _class(spec, port, _asked_bps(spec, port) if rate_bps is None else rate_bps)
    if not is_inner:
        return [replace(whole, minor=HTB_OWN | spec.slot)]
    own_bps = min(max(whole.ceil_bps // 1000, LEAST_RATE_BPS), whole.ceil_bps) // 8 * 8
    own = replace(
        whole,
        minor=HTB_OWN | spec.slot,
        parent_minor=spec.slot,
        rate_bps=own_bps,
        burst_bytes=max(whole.cburst_bytes * own_bps // whole.ceil_bps, LEAST_BURST_BYTES),
    )
    return [whole, own]


def _ceil_bps(spec: ClassSpec, port: PortSpec) -> int:
    return clock_of(spec, port).rate_bps or UNLIMITED_BPS


def _asked_bps(spec: ClassSpec, port: PortSpec) -> int:
    """At the top rate = ceil; below, the rate is the guarantee and the rest is borrowed (tc-htb(8))."""
    ceil = _ceil_bps(spec, port)
    if not spec.parent_slot:
        return ceil
    return max(min(clock_of(spec, port).guarantee_bps or ceil // 1000, ceil), LEAST_RATE_BPS)


def _class(spec: ClassSpec, port: PortSpec, rate: int) -> HtbClass:
    clock = clock_of(spec, port)
    cburst = clock.burst_bytes if clock.rate_bps else UNLIMITED_BURST_BYTES
    ceil = max(_ceil_bps(spec, port), rate)
    return HtbClass(
        minor=spec.slot,
        parent_minor=spec.parent_slot,
        rate_bps=rate // 8 * 8,
        ceil_bps=ceil // 8 * 8,
        burst_bytes=max(cburst * rate // ceil, LEAST_BURST_BYTES),
        cburst_bytes=max(cburst, LEAST_BURST_BYTES),
        priority=clock.priority - 1,
    )
