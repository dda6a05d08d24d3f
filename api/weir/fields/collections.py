# SPDX-License-Identifier: Apache-2.0
"""Several values in one field."""

from __future__ import annotations

from typing import Any

from weir.fields.base import Field, Parsed
from weir.fields.ids import OBJECT_IDS
from weir.fields.texts import Text
from weir.model.reader import Reader, shown


class Many(Field):
    """A list of up to `most` values without repetitions, as a tuple."""

    null_is_default = True

    def __init__(self, item: Parsed, most: int, **said: Any) -> None:
        super().__init__(**said)
        self.item = item
        self.most = most

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        if reader.data.get(name) is None:
            return default
        return reader.list_of(name, self.most, self.item.parse)

    def to_json(self, value: Any) -> Any:
        return list(value)

    def bounds(self) -> str:
        return f"list of up to {self.most} {self.item.bounds()}"


class Table(Field):
    """Up to `most` texts by name, as sorted pairs. Which names have a meaning is not the field's business."""

    null_is_default = True

    def __init__(self, text: Text, most: int, **said: Any) -> None:
        super().__init__(**said)
        self.text = text
        self.most = most

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        inner = reader.inner(name)
        if inner is None:
            return default
        if len(inner.data) > self.most:
            reader.error(name, "too-many", f"has more than {self.most} entries")
            return default
        return tuple(sorted((key, self._text(inner, key)) for key in inner.data))

    def _text(self, inner: Reader, key: str) -> str:
        if not OBJECT_IDS.pattern.fullmatch(key):
            inner.error(shown(key), "bad-id", f"must be {OBJECT_IDS.wanted}")
        return str(self.text.read(inner, key, ""))

    def to_json(self, value: Any) -> Any:
        return dict(value)

    def bounds(self) -> str:
        return f"up to {self.most} texts by name, each {self.text.bounds()}"
