# SPDX-License-Identifier: Apache-2.0
"""What the operator overrides of the product's tuning, by setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.kinds.tuning import Tuning
from weir.model.document import Document
from weir.parts.delta import Action, Replaced, Step
from weir.parts.part import ReplacedPart

Overrides = Mapping[str, str]


class TuningPart(ReplacedPart[Overrides]):
    name = "tuning"
    made_of = frozenset(("tuning",))
    after = ("network",)  # its settings are those of the interfaces, too

    @property
    def nothing(self) -> Overrides:
        return {}

    def wanted(self, document: Document) -> Overrides:
        return dict(document.single(Tuning).overrides)

    def entries(self, wanted: Overrides) -> Overrides:
        return wanted

    def made(self, delta: Replaced[Overrides]) -> Iterator[Step]:
        for key, value in delta.after.items():
            if delta.before.get(key) != value:
                action: Action = "change" if key in delta.before else "add"
                yield Step(self.name, action, "setting", f"{key} = {value or 'left to the kernel'}")

    def removed(self, delta: Replaced[Overrides]) -> Iterator[Step]:
        for key in delta.before.keys() - delta.after.keys():
            yield Step(self.name, "remove", "setting", f"{key}: back to the product's value")


TUNING = TuningPart()
