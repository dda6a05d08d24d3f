# SPDX-License-Identifier: Apache-2.0
"""What the machine is called, and its time zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from weir.kinds.identity import Identity
from weir.model.document import Document
from weir.parts.delta import Replaced, Step
from weir.parts.part import ReplacedPart


class OwnPart(ReplacedPart[str | None]):
    """A word of the machine's own that the configuration replaces. None: the one that it has without Weir."""

    made_of = frozenset(("identity",))
    what: ClassVar[str]
    field: ClassVar[str]
    """Of `identity`."""

    @property
    def nothing(self) -> str | None:
        return None

    def wanted(self, document: Document) -> str | None:
        found: str | None = getattr(document.single(Identity), self.field)
        return found

    def entries(self, wanted: str | None) -> Mapping[str, str]:
        return {} if wanted is None else {self.what: wanted}

    def made(self, delta: Replaced[str | None]) -> Iterator[Step]:
        if delta.after is not None and delta.after != delta.before:
            yield Step(self.name, "add" if delta.before is None else "change", self.what, delta.after)

    def removed(self, delta: Replaced[str | None]) -> Iterator[Step]:
        if delta.before is not None and delta.after is None:
            yield Step(self.name, "remove", self.what, f"the machine has its own {self.what} again")


class NamingPart(OwnPart):
    name = "naming"
    what = "host name"
    field = "hostname"


class TimeZonePart(OwnPart):
    name = "time-zone"
    what = "time zone"
    field = "time_zone"


NAMING = NamingPart()
TIME_ZONE = TimeZonePart()
