# SPDX-License-Identifier: Apache-2.0
"""Prefix lists and route maps. One without entries denies everything: FRR would take an unknown one in
different ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.model.document import Document
from weir.model.prefix import parse_prefix
from weir.parts.routing.block import Block, Entry

T = TypeVar("T", PrefixListEntry, RouteMapEntry)
_COMMAND = {"ipv4": "ip", "ipv6": "ipv6"}


def list_header(found: PrefixList) -> str:
    return f"{_COMMAND[found.family]} prefix-list {found.id}"


def prefix_lists(document: Document) -> Iterator[Block]:
    entries = _by_list(document.every(PrefixListEntry), "prefix_list")
    for item in document.every(PrefixList):
        rows = tuple(dict.fromkeys(Entry(_prefix_text(entry)) for entry in entries.get(item.id, ())))
        yield Block(list_header(item), entries=rows or (Entry("deny any"),))


def _prefix_text(entry: PrefixListEntry) -> str:
    """As FRR prints it: without bounds that say nothing."""
    prefix, low, high = entry.matches
    parsed = parse_prefix(prefix)
    most = 32 if parsed.family == 4 else 128
    if parsed.length == 0 and (low, high) == (0, most):
        return f"{entry.action} any"
    longer = f" ge {low}" if low > parsed.length else ""
    shorter = f" le {high}" if high < most or (not longer and high > parsed.length) else ""
    return f"{entry.action} {prefix}{longer}{shorter if high > parsed.length else ''}"


def route_maps(document: Document) -> Iterator[Block]:
    entries = _by_list(document.every(RouteMapEntry), "route_map")
    families = {item.id: item.family for item in document.every(PrefixList)}
    for item in document.every(RouteMap):
        rows = tuple(
            Entry(entry.action, tuple(_lines(entry, families))) for entry in entries.get(item.id, ())
        )
        yield Block(f"route-map {item.id}", entries=rows or (Entry("deny"),))


def _lines(entry: RouteMapEntry, families: Mapping[str, str]) -> Iterator[str]:
    """Conditions, then changes."""
    if entry.match_prefix_list is not None:
        command = _COMMAND[families.get(entry.match_prefix_list, "ipv4")]
        yield f"match {command} address prefix-list {entry.match_prefix_list}"
    if entry.match_protocol is not None:
        yield f"match source-protocol {entry.match_protocol}"
    if entry.match_tag is not None:
        yield f"match tag {entry.match_tag}"
    if entry.action == "permit":
        yield from _changes(entry)


def _changes(entry: RouteMapEntry) -> Iterator[str]:
    if entry.prepend_asn is not None:
        yield f"set as-path prepend {' '.join([str(entry.prepend_asn)] * entry.prepend_times)}"
    if entry.set_communities:
        yield f"set community {_communities(entry.set_communities)}{' additive' * entry.keep_communities}"
    if entry.set_next_hop is not None:
        command = "ipv6 next-hop global" if ":" in entry.set_next_hop else "ip next-hop"
        yield f"set {command} {entry.set_next_hop}"
    for name, command in (
        ("set_local_preference", "local-preference"),
        ("set_metric", "metric"),
        ("set_tag", "tag"),
        ("set_weight", "weight"),
    ):
        value = getattr(entry, name)
        if value is not None:
            yield f"set {command} {value}"


_WELL_KNOWN = {
    "graceful-shutdown": 0xFFFF0000,
    "blackhole": 0xFFFF029A,
    "no-export": 0xFFFFFF01,
    "no-advertise": 0xFFFFFF02,
    "local-AS": 0xFFFFFF03,
}
"""IANA, BGP Well-known Communities."""


def _communities(text: str) -> str:
    """Sorted by their numbers and each once, as FRR holds them."""
    words = {word: _number(word) for word in text.split()}
    return " ".join(sorted(words, key=lambda word: words[word]))


def _number(word: str) -> int:
    if word in _WELL_KNOWN:
        return _WELL_KNOWN[word]
    high, _, low = word.partition(":")
    return int(high) << 16 | int(low)


def _by_list(items: Iterable[T], field: str) -> dict[str, list[T]]:
    """The enabled ones of each list in their order."""
    found: dict[str, list[Any]] = {}
    for item in sorted(items, key=lambda item: (item.position, item.id)):
        if not item.disabled:
            found.setdefault(getattr(item, field), []).append(item)
    return found
