# SPDX-License-Identifier: Apache-2.0
"""The classic choice: one HTB tree per port whose shaper is `htb`, from the same compiled classes.

Minor numbers come from slots (`htb_tree`), so a tree holds slots up to `MAX_HTB_SLOT`. A WAN port's tree
limits uploads, every other port's downloads. HTB cannot move a class to another parent: such a class is
recreated, with those below it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from weir.adapters import htb_classes, tc
from weir.adapters.htb_classes import HtbClass
from weir.adapters.tc import Qdisc
from weir.backends.backend import Topic, refuse, step
from weir.backends.htb_tree import (
    classes_of,
    clock_of,
    in_tree,
    inner_slots,
    reduced_rates,
    slot_of,
    tree_of,
)
from weir.backends.leaves import Leaf
from weir.backends.modes import PortModes
from weir.compiler.types import ClassSpec, PortSpec
from weir.model.problem import Unsupported
from weir.model.units import format_rate_long
from weir.parts.delta import Step

BURST_TOLERANCE = 0.02
"""The kernel keeps a burst as a multiple of 64 ns at the rate."""


@dataclass(frozen=True, slots=True)
class HtbWanted:
    """`ports`: those in HTB mode."""

    ports: Mapping[str, PortSpec]
    classes: Mapping[int, ClassSpec]


@dataclass(frozen=True, slots=True)
class HeldTree:
    """What the kernel holds: classes, and the qdisc below each that has one, by minor."""

    classes: Mapping[int, HtbClass]
    leaves: Mapping[int, Qdisc]


NO_TREE = HeldTree({}, {})


@dataclass(slots=True)
class TreeDifference:
    """`remove` has children before parents, `add` parents before children; `leaves` come last."""

    ifname: str
    make_root: bool = False
    remove: list[int] = field(default_factory=list)
    add: list[HtbClass] = field(default_factory=list)
    change: list[HtbClass] = field(default_factory=list)
    leaves: list[tuple[int, Leaf]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.make_root or self.remove or self.add or self.change or self.leaves)


@dataclass(slots=True)
class HtbDifference:
    trees: list[TreeDifference] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(self.trees)

    def steps(self) -> Sequence[Step]:
        return list(self._steps())

    def _steps(self) -> Iterator[Step]:
        for tree in self.trees:
            if tree.make_root:
                yield step("shaping", "add", "qdisc", f"{tree.ifname} HTB tree")
            for minor in tree.remove:
                yield step("shaping", "remove", "HTB class", f"{tree.ifname} {minor:x}")
            for item in tree.add:
                yield step("shaping", "add", "HTB class", f"{tree.ifname} {item.minor:x}")
            for item in tree.change:
                yield step("shaping", "change", "HTB class", f"{tree.ifname} {item.minor:x}")
            for minor, leaf in tree.leaves:
                yield step("shaping", "change", "HTB leaf", f"{tree.ifname} {minor:x} {leaf.text}")


class HtbBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "hooks", "classes"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, modes: PortModes) -> None:
        self._modes = modes

    def read(self) -> dict[str, HeldTree]:
        """Our trees by interface."""
        qdiscs = tc.qdiscs()
        ours = [q.ifname for q in qdiscs if q.is_root and q.kind == "htb" and q.major == tc.HTB_MAJOR]
        own: dict[str, list[Qdisc]] = {ifname: [] for ifname in ours}
        for qdisc in qdiscs:
            if qdisc.ifname in own:
                own[qdisc.ifname].append(qdisc)
        return {
            ifname: HeldTree(htb_classes.read_all(_index(ifname), tc.HTB_MAJOR), tc.htb_leaves(found))
            for ifname, found in own.items()
        }

    def diff(self, held: Mapping[str, HeldTree], wanted: HtbWanted) -> HtbDifference:
        _check_size(wanted)
        found = HtbDifference()
        for ifname, port in wanted.ports.items():
            tree = TreeDifference(ifname, make_root=ifname not in held)
            classes, present = tree_of(wanted.classes, port), held.get(ifname, NO_TREE)
            _diff_tree(tree, present.classes, classes)
            made = {item.minor for item in tree.add}
            for minor in classes:
                if minor & tc.HTB_OWN:
                    leaf = self._leaf(wanted.classes[slot_of(minor)], port)
                    if minor in made or not leaf.is_held(present.leaves.get(minor)):
                        tree.leaves.append((minor, leaf))
            found.trees.append(tree)
        return found

    def diff_changed(
        self,
        wanted: HtbWanted,
        changed: Sequence[tuple[ClassSpec | None, ClassSpec]],
        removed: Sequence[ClassSpec],
    ) -> HtbDifference | None:
        """As `diff` for a plan's classes only; None when others may change as well and the trees must be
        read: a class moves, gets its first child or loses its last, or more is promised than a limit is."""
        if any(old is not None and old.parent_slot != new.parent_slot for old, new in changed):
            return None
        _check_size(wanted)
        before = dict(wanted.classes)
        for old, new in changed:
            if old is None:
                del before[new.slot]
        before.update({spec.slot: spec for spec in removed})
        inner, inner_before = inner_slots(wanted.classes), inner_slots(before)
        if any(slot in before and slot in wanted.classes for slot in inner ^ inner_before):
            return None
        before.update({old.slot: old for old, _ in changed if old is not None})
        ports = wanted.ports.values()
        if any(reduced_rates(classes, port) for classes in (before, wanted.classes) for port in ports):
            return None
        found = HtbDifference()
        for port in ports:
            tree = TreeDifference(port.ifname)
            for spec in filter(in_tree, removed):
                own, whole = tc.HTB_OWN | spec.slot, spec.slot
                tree.remove += [own, whole] if spec.slot in inner_before else [own]
            for old, new in changed:
                if in_tree(new):
                    self._note_changed(tree, old, new, port, inner)
            found.trees.append(tree)
        return found

    def _note_changed(
        self, tree: TreeDifference, old: ClassSpec | None, new: ClassSpec, port: PortSpec, inner: set[int]
    ) -> None:
        (tree.add if old is None else tree.change).extend(classes_of(new, port, new.slot in inner))
        if old is None or _waits_otherwise(old, new):
            tree.leaves.append((tc.HTB_OWN | new.slot, self._leaf(new, port)))

    def apply(self, difference: HtbDifference) -> None:
        for tree in difference.trees:
            lines = tc.htb_root_lines(tree.ifname) if tree.make_root else []
            lines += [tc.htb_delete_line(tree.ifname, minor) for minor in tree.remove]
            lines += [tc.htb_class_line(tree.ifname, "replace", item) for item in tree.add]
            lines += [tc.htb_class_line(tree.ifname, "change", item) for item in tree.change]
            made = {item.minor for item in tree.add}
            lines += [
                tc.htb_leaf_line(tree.ifname, minor, leaf.text, is_first=minor in made)
                for minor, leaf in tree.leaves
            ]
            tc.batch(lines)

    def verify(self, difference: HtbDifference) -> None:
        wrong: list[str] = []
        for tree in difference.trees:
            index = _index(tree.ifname)
            for item in [*tree.add, *tree.change]:
                held = htb_classes.read_one(index, tc.HTB_MAJOR, item.minor)
                if held is None or not same(held, item):
                    wrong.append(f"{tree.ifname}: HTB class {item.minor:x} is {held}")
            added = {item.minor for item in tree.add}
            for minor in tree.remove:
                if minor not in added and htb_classes.read_one(index, tc.HTB_MAJOR, minor) is not None:
                    wrong.append(f"{tree.ifname}: HTB class {minor:x} is still there")
            if tree.leaves:
                held_leaves = tc.htb_leaves(tc.qdiscs(tree.ifname))
                wrong += [
                    f"{tree.ifname}: below HTB class {minor:x} is not {leaf.text}"
                    for minor, leaf in tree.leaves
                    if not leaf.is_held(held_leaves.get(minor))
                ]
        refuse("shaping", wrong)

    def leaf_text(self, spec: ClassSpec, port: PortSpec) -> tuple[str, bool]:
        """The qdisc below a class as it should be, why it is that one, and whether it is there."""
        leaf = self._leaf(spec, port)
        held = tc.htb_leaves(tc.qdiscs(port.ifname)).get(tc.HTB_OWN | spec.slot)
        text = leaf.text if not leaf.reason else f"{leaf.text}, because {leaf.reason}"
        return text, leaf.is_held(held)

    def wrong_classes(self, specs: Mapping[int, ClassSpec], spec: ClassSpec, port: PortSpec) -> list[str]:
        """Of a queue's HTB classes and those above it, what the kernel holds otherwise, in words."""
        index, inner, less = _index(port.ifname), inner_slots(specs), reduced_rates(specs, port)
        wrong, above = [], specs.get(spec.slot)
        while above is not None:
            for item in classes_of(above, port, above.slot in inner, less.get(above.slot)):
                held = htb_classes.read_one(index, tc.HTB_MAJOR, item.minor)
                if held is None:
                    wrong.append(f"there is no HTB class {item.minor:x}")
                elif not same(held, item):
                    wrong.append(f"HTB class {item.minor:x} has {_rates(held)}, not {_rates(item)}")
            above = specs.get(above.parent_slot)
        return wrong

    def _leaf(self, spec: ClassSpec, port: PortSpec) -> Leaf:
        return self._modes.leaf(clock_of(spec, port).waiting)


