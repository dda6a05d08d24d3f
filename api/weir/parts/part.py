# SPDX-License-Identifier: Apache-2.0
"""A part of the system beside shaping: what a document asks of it, and how two such states differ.

This is the pure half, which the compiler and the API use as well. The half that does it is a backend
(`weir.backends.backend`), which the agent runs under the same name (`weir.agent.executor`). What a plan needs
of a part, it asks of every part: a part that cannot be counted or undone cannot be defined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.parts.delta import Delta, PartDelta, Replaced, Step, delta_of

T = TypeVar("T")
W = TypeVar("W")
D = TypeVar("D", bound=PartDelta)

SHAPING = "shaping"
"""What stands in `after` for classes, prefixes and ports, which the compiler makes of queues."""


class Part(ABC, Generic[W, D]):
    """`W` is what a document asks for, `D` the difference of two of them.

    `made_of` are the kinds of which `wanted` reads objects; a change of others is none of this part. `after`
    are parts that are done before it, and undone after it: names, or `SHAPING`.
    """

    name: ClassVar[str]
    made_of: ClassVar[frozenset[Kind]]
    after: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def nothing(self) -> W:
        """What is asked for by no document."""

    @abstractmethod
    def wanted(self, document: Document) -> W:
        """What a document asks for; a pure function of it."""

    @abstractmethod
    def delta(self, before: W, after: W) -> D: ...

    @abstractmethod
    def applied(self, before: W, delta: D) -> W:
        """The state to which a delta leads from `before`."""

    @abstractmethod
    def made(self, delta: D) -> Iterator[Step]:
        """The steps that add and change."""

    @abstractmethod
    def removed(self, delta: D) -> Iterator[Step]:
        """The steps that remove, which come after those of all parts that add."""

    def told(self, wanted: W, item: ConfigObject) -> Iterator[str]:
        """What one object became, for a person; of a part whose entries are made of many objects it is all of
        them."""
        return (f"{step.what} {step.text}" for step in self.made(self.delta(self.nothing, wanted)))

    def moved(self, before: W, document: Document, changes: Sequence[Change]) -> tuple[W, D]:
        """What is asked for after changes (already applied to the document), and the difference."""
        if all(change.kind not in self.made_of for change in changes):
            return before, self.delta(before, before)
        after = self.wanted(document)
        return after, self.delta(before, after)


class EntriesPart(Part[Mapping[str, T], Delta[T]]):
    """Entries by name that come, change and go one by one; `what` is what one is called."""

    what: ClassVar[str]

    @property
    def nothing(self) -> Mapping[str, T]:
        return {}

    @abstractmethod
    def key(self, entry: T) -> str:
        """Its name in the mapping."""

    @abstractmethod
    def text(self, old: T | None, new: T) -> str:
        """What becomes of an entry, for a person."""

    def delta(self, before: Mapping[str, T], after: Mapping[str, T]) -> Delta[T]:
        return Delta() if before is after else delta_of(before, after)

    def applied(self, before: Mapping[str, T], delta: Delta[T]) -> Mapping[str, T]:
        return moved_over(before, delta, self.key)

    def made(self, delta: Delta[T]) -> Iterator[Step]:
        return set_steps(self.name, self.what, delta, self.text)

    def removed(self, delta: Delta[T]) -> Iterator[Step]:
        return remove_steps(self.name, self.what, delta, self.text)


class ObjectsPart(EntriesPart[T]):
    """One entry for each object of one kind, made of that object alone: a change costs what it touches."""

    of: ClassVar[type[ConfigObject]]

    @abstractmethod
    def entry(self, item: Any) -> T | None:
        """None: nothing is asked for by this object."""

    def wanted(self, document: Document) -> Mapping[str, T]:
        found = ((item.id, self.entry(item)) for item in sorted(document.every(self.of), key=_id))
        return {name: entry for name, entry in found if entry is not None}

    def told(self, wanted: Mapping[str, T], item: ConfigObject) -> Iterator[str]:
        if item.id in wanted:
            yield self.text(None, wanted[item.id])

    def moved(
        self, before: Mapping[str, T], document: Document, changes: Sequence[Change]
    ) -> tuple[Mapping[str, T], Delta[T]]:
        held, ids = document.of_kind(self.of.kind), {c.id for c in changes if c.kind == self.of.kind}
        delta: Delta[T] = Delta()
        for name in sorted(ids):
            old, item = before.get(name), held.get(name)
            new = None if item is None else self.entry(item)
            if new is None and old is not None:
                delta.removed.append(old)
            elif new is not None and new != old:
                delta.set.append((old, new))
        return self.applied(before, delta), delta


class ReplacedPart(Part[W, Replaced[W]]):
    """A state that is replaced as one; it is counted and told by its entries."""

    @abstractmethod
    def entries(self, wanted: W) -> Mapping[Any, Any]:
        """By what makes an entry the same one in two states; the values differ if it has changed."""

    def delta(self, before: W, after: W) -> Replaced[W]:
        return Replaced(before, after, self.entries(before), self.entries(after))

    def applied(self, before: W, delta: Replaced[W]) -> W:
        return delta.after


class SinglePart(ReplacedPart[ConfigObject | None]):
    """What the one object of a kind asks for. `what` is what the part is called in a step."""

    of: ClassVar[type[ConfigObject]]
    what: ClassVar[str]

    @property
    def nothing(self) -> ConfigObject | None:
        return None

    def wanted(self, document: Document) -> ConfigObject | None:
        return document.single(self.of)

    def entries(self, wanted: ConfigObject | None) -> Mapping[str, ConfigObject]:
        return {} if wanted is None else {self.what: wanted}

    def made(self, delta: Replaced[ConfigObject | None]) -> Iterator[Step]:
        if delta.after is not None:
            yield Step(self.name, "add" if delta.before is None else "change", self.what, self.name)

    def removed(self, delta: Replaced[ConfigObject | None]) -> Iterator[Step]:
        if delta.after is None:
            yield Step(self.name, "remove", self.what, self.name)


def moved_over(before: Mapping[Any, T], delta: Delta[T], key: Callable[[T], Hashable]) -> Mapping[Any, T]:
    """The mapping that a delta leads to; `before` itself when nothing changes."""
    if not delta:
        return before
    mapping = dict(before)
    for item in delta.removed:
        mapping.pop(key(item), None)
    for old, new in delta.set:
        if old is not None:
            mapping.pop(key(old), None)
        mapping[key(new)] = new
    return mapping


def set_steps(part: str, what: str, delta: Delta[T], text: Callable[[T | None, T], str]) -> Iterator[Step]:
    for old, new in delta.set:
        yield Step(part, "add" if old is None else "change", what, text(old, new))


def remove_steps(part: str, what: str, delta: Delta[T], text: Callable[[T | None, T], str]) -> Iterator[Step]:
    for old in delta.removed:
        yield Step(part, "remove", what, text(None, old))


class Parts:
    """The registered parts in the order in which they are done."""

    def __init__(self, parts: Iterable[Part[Any, Any]]) -> None:
        """Raises `TypeError` for a name that two have, and for an order that cannot be."""
        by_name: dict[str, Part[Any, Any]] = {}
        for part in parts:
            if part.name in by_name or part.name == SHAPING:
                raise TypeError(f"two parts are called {part.name}")
            by_name[part.name] = part
        self._order = _in_order(by_name)

    def __iter__(self) -> Iterator[Part[Any, Any]]:
        return (part for part in self._order if part is not None)

    @property
    def before_shaping(self) -> Sequence[Part[Any, Any]]:
        return [part for part in self._order[: self._order.index(None)] if part is not None]

    @property
    def after_shaping(self) -> Sequence[Part[Any, Any]]:
        return [part for part in self._order[self._order.index(None) :] if part is not None]


def _in_order(by_name: Mapping[str, Part[Any, Any]]) -> list[Part[Any, Any] | None]:
    """Each as early as `after` lets it, and shaping (None) behind all that do not wait for it."""
    waiting = dict(by_name)
    done: list[Part[Any, Any] | None] = []
    names: set[str] = set()
    while waiting or SHAPING not in names:
        ready = next((name for name, part in waiting.items() if names.issuperset(part.after)), None)
        if ready is not None:
            names.add(ready)
            done.append(waiting.pop(ready))
        elif SHAPING not in names:
            names.add(SHAPING)
            done.append(None)
        else:
            name, part = next(iter(waiting.items()))
            missing = ", ".join(sorted(set(part.after) - names))
            raise TypeError(f"part {name} cannot be done after {missing}: there is none, or it waits itself")
    return done


def _id(item: ConfigObject) -> str:
    return item.id
