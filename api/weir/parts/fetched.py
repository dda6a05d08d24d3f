# SPDX-License-Identifier: Apache-2.0
"""Sets whose addresses are fetched from the web, or are those of names in the DNS: from where, and how often.
What is in them is learnt, and in no document (docs/adr/0254, docs/adr/0255)."""

from __future__ import annotations

from dataclasses import dataclass

from weir.kinds.sets import Set
from weir.parts.part import ObjectsPart

BY_NAME = "the DNS"
"""The origin of addresses of names: a set that gets other names keeps those of the names that stay."""


@dataclass(frozen=True, slots=True)
class FetchedSpec:
    """`origin` is where its addresses are from: those of another origin are not its. It is `BY_NAME` for
    those of `names`."""

    id: str
    origin: str
    refresh_s: int
    max_entries: int
    names: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What is in it, for people."""
        if self.names:
            more = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
            return f"the addresses of {self.names[0]}{more}"
        return f"what is in {self.origin}"


class FetchedPart(ObjectsPart[FetchedSpec]):
    name, what = "fetched", "set"
    of = Set
    made_of = frozenset(("set",))

    def key(self, entry: FetchedSpec) -> str:
        return entry.id

    def entry(self, item: Set) -> FetchedSpec | None:
        if item.disabled or not origin_of(item):
            return None
        if item.source == "dns":
            return FetchedSpec(item.id, BY_NAME, 0, item.max_entries, item.names)
        return FetchedSpec(item.id, origin_of(item), item.refresh_s, item.max_entries)

    def text(self, old: FetchedSpec | None, new: FetchedSpec) -> str:
        if new.names:
            return f"{new.id}: the addresses of {', '.join(new.names)}"
        return f"{new.id}: {new.said}, at most {new.max_entries} entries, each {new.refresh_s} s"


def origin_of(item: Set) -> str:
    """Where the addresses of a set are fetched from, or of which names they are; "" = neither. A rule is
    about something else where this is another."""
    if item.source == "dns":
        return ", ".join(item.names)
    return (item.url or "") if item.source == "url" else ""


FETCHED = FetchedPart()
