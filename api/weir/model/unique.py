# SPDX-License-Identifier: Apache-2.0
"""At most one object of a kind for each key: the first one stands, and the others are told which it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

from weir.model.document import Change
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, View, caused_by, error

T = TypeVar("T", bound=ConfigObject)


def one_for_each(
    of: type[T],
    name: str,
    *,
    key: Callable[[T], Hashable],
    code: str,
    field: str,
    says: Callable[[T, T], str],
    order: Callable[[T], Any] = attrgetter("id"),
) -> Rule:
    """A rule: of the objects whose `key` is equal the first in `order` stands, and each other one is an error
    at `field`. `says` gets such a one and the first. An object whose key is None stands in nobody's way."""

    def keys(item: T) -> Iterable[Hashable]:
        own = key(item)
        return () if own is None else (own,)

    def words(item: T, first: T, _key: Hashable) -> str:
        return says(item, first)

    return one_for_each_of(of, name, keys=keys, code=code, field=field, says=words, order=order)


def one_for_each_of(
    of: type[T],
    name: str,
    *,
    keys: Callable[[T], Iterable[Hashable]],
    code: str,
    field: str,
    says: Callable[[T, T, Any], str],
    order: Callable[[T], Any] = attrgetter("id"),
) -> Rule:
    """As `one_for_each`, of objects with several keys, of which each may be one object's; `says` gets the key
    as well."""
    kind = of.kind

    def alike(view: View) -> dict[Hashable, list[T]]:
        return view.worked_out(f"{kind} {name}", lambda: _by_key(view.document.every(of)))

    def _by_key(items: Iterator[T]) -> dict[Hashable, list[T]]:
        found: dict[Hashable, list[T]] = {}
        for item in sorted(items, key=order):
            for own in keys(item):
                found.setdefault(own, []).append(item)
        return found

    def check(view: View, item: T) -> Iterator[Finding]:
        for own in keys(item):
            first = alike(view)[own][0]
            if first.id != item.id:
                yield error(code, item, field, says(item, first, own))

    @caused_by(kind)
    def reach(view: View, change: Change) -> Iterator[str]:
        for item in (change.old, change.new):
            if isinstance(item, of):
                yield from (other.id for own in keys(item) for other in alike(view).get(own, ()))
        if change.kind == kind:
            yield change.id

    return Rule(name, kind, check, reach, True)
