# SPDX-License-Identifier: Apache-2.0
"""The HTB tree of one port, made of the compiled classes.

Every queue's packets go to the leaf with the minor `OWN | slot`. A queue with children has an inner class
besides, with its slot as minor: HTB passes packets unshaped that are handed to an inner class, so what
matches the queue and none of its children is one child more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from weir.adapters.htb_classes import HtbClass
from weir.adapters.tc import HTB_OWN
from weir.compiler.types import ClassSpec, ClockSpec, PortSpec

UNLIMITED_BPS = 100_000_000_000
UNLIMITED_BURST_BYTES = 1_250_000
LEAST_RATE_BPS = 8_000
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
    inner, found = inner_slots(specs), {}
    for spec in sorted(filter(in_tree, specs.values()), key=lambda spec: spec.depth):
        found.update({item.minor: item for item in classes_of(spec, port, spec.slot in inner)})
    return found


def classes_of(spec: ClassSpec, port: PortSpec, is_inner: bool) -> list[HtbClass]:
    """One queue's classes: its leaf, below an inner class when it has children."""
    whole = _class(spec, port)
    if not is_inner:
        return [replace(whole, minor=HTB_OWN | spec.slot)]
    rate_bps = min(max(whole.ceil_bps // 1000, LEAST_RATE_BPS), whole.ceil_bps) // 8 * 8
    own = replace(
        whole,
        minor=HTB_OWN | spec.slot,
        parent_minor=spec.slot,
        rate_bps=rate_bps,
        burst_bytes=max(whole.cburst_bytes * rate_bps // whole.ceil_bps, LEAST_BURST_BYTES),
    )
    return [whole, own]


def _class(spec: ClassSpec, port: PortSpec) -> HtbClass:
    """At the top rate = ceil; below, the rate is the guarantee and the rest is borrowed (tc-htb(8))."""
    clock = clock_of(spec, port)
    ceil = clock.rate_bps or UNLIMITED_BPS
    cburst = clock.burst_bytes if clock.rate_bps else UNLIMITED_BURST_BYTES
    rate = ceil
    if spec.parent_slot:
        rate = max(min(clock.guarantee_bps or ceil // 1000, ceil), LEAST_RATE_BPS)
    ceil = max(ceil, rate)
    return HtbClass(
        minor=spec.slot,
        parent_minor=spec.parent_slot,
        rate_bps=rate // 8 * 8,
        ceil_bps=ceil // 8 * 8,
        burst_bytes=max(cburst * rate // ceil, LEAST_BURST_BYTES),
        cburst_bytes=max(cburst, LEAST_BURST_BYTES),
        priority=clock.priority - 1,
    )
