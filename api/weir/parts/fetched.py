# SPDX-License-Identifier: Apache-2.0
"""Sets whose addresses are fetched: from where, and how often. What is in them is learnt, and in no document
(docs/adr/0254)."""

from __future__ import annotations

from dataclasses import dataclass

from weir.kinds.sets import Set
from weir.parts.part import ObjectsPart


@dataclass(frozen=True, slots=True)
class FetchedSpec:
    """`origin` is where its addresses are from: those of another origin are not its."""

    id: str
    origin: str
    refresh_s: int
    max_entries: int


class FetchedPart(ObjectsPart[FetchedSpec]):
    name, what = "fetched", "set"
    of = Set
    made_of = frozenset(("set",))

    def key(self, entry: FetchedSpec) -> str:
        return entry.id

    def entry(self, item: Set) -> FetchedSpec | None:
        origin = "" if item.disabled else origin_of(item)
        return FetchedSpec(item.id, origin, item.refresh_s, item.max_entries) if origin else None

    def text(self, old: FetchedSpec | None, new: FetchedSpec) -> str:
        return f"{new.id}: what is in {new.origin}, at most {new.max_entries} entries, each {new.refresh_s} s"


def origin_of(item: Set) -> str:
    """Where the addresses of a set are fetched from, "" = they are not."""
    return (item.url or "") if item.source == "url" else ""


FETCHED = FetchedPart()
