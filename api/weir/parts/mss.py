# SPDX-License-Identifier: Apache-2.0
"""TCP connections that pass an interface with a small MTU are told what fits (`mss_clamp`).

Both ways: the first packet of each side says how much the other one may send (RFC 9293, 3.7.1). The kernel
never makes a number larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.limits import MIN_IPV6_MTU_BYTES, USUAL_MTU_BYTES
from weir.parts.network import known_mtu
from weir.parts.rule import CLAMP, Family, PacketRule

_HEADERS: tuple[tuple[Family, int], ...] = ((4, 40), (6, 60))
"""Bytes of the headers of IP and TCP, without options."""


def clamped(document: Document, interfaces: Sequence[Interface]) -> Iterator[PacketRule]:
    """Rules for the enabled interfaces whose MTU is known to be below the usual one; they are one for all of
    the same MTU."""
    by_mtu: dict[int, list[str]] = {}
    for item in interfaces:
        mtu = known_mtu(document, item)
        is_small = mtu is not None and mtu < USUAL_MTU_BYTES
        if mtu is not None and is_small and item.mss_clamp == "auto" and item.is_port and not item.disabled:
            by_mtu.setdefault(mtu, []).append(item.id)
    for mtu, names in sorted(by_mtu.items()):
        for family, header in _HEADERS:
            if family == 4 or mtu >= MIN_IPV6_MTU_BYTES:
                yield from _both_ways(tuple(names), family, mtu, mtu - header)


def _both_ways(names: tuple[str, ...], family: Family, mtu: int, size: int) -> Iterator[PacketRule]:
    rule = PacketRule(
        CLAMP,
        "mss",
        f"TCP segments that fit into {mtu} bytes",
        family=family,
        protocol="tcp",
        mss=size,
        made_by=f"interface/{names[0]}",
    )
    yield replace(rule, in_interfaces=names)
    yield replace(rule, out_interfaces=names)
