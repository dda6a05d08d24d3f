# SPDX-License-Identifier: Apache-2.0
"""Ranges of IPv4 addresses, as text and as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

from weir.model.problem import Invalid
from weir.model.reader import shown

Span = tuple[int, int]
"""First and last address as numbers, both included."""


def parse_range(value: object) -> str:
    """One IPv4 address, or a range such as `192.0.2.10-192.0.2.99`, without blanks. Raises `Invalid`."""
    if isinstance(value, str):
        first, dash, last = (part.strip() for part in value.partition("-"))
        try:
            low, high = IPv4Address(first), IPv4Address(last if dash else first)
        except AddressValueError:
            pass
        else:
            if low <= high:
                return str(low) if low == high else f"{low}-{high}"
    raise Invalid(
        f"must be an IPv4 address or a range such as 192.0.2.10-192.0.2.99, not {shown(value)}",
        code="bad-range",
    )


def span_of(text: str) -> Span:
    """A canonical range as numbers."""
    first, _, last = text.partition("-")
    return int(IPv4Address(first)), int(IPv4Address(last or first))


def span_text(span: Span) -> str:
    first, last = map(IPv4Address, span)
    return str(first) if first == last else f"{first}-{last}"


def without(span: Span, taken: Iterable[int]) -> list[Span]:
    """The same addresses but those that are taken, in as few spans as there can be."""
    first, last = span
    found = []
    for address in sorted(set(taken)):
        if first <= address <= last:
            if first < address:
                found.append((first, address - 1))
            first = address + 1
    return [*found, (first, last)] if first <= last else found
