# SPDX-License-Identifier: Apache-2.0
"""Fields that belong together, and what an object is one of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir.fields.base import Field
from weir.fields.members import members_of
from weir.fields.secret import Secret
from weir.model.reader import Reader


class Group(Field):
    """An object in an object: the fields of a frozen dataclass, which are declared as those of a kind."""

    def __init__(self, of: type, **said: Any) -> None:
        super().__init__(**said)
        self.of = of
        self.members = members_of(of)
        if any(isinstance(member.field, Secret) for member in self.members):
            raise TypeError(f"{of.__name__} is a group and cannot hold a secret: declare that beside it")
        self._names = frozenset(member.name for member in self.members)
        self._readers = tuple(member.reader() for member in self.members)

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        inner = reader.inner(name)
        if inner is None:
            return default
        inner.refuse_unknown(self._names)
        return self.of(*[read(inner) for read in self._readers])

    def to_json(self, value: Any) -> Any:
        if value is None:
            return None
        return {item.name: item.field.to_json(getattr(value, item.name)) for item in self.members}

    def bounds(self) -> str:
        return "; ".join(f"`{item.name}`: {item.field.bounds()}" for item in self.members)


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
