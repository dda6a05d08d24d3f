# SPDX-License-Identifier: Apache-2.0
"""Whether the machine forwards packets: as soon as an interface is configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.model.document import Document
from weir.parts.delta import Replaced, Step
from weir.parts.part import SHAPING, ReplacedPart


class ForwardingPart(ReplacedPart[bool]):
    name = "forwarding"
    made_of = frozenset(("interface",))
    after = ("firewall", "network", SHAPING)  # nothing is forwarded before rules and limits are in place

    @property
    def nothing(self) -> bool:
        return False

    def wanted(self, document: Document) -> bool:
        return any(True for _ in document.interfaces())

    def entries(self, wanted: bool) -> Mapping[str, bool]:
        return {self.name: True} if wanted else {}

    def made(self, delta: Replaced[bool]) -> Iterator[Step]:
        if delta.after:
            yield Step(self.name, "add", "setting", "packets are forwarded")

    def removed(self, delta: Replaced[bool]) -> Iterator[Step]:
        if not delta.after:
            yield Step(self.name, "remove", "setting", "forwarding is left as it is")


FORWARDING = ForwardingPart()
