# SPDX-License-Identifier: Apache-2.0
"""The fields of a dataclass, each with its field type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, get_args, get_type_hints

from weir.fields.base import Field
from weir.model.reader import Reader


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a class: its name, its type, and what holds when it is left out."""

    name: str
    field: Field
    default: Any
    required: bool
    nullable: bool

    def reader(self) -> Callable[[Reader, str, Any], Any]:
        """Reads this member out of a JSON object, and notes what is wrong with it; called as `Field.read`."""
        return self._read_nullable if self.nullable else self.field.read

    def note_missing(self, reader: Reader) -> None:
        """It is required, and was left out or is null."""
        example = f", for example {self.field.example}" if self.field.example else ""
        reader.error(self.name, "missing", f"must be given{example}")

    def _read_nullable(self, reader: Reader, name: str, default: Any) -> Any:
        return None if reader.data[name] is None else self.field.read(reader, name, default)


class Writing:
    """The JSON of the members of a class, behind `more` of its fields that are as JSON has them."""

    def __init__(self, members: Sequence[Member], *more: str) -> None:
        self._names = (*more, *(item.name for item in members))
        self._values = attrgetter(*self._names) if self._names else lambda _item: ()
        self._is_one = len(self._names) == 1
        self._converted = tuple(
            (item.name, item.field.to_json)
            for item in members
            if type(item.field).to_json is not Field.to_json
        )

    def json(self, item: object) -> dict[str, Any]:
        """By name, defaults included."""
        values = self._values(item)
        found = dict(zip(self._names, (values,) if self._is_one else values, strict=True))
        for name, convert in self._converted:
            found[name] = convert(found[name])
        return found


class Reading:
    """Reads all members of a class out of a JSON object. Most are left out of most objects: nobody is asked
    whether their default is valid."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._members = tuple(
            (item.name, item.note_missing if item.required else None, item.default, item.reader())
            for item in members
        )

    def given(self, reader: Reader) -> dict[str, Any]:
        """Those that are not left out, by name, and all that must not be; what is wrong is noted at the
        reader."""
        data = reader.data
        found: dict[str, Any] = {}
        for name, note_missing, default, read in self._members:
            if note_missing is not None and data.get(name) is None:
                note_missing(reader)
                found[name] = None
            elif name in data:
                found[name] = read(reader, name, default)
        return found


def members_of(of: type, without: str = "") -> tuple[Member, ...]:
    """The fields of a declared class but one. Raises `TypeError` for a class that breaks the conventions."""
    hints = get_type_hints(of, include_extras=True)
    return tuple(
        _member(of, item, hints[item.name]) for item in dataclasses.fields(of) if item.name != without
    )


def _member(of: type, item: dataclasses.Field[Any], hint: Any) -> Member:
    where = f"{of.__name__}.{item.name}"
    found = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Field)]
    if len(found) != 1:
        raise TypeError(f"{where} needs one field type, as in Annotated[int, Whole(1, 255)]")
    required = item.default is dataclasses.MISSING
    nullable = type(None) in get_args(hint.__origin__)
    if nullable and item.default is not None:
        raise TypeError(f"{where} may be None, so None must be its default")
    return Member(item.name, found[0], None if required else item.default, required, nullable)
