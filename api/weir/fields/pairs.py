# SPDX-License-Identifier: Apache-2.0
"""A value for each direction."""

from __future__ import annotations

from typing import Any

from weir.fields.base import Field
from weir.fields.numbers import Whole
from weir.fields.texts import Ref
from weir.model.pair import Pair, shared_pair
from weir.model.reader import DIRECTIONS, Reader


class EachWay(Field):
    """A `Pair` of numbers or names; a direction left out takes the default.

    `called` is what such pairs are called in the API's documentation: "Rate" makes `RatePair`.
    Equal pairs are one object: 100,000 queues hold few distinct ones.
    """

    null_is_default = True

    def __init__(self, called: str, item: Whole | Ref, **said: Any) -> None:
        super().__init__(**said)
        self.called = called
        self.item = item
        self._range = (item.low, item.high) if isinstance(item, Whole) else None

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        if self._range is not None:
            return reader.integers_each_way(name, default, *self._range)
        inner = reader.inner(name)
        if inner is None:
            return default
        inner.refuse_unknown(DIRECTIONS)
        upload = self.item.read(inner, "upload", default.upload)
        return shared_pair(upload, self.item.read(inner, "download", default.download))

    def to_json(self, value: Pair[Any]) -> Any:
        return {"upload": value.upload, "download": value.download}

    def to_stored_text(self, value: Pair[Any]) -> str:
        text = self.item.to_stored_text
        return f'{{"upload":{text(value.upload)},"download":{text(value.download)}}}'

    def bounds(self) -> str:
        return f"pair, each {self.item.bounds()}"
