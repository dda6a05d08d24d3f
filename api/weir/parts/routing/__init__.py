# SPDX-License-Identifier: Apache-2.0
"""Routing protocols and what filters their routes, as blocks of FRR's configuration.

A renderer is a function of the document that gives blocks, and the kinds of which it reads objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from weir.model.document import Document
from weir.model.objects import Kind
from weir.parts.part import EntriesPart
from weir.parts.routing.bfd import bfd
from weir.parts.routing.bgp import bgp
from weir.parts.routing.block import Block
from weir.parts.routing.filters import prefix_lists, route_maps
from weir.parts.routing.ospf import ospf


class Renderer(NamedTuple):
    made_of: frozenset[Kind]
    blocks: Callable[[Document], Iterable[Block]]


FILTERING = frozenset(("bgpd", "ospfd"))
"""Daemons that look at lists and maps."""

RENDERERS: tuple[Renderer, ...] = (
    Renderer(frozenset(("prefix-list", "prefix-list-entry")), prefix_lists),
    Renderer(frozenset(("route-map", "route-map-entry", "prefix-list")), route_maps),
    Renderer(frozenset(("bgp", "bgp-neighbor", "prefix-list")), bgp),
    Renderer(frozenset(("ospf", "ospf-interface")), ospf),
    Renderer(frozenset(("bfd-profile", "bgp", "bgp-neighbor", "ospf", "ospf-interface")), bfd),
)


class RoutingPart(EntriesPart[Block]):
    name, what = "routing", "block"
    made_of = frozenset[Kind]().union(*(renderer.made_of for renderer in RENDERERS))
    after = ("routes",)  # a protocol tells others of routes that are there

    def key(self, entry: Block) -> str:
        return entry.header

    def wanted(self, document: Document) -> Mapping[str, Block]:
        """Lists are given to the protocols that there are, and to nobody without them."""
        blocks = [block for renderer in RENDERERS for block in renderer.blocks(document)]
        takers = frozenset(name for block in blocks for name in block.daemons if name in FILTERING)
        lists = (replace(block, daemons=takers) for block in blocks if block.is_numbered and takers)
        return {b.header: b for b in (*lists, *(block for block in blocks if not block.is_numbered))}

    def text(self, old: Block | None, new: Block) -> str:
        size = len(new.entries) if new.is_numbered else len(new.lines)
        return f"{new.header} ({size} {'entries' if new.is_numbered else 'lines'})"


ROUTING = RoutingPart()
