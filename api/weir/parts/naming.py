# SPDX-License-Identifier: Apache-2.0
"""What the machine is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.kinds.identity import Identity
from weir.model.document import Document
from weir.parts.delta import Replaced, Step
from weir.parts.part import ReplacedPart

_WHAT = "host name"


class NamingPart(ReplacedPart[str | None]):
    """None: the name that the machine has without Weir."""

    name = "naming"
    made_of = frozenset(("identity",))

    @property
    def nothing(self) -> str | None:
        return None

    def wanted(self, document: Document) -> str | None:
        return document.single(Identity).hostname

    def entries(self, wanted: str | None) -> Mapping[str, str]:
        return {} if wanted is None else {_WHAT: wanted}

    def made(self, delta: Replaced[str | None]) -> Iterator[Step]:
        if delta.after is not None and delta.after != delta.before:
            yield Step(self.name, "add" if delta.before is None else "change", _WHAT, delta.after)

    def removed(self, delta: Replaced[str | None]) -> Iterator[Step]:
        if delta.before is not None and delta.after is None:
            yield Step(self.name, "remove", _WHAT, "the machine has its own name again")


NAMING = NamingPart()