def _waits_otherwise(old: ClassSpec, new: ClassSpec) -> bool:
    return old.upload.waiting != new.upload.waiting or old.download.waiting != new.download.waiting


def same(held: HtbClass, wanted: HtbClass) -> bool:
    """Equal but for the kernel's rounding of bursts, and for an inner class's priority (HTB keeps none)."""
    return (
        held.parent_minor == wanted.parent_minor
        and held.rate_bps == wanted.rate_bps
        and held.ceil_bps == wanted.ceil_bps
        and _near(held.burst_bytes, wanted.burst_bytes)
        and _near(held.cburst_bytes, wanted.cburst_bytes)
    )


def _rates(item: HtbClass) -> str:
    return f"{format_rate_long(item.rate_bps)} up to {format_rate_long(item.ceil_bps)}"


def _near(a: int, b: int) -> bool:
    return abs(a - b) <= BURST_TOLERANCE * b + 1600


def _diff_tree(
    tree: TreeDifference,
    held: Mapping[int, HtbClass],
    classes: Mapping[int, HtbClass],
) -> None:
    gone = {
        minor
        for minor, item in held.items()
        if minor not in classes or classes[minor].parent_minor != item.parent_minor
    }
    depth = {minor: _depth(held, minor) for minor in held}
    for minor in sorted(held, key=lambda minor: depth[minor]):
        if held[minor].parent_minor in gone:
            gone.add(minor)
    tree.remove = sorted(gone, key=lambda minor: -depth[minor])
    missing = [minor for minor in classes if minor not in held or minor in gone]
    tree.add = [classes[minor] for minor in missing]
    tree.change = [
        item
        for minor, item in classes.items()
        if minor in held and minor not in gone and not same(held[minor], item)
    ]


def _depth(held: Mapping[int, HtbClass], minor: int) -> int:
    depth = 0
    while (item := held.get(minor)) is not None and item.parent_minor and depth < len(held):
        minor, depth = item.parent_minor, depth + 1
    return depth


def _check_size(wanted: HtbWanted) -> None:
    highest = max(wanted.classes, default=0) if wanted.ports else 0
    if highest > tc.MAX_HTB_SLOT:
        raise Unsupported(
            f"an HTB tree holds at most {tc.MAX_HTB_SLOT} queues; use the shaper edt or police on "
            f"{', '.join(wanted.ports)}",
            code="htb-too-large",
        )


def _index(ifname: str) -> int:
    try:
        return socket.if_nametoindex(ifname)
    except OSError:
        return 0  # gone: it has no classes
