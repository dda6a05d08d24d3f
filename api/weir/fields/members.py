# SPDX-License-Identifier: Apache-2.0
"""The fields of a dataclass, each with its field type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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

    def reader(self) -> Callable[[Reader], Any]:
        """Reads this member out of a JSON object, and notes what is wrong with it."""
        name, default, read = self.name, self.default, self.field.read
        if self.required:
            return self._read_required
        if self.nullable:
            return lambda reader: None if reader.data.get(name) is None else read(reader, name, None)
        return lambda reader: read(reader, name, default)

    def _read_required(self, reader: Reader) -> Any:
        if reader.data.get(self.name) is None:
            example = f", for example {self.field.example}" if self.field.example else ""
            reader.error(self.name, "missing", f"must be given{example}")
            return None
        return self.field.read(reader, self.name, None)


class Reading:
    """Reads all members of a class out of a JSON object. Most are left out of most objects: nobody is asked
    whether their default is valid."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._members = tuple((item.name, item.required, item.default, item.reader()) for item in members)

    def values(self, reader: Reader) -> list[Any]:
        """In the order of the members; what is wrong is noted at the reader."""
        data = reader.data
        return [
            read(reader) if required or name in data else default
            for name, required, default, read in self._members
        ]


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
