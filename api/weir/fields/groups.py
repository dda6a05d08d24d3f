# SPDX-License-Identifier: Apache-2.0
"""Fields that belong together, and what an object is one of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weir.fields.base import Field
from weir.fields.members import Reading, Writing, members_of
from weir.fields.secret import Secret
from weir.model.reader import Reader, shown


class Group(Field):
    """An object in an object: the fields of a frozen dataclass, which are declared as those of a kind.

    One that is never `None` has an object as its default, which those that are equal to it share. The API's
    documentation calls it as the class, or as `called`.
    """

    null_is_default = True

    def __init__(self, of: type, *, called: str = "", **said: Any) -> None:
        super().__init__(**said)
        self.of = of
        self.called = called or of.__name__
        self.members = members_of(of)
        self._names = frozenset(member.name for member in self.members)
        self._reading = Reading(self.members)
        self._writing = Writing(self.members)

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        inner = reader.inner(name)
        if inner is None:
            return default
        inner.refuse_unknown(self._names)
        value = self.of(**self._reading.given(inner))
        return default if value == default else value

    def to_json(self, value: Any) -> Any:
        return None if value is None else self._writing.json(value)

    def to_stored(self, value: Any) -> Any:
        if value is None:
            return None
        return {item.name: item.field.to_stored(getattr(value, item.name)) for item in self.members}

    @property
    def may_be_empty(self) -> bool:
        """Whether `{}` is one: every field may be left out."""
        return not any(member.required for member in self.members)

    def bounds(self) -> str:
        return "; ".join(f"`{item.name}`: {item.field.bounds()}" for item in self.members)


def holds_secret(field: Field) -> bool:
    """Whether it is a secret, or a group that has one at any depth."""
    inner = field.members if isinstance(field, Group) else ()
    return isinstance(field, Secret) or any(holds_secret(member.field) for member in inner)


class Rows(Field):
    """A list of up to `most` groups of one class, as a tuple. `by` is the field in which they all differ."""

    null_is_default = True

    def __init__(self, of: type, most: int, *, by: str, **said: Any) -> None:
        super().__init__(**said)
        self.group = Group(of)
        if holds_secret(self.group):
            raise TypeError(f"{of.__name__} is in a list, so it cannot hold a secret")
        self.most = most
        self.by = by

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        value = reader.data.get(name)
        if value is None:
            return default
        if not isinstance(value, list):
            reader.error(name, "bad-list", f"must be a list, not {shown(value)}")
            return default
        if len(value) > self.most:
            reader.error(name, "too-many", f"has {len(value)} entries; at most {self.most} are allowed")
            return default
        places = Reader(
            {f"{name}[{index}]": item for index, item in enumerate(value)},
            reader.kind,
            reader.id,
            reader.findings,
            reader.within,
        )
        for place in [place for place, item in places.data.items() if item is None]:
            places.error(place, "bad-object", "must be an object, not null")
        found = [self.group.read(places, place, None) for place in places.data]
        self._refuse_repeated(places, found)
        return tuple(item for item in found if item is not None)

    def _refuse_repeated(self, places: Reader, found: Iterable[Any]) -> None:
        seen = set()
        for place, item in zip(places.data, found, strict=True):
            value = None if item is None else getattr(item, self.by)
            if value is not None and value in seen:
                places.error(f"{place}.{self.by}", "repeated", f"is {shown(value)} as in another entry")
            seen.add(value)

    def to_json(self, value: Any) -> Any:
        return None if value is None else [self.group.to_json(item) for item in value]

    def bounds(self) -> str:
        return f"list of up to {self.most} objects"


@dataclass(frozen=True, slots=True)
class Case:
    """One of what an object can be. `member` is the field that only this case has, and always has."""

    name: str
    help: str
    member: str = ""


class OneOf:
    """An object is exactly one of these cases; JSON says which in the field `discriminator`.

    The case follows from the object: it is the one whose member is set, or else the first, which has none. So
    it is not stored, and JSON that does not say it is read as well.
    """

    help = "What it is made as."

    def __init__(self, discriminator: str, *cases: Case) -> None:
        if not cases or cases[0].member or not all(case.member for case in cases[1:]):
            raise TypeError("the first case has no member of its own, every other one has")
        self.discriminator = discriminator
        self.cases = cases
        self.members = {case.member: case for case in cases if case.member}
        self.names = tuple(case.name for case in cases)

    def of(self, item: object) -> Case:
        """Which one an object is."""
        for member, case in self.members.items():
            if getattr(item, member) is not None:
                return case
        return self.cases[0]

    def check(self, reader: Reader) -> None:
        """Note where JSON says two cases at once, or one without what it needs."""
        data = reader.data
        given = [case for member, case in self.members.items() if data.get(member) is not None]
        said = data.get(self.discriminator)
        if said is None:
            if len(given) > 1:
                self._contradict(reader, given[0], given[1:])
            return
        case = next((case for case in self.cases if case.name == said), None)
        if case is None:
            reader.one_of(self.discriminator, "", self.names)
            return
        if case.member and data.get(case.member) is None:
            reader.error(case.member, "missing", f"must be given where {self.discriminator} is {case.name}")
        self._contradict(reader, case, [other for other in given if other is not case])

    def _contradict(self, reader: Reader, case: Case, others: list[Case]) -> None:
        for other in others:
            belongs = f"belongs to the {self.discriminator} {other.name}"
            reader.error(other.member, "not-one-of", f"{belongs}, and this is {case.name}: leave one out")

    def before_patch(self, present: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
        """What a merge patch is laid upon: the case follows from the result, unless the patch says it."""
        said = patch.get(self.discriminator)
        others = () if said is None else (name for name, case in self.members.items() if case.name != said)
        left_out = {self.discriminator, *others}
        return {name: value for name, value in present.items() if name not in left_out}
