# SPDX-License-Identifier: Apache-2.0
"""From a parent, an interface or a name to the ids of the queues that have it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from weir.model.frozen import FrozenNames

K = TypeVar("K")
D = TypeVar("D")

_NOBODY: set[str] = set()


class IdIndex(Generic[K]):
    """Key -> ids, for keys of which there are few or that most ids share.

    One id is held as it is, several as a set, and those that were frozen as a tuple, an eighth of the size.
    """

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: dict[K, str | set[str] | tuple[str, ...]] = {}

    def get(self, key: K, default: D) -> Collection[str] | D:
        """The ids of a key; not to be changed."""
        found = self._ids.get(key)
        if found is None:
            return default
        return (found,) if isinstance(found, str) else found

    def of(self, key: K) -> Collection[str]:
        """As `get`, with nobody for a key that is not there."""
        return self.get(key, _NOBODY)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def add(self, key: K, object_id: str) -> None:
        found = self._ids.get(key)
        if found is None:
            self._ids[key] = object_id
        elif isinstance(found, set):
            found.add(object_id)
        else:
            self._ids[key] = {object_id, *self.of(key)}

    def discard(self, key: K, object_id: str) -> None:
        found = self._ids.get(key)
        if isinstance(found, tuple):
            found = self._ids[key] = set(found)
        if isinstance(found, set):
            found.discard(object_id)
            if not found:
                del self._ids[key]
        elif found == object_id:
            del self._ids[key]

    def freeze(self) -> None:
        """Into less memory; the first change of a key costs a copy of its ids."""
        for key, found in self._ids.items():
            if isinstance(found, set):
                self._ids[key] = tuple(found)

    def copy(self) -> IdIndex[K]:
        twin: IdIndex[K] = IdIndex()
        twin._ids = {key: set(found) if isinstance(found, set) else found for key, found in self._ids.items()}
        return twin


class NameIndex:
    """Name -> ids. After `freeze` the names are those in the queues, found by their hash."""

    __slots__ = ("_frozen", "_name_of", "_over")

    def __init__(self, name_of: Callable[[str], str | None]) -> None:
        """`name_of` gives the present name of an id, None for one that is gone."""
        self._name_of = name_of
        self._frozen = FrozenNames()
        self._over: dict[str, str | frozenset[str]] = {}
        """Names of what is not frozen, and those whose frozen ids are not all there any more."""

    def of(self, name: str) -> frozenset[str]:
        """The ids that have a name."""
        found = self._find(name)
        return frozenset((found,)) if isinstance(found, str) else found

    def is_shared(self, name: str) -> bool:
        """Whether several have a name; most often that takes no look at who has it."""
        found = self._over.get(name)
        if found is None and len(self._frozen.candidates(name)) < 2:
            return False
        return len(self.of(name)) > 1

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._find(name))

    def add(self, name: str, object_id: str) -> None:
        found = self._find(name)
        self._over[name] = frozenset((*self.of(name), object_id)) if found else object_id

    def discard(self, name: str, object_id: str) -> None:
        left = self.of(name) - {object_id}
        if left or len(self._frozen):
            self._over[name] = left
        else:
            self._over.pop(name, None)

    @property
    def is_frozen(self) -> bool:
        """Whether no name is remembered."""
        return not self._over

    def freeze(self, named: Iterable[tuple[str, str]]) -> None:
        """Go on with these pairs of name and id, and remember no name."""
        hashes, ids = array("q"), []
        for name, object_id in named:
            hashes.append(hash(name))
            ids.append(object_id)
        self._frozen, self._over = FrozenNames(hashes, ids), {}

    def copy(self, name_of: Callable[[str], str | None]) -> NameIndex:
        twin = NameIndex(name_of)
        twin._frozen, twin._over = self._frozen, dict(self._over)
        return twin

    def _find(self, name: str) -> str | frozenset[str]:
        found = self._over.get(name)
        if found is not None:
            return found
        return frozenset(other for other in self._frozen.candidates(name) if self._name_of(other) == name)
