# SPDX-License-Identifier: Apache-2.0
"""Typed getters over one JSON object; every error names the field, and all of them are reported at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TypeVar

from weir.model.pair import Pair, shared_pair
from weir.model.problem import Finding, Invalid

T = TypeVar("T")

Json = dict[str, object]
"""An object's JSON form."""


def shown(value: object) -> str:
    """A value as it is repeated in a message: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Reader:
    """Reads the fields of one JSON object. A getter returns its default after it noted an error."""

    __slots__ = ("data", "findings", "id", "is_stored", "kind", "within")

    def __init__(
        self, data: dict[str, object], kind: str, object_id: str, findings: list[Finding], within: str = ""
    ) -> None:
        self.data = data
        self.kind = kind
        self.id = object_id
        self.findings = findings
        self.within = within
        self.is_stored = False
        """Written by this or an earlier release, rather than sent by somebody."""

    def error(self, name: str, code: str, message: str) -> None:
        """`message` continues the sentence that the field's name begins."""
        path = self.within + name
        text = f"{path} {message}"
        self.findings.append(Finding("error", code, text, self.kind, self.id, path or None))

    def refuse_unknown(self, known: frozenset[str]) -> None:
        if not self.data.keys() <= known:
            for name in self.data:
                if name not in known:
                    self.error(_field_name(name), "unknown-field", f"is not a field of a {self.kind}")

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        value = self.data.get(name, default)
        if type(value) is int and low <= value <= high:
            return value
        self.error(name, "bad-number", f"must be a whole number from {low} to {high}, not {shown(value)}")
        return default

    def optional_integer(self, name: str, low: int, high: int) -> int | None:
        return None if self.data.get(name) is None else self.integer(name, low, low, high)

    def flag(self, name: str, default: bool) -> bool:
        value = self.data.get(name, default)
        if value is True or value is False:
            return value
        self.error(name, "bad-flag", f"must be true or false, not {shown(value)}")
        return default

    def text(self, name: str, default: str, max_chars: int, forbidden: re.Pattern[str]) -> str:
        value = self.data.get(name, default)
        if not isinstance(value, str):
            self.error(name, "bad-text", f"must be text, not {shown(value)}")
        elif len(value) > max_chars:
            self.error(name, "too-long", f"has {len(value)} characters; at most {max_chars} are allowed")
        elif forbidden.search(value):
            self.error(name, "bad-text", "holds a control character or half of a Unicode pair")
        else:
            return value
        return default

    def matching(self, name: str, default: str, pattern: re.Pattern[str], wanted: str) -> str:
        """Interned: what many objects name is one text in memory."""
        value = self.data.get(name, default)
        if isinstance(value, str) and pattern.fullmatch(value):
            return sys.intern(value)
        self.error(name, "bad-id", f"must be {wanted}, not {shown(value)}")
        return default

    def optional_matching(self, name: str, pattern: re.Pattern[str], wanted: str) -> str | None:
        if self.data.get(name) is None:
            return None
        return self.matching(name, "", pattern, wanted) or None

    def one_of(self, name: str, default: T, choices: tuple[T, ...]) -> T:
        value = self.data.get(name, default)
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        self.error(name, "bad-choice", f"must be one of {', '.join(map(str, choices))}, not {shown(value)}")
        return default

    def inner(self, name: str) -> Reader | None:
        """A reader for a nested object, or None when the field is absent, null or not an object."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.error(name, "bad-object", f"must be an object, not {shown(value)}")
            return None
        return Reader(value, self.kind, self.id, self.findings, f"{self.within}{name}.")

    def integers_each_way(self, name: str, default: Pair[int], low: int, high: int) -> Pair[int]:
        """`{"upload": n, "download": n}`; a direction left out takes the default."""
        value = self.data.get(name)
        if value is None:
            return default
        if type(value) is dict and len(value) == 2:
            upload, download = value.get("upload"), value.get("download")
            if (
                type(upload) is int
                and type(download) is int
                and low <= upload <= high
                and low <= download <= high
            ):
                return shared_pair(upload, download)
        reader = self.inner(name)
        if reader is None:
            return default
        reader.refuse_unknown(DIRECTIONS)
        upload = reader.integer("upload", default.upload, low, high)
        return shared_pair(upload, reader.integer("download", default.download, low, high))

    def list_of(self, name: str, max_items: int, read: Callable[[object], T]) -> tuple[T, ...]:
        """Read every item with `read`, which raises `Invalid`; repeated values count once."""
        value = self.data.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.error(name, "bad-list", f"must be a list, not {shown(value)}")
            return ()
        if len(value) > max_items:
            self.error(name, "too-many", f"has {len(value)} entries; at most {max_items} are allowed")
            return ()
        items: list[T] = []
        for index, item in enumerate(value):
            try:
                items.append(read(item))
            except Invalid as problem:
                self.error(f"{name}[{index}]", problem.code, problem.message)
        return tuple(items) if len(items) < 2 else tuple(dict.fromkeys(items))


DIRECTIONS = frozenset({"upload", "download"})


def _field_name(name: object) -> str:
    text = str(name)
    text = text if len(text) <= 60 else text[:57] + "..."
    return text.encode("unicode_escape").decode() if not text.isprintable() else text
