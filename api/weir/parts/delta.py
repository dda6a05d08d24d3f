# SPDX-License-Identifier: Apache-2.0
"""What turns one state of a part of the system into another: how much, in which steps, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count
from operator import is_not
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

T = TypeVar("T")
K = TypeVar("K")

Action = Literal["add", "change", "remove"]


class Step(NamedTuple):
    """One thing done to the kernel, and how it reads to a person."""

    backend: str
    """The part of the system: `shaping`, or the name of a registered part."""
    action: Action
    what: str
    """`class`, `prefix`, `port`, `interface`, `route`, `firewall` or `setting`."""
    text: str


class Counts(NamedTuple):
    added: int
    changed: int
    removed: int


class PartDelta(Protocol):
    """What a plan holds for one part; false when there is nothing to do."""

    def __bool__(self) -> bool: ...
    def counts(self) -> Counts: ...
    def inverse(self) -> Self: ...


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


@dataclass(frozen=True, slots=True)
class Replaced(Generic[T]):
    """A state that is replaced as one: before and after, and the entries of each by a key."""

    before: T
    after: T
    entries_before: Mapping[Any, Any]
    entries_after: Mapping[Any, Any]

    def __bool__(self) -> bool:
        return self.before != self.after

    def counts(self) -> Counts:
        before, after = self.entries_before, self.entries_after
        changed = sum(before[key] != after[key] for key in before.keys() & after.keys())
        return Counts(len(after.keys() - before.keys()), changed, len(before.keys() - after.keys()))

    def inverse(self) -> Replaced[T]:
        return Replaced(self.after, self.before, self.entries_after, self.entries_before)


def common_ends(before: Sequence[object], after: Sequence[object]) -> tuple[int, int]:
    """How many items are the same at the beginning of both, and at the end of what is left. Of thousands most
    are the same object, which takes no comparison."""
    start = _same(before, after)
    most = min(len(before), len(after)) - start
    return start, min(most, _same(before[::-1], after[::-1]))


def _same(before: Sequence[object], after: Sequence[object]) -> int:
    """How many at the beginning."""
    differ = compress(count(), map(is_not, before, after))
    return next((at for at in differ if before[at] != after[at]), min(len(before), len(after)))


def delta_of(before: Mapping[K, T], after: Mapping[K, T]) -> Delta[T]:
    """The difference of two mappings, in the order of each."""
    delta: Delta[T] = Delta()
    for key, new in after.items():
        old = before.get(key)
        if old != new:
            delta.set.append((old, new))
    delta.removed.extend(old for key, old in before.items() if key not in after)
    return delta


def total(*counts: Counts) -> Counts:
    return Counts(*(sum(column) for column in zip(*counts, strict=True)))
