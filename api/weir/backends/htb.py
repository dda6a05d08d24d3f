# SPDX-License-Identifier: Apache-2.0
"""The classic choice: one HTB tree per port whose shaper is `htb`, from the same compiled classes.

A class's minor number is its slot, so the tree has at most `MAX_HTB_MINOR` classes. A WAN port's tree
limits uploads, every other port's downloads. HTB cannot move a class to another parent: such a class is
made anew, with those below it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weir.adapters import htb_classes, tc
from weir.adapters.htb_classes import HtbClass
from weir.backends.backend import refuse, step
from weir.backends.modes import PortModes
from weir.compiler.types import ClassSpec, PortSpec, Step
from weir.model.problem import Unsupported

UNLIMITED_BPS = 100_000_000_000
UNLIMITED_BURST_BYTES = 1_250_000
LEAST_RATE_BPS = 8_000
LEAST_BURST_BYTES = 2_000
BURST_TOLERANCE = 0.02
"""The kernel keeps a burst as a multiple of 64 ns at the rate."""


@dataclass(frozen=True, slots=True)
class HtbWanted:
    """`ports`: those in HTB mode."""

    ports: Mapping[str, PortSpec]
    classes: Mapping[int, ClassSpec]


@dataclass(slots=True)
class TreeDifference:
    """`remove` has children before parents, `add` parents before children."""

    ifname: str
    make_root: bool = False
    remove: list[int] = field(default_factory=list)
    add: list[HtbClass] = field(default_factory=list)
    change: list[HtbClass] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.make_root or self.remove or self.add or self.change)


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


class HtbBackend:
    def __init__(self, modes: PortModes) -> None:
        self._modes = modes

    def read(self) -> dict[str, dict[int, HtbClass]]:
        """The classes of our trees by interface."""
        ours = [q for q in tc.qdiscs() if q.is_root and q.kind == "htb" and q.major == tc.HTB_MAJOR]
        return {q.ifname: htb_classes.read_all(_index(q.ifname), tc.HTB_MAJOR) for q in ours}

    def diff(self, held: Mapping[str, Mapping[int, HtbClass]], wanted: HtbWanted) -> HtbDifference:
        _check_size(wanted)
        found = HtbDifference()
        for ifname, port in wanted.ports.items():
            tree = TreeDifference(ifname, make_root=ifname not in held)
            classes = {slot: class_of(spec, port) for slot, spec in wanted.classes.items() if _in_tree(spec)}
            _diff_tree(tree, held.get(ifname, {}), classes, wanted.classes)
            found.trees.append(tree)
        return found

    def diff_changed(
        self,
        wanted: HtbWanted,
        changed: Sequence[tuple[ClassSpec | None, ClassSpec]],
        removed: Sequence[ClassSpec],
    ) -> HtbDifference | None:
        """As `diff` for a plan's classes only; None when a class moves and the trees must be read."""
        if any(old is not None and old.parent_slot != new.parent_slot for old, new in changed):
            return None
        _check_size(wanted)
        return HtbDifference(
            [
                TreeDifference(
                    ifname,
                    remove=[spec.slot for spec in removed if _in_tree(spec)],
                    add=[class_of(new, port) for old, new in changed if old is None and _in_tree(new)],
                    change=[class_of(new, port) for old, new in changed if old is not None and _in_tree(new)],
                )
                for ifname, port in wanted.ports.items()
            ]
        )

    def apply(self, difference: HtbDifference) -> None:
        leaf = self._modes.leaf_kind()
        for tree in difference.trees:
            lines = tc.htb_root_lines(tree.ifname) if tree.make_root else []
            lines += [tc.htb_delete_line(tree.ifname, minor) for minor in tree.remove]
            parents = {item.parent_minor for item in tree.add}
            for item in tree.add:
                lines.append(tc.htb_class_line(tree.ifname, "replace", item))
                if item.minor not in parents:
                    lines.append(tc.htb_leaf_line(tree.ifname, item.minor, leaf))
            lines += [tc.htb_class_line(tree.ifname, "change", item) for item in tree.change]
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
        refuse("shaping", wrong)


def _in_tree(spec: ClassSpec) -> bool:
    """A total is charged from two ports, and a tree belongs to one: the programs police it instead."""
    return not spec.is_total


def class_of(spec: ClassSpec, port: PortSpec) -> HtbClass:
    """A class of a port's tree. At the top rate = ceil; below, the rate is the guarantee and the rest
    is borrowed from the parent (tc-htb(8))."""
    clock = spec.upload if port.role == "wan" else spec.download
    ceil = clock.rate_bps or UNLIMITED_BPS
    cburst = clock.burst_bytes if clock.rate_bps else UNLIMITED_BURST_BYTES
    rate = (
        ceil if spec.parent_slot == 0 else max(min(clock.guarantee_bps or ceil // 1000, ceil), LEAST_RATE_BPS)
    )
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


def same(held: HtbClass, wanted: HtbClass) -> bool:
    """Equal but for the kernel's rounding of bursts, and for an inner class's priority (HTB keeps none)."""
    return (
        held.parent_minor == wanted.parent_minor
        and held.rate_bps == wanted.rate_bps
        and held.ceil_bps == wanted.ceil_bps
        and _near(held.burst_bytes, wanted.burst_bytes)
        and _near(held.cburst_bytes, wanted.cburst_bytes)
    )


def _near(a: int, b: int) -> bool:
    return abs(a - b) <= BURST_TOLERANCE * b + 1600


def _diff_tree(
    tree: TreeDifference,
    held: Mapping[int, HtbClass],
    classes: Mapping[int, HtbClass],
    specs: Mapping[int, ClassSpec],
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
    tree.add = [classes[minor] for minor in sorted(missing, key=lambda minor: specs[minor].depth)]
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
    if highest > tc.MAX_HTB_MINOR:
        raise Unsupported(
            f"an HTB tree holds at most {tc.MAX_HTB_MINOR} classes; use the shaper edt or police on "
            f"{', '.join(wanted.ports)}",
            code="htb-too-large",
        )


def _index(ifname: str) -> int:
    try:
        return socket.if_nametoindex(ifname)
    except OSError:
        return 0  # gone: it has no classes
