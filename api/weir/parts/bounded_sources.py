# SPDX-License-Identifier: Apache-2.0
"""The bounds of sources, as times: what the datapath keeps of each."""

from __future__ import annotations

from typing import NamedTuple

from weir.kinds.bounded_source import BoundedSource
from weir.model.prefix import Prefix, parse_prefix
from weir.parts.part import ObjectsPart

_SECOND_NS = 1_000_000_000


class Bound(NamedTuple):
    """A packet of the prefix each `cost_ns`; after a pause as many at once as take `burst_ns`."""

    id: str
    source: Prefix
    cost_ns: int
    burst_ns: int


class BoundedSourcesPart(ObjectsPart[Bound]):
    name, what = "bounded-sources", "bounded source"
    of = BoundedSource
    made_of = frozenset(("bounded-source",))

    def key(self, entry: Bound) -> str:
        return entry.id

    def entry(self, item: BoundedSource) -> Bound | None:
        if item.disabled:
            return None
        cost_ns = _SECOND_NS // item.packets_per_second
        return Bound(item.id, parse_prefix(item.source), cost_ns, cost_ns * item.burst)

    def text(self, old: Bound | None, new: Bound) -> str:
        rate, burst = round(_SECOND_NS / new.cost_ns), new.burst_ns // new.cost_ns
        return f"{new.source.text}: {rate:,} packets a second, {burst:,} at once"


BOUNDED_SOURCES = BoundedSourcesPart()
