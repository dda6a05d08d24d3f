# SPDX-License-Identifier: Apache-2.0
"""BFD's profiles, those that are named by something that is enabled."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds.bfd_profile import BfdProfile
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.ospf import Ospf
from weir.kinds.ospf_interface import OspfInterface
from weir.model.document import Document
from weir.parts.routing.block import Block, Path

_DEFAULTS = {"detect-multiplier": 3, "transmit-interval": 300, "receive-interval": 300}
"""FRR prints no others."""


def bfd(document: Document) -> Iterator[Block]:
    users: list[BgpNeighbor | OspfInterface] = [*document.every(BgpNeighbor), *document.every(OspfInterface)]
    used = {item.bfd for item in users if not item.disabled and _runs(document, item)}
    profiles = sorted((p for p in document.every(BfdProfile) if p.id in used), key=lambda item: item.id)
    if profiles:
        lines = tuple(line for profile in profiles for line in _profile(profile))
        yield Block("bfd", lines, daemons=frozenset(("bfdd",)))


def _runs(document: Document, item: BgpNeighbor | OspfInterface) -> bool:
    kind, name = ("bgp", item.bgp) if isinstance(item, BgpNeighbor) else ("ospf", item.ospf)
    found = document.get(kind, name)
    return isinstance(found, Bgp | Ospf) and not found.disabled


def _profile(item: BfdProfile) -> Iterator[Path]:
    head = f"profile {item.id}"
    yield (head,)
    values = {
        "detect-multiplier": item.multiplier,
        "transmit-interval": item.transmit_ms,
        "receive-interval": item.receive_ms,
    }
    yield from ((head, f"{name} {value}") for name, value in values.items() if value != _DEFAULTS[name])
    if item.passive:
        yield (head, "passive-mode")
