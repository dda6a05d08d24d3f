# SPDX-License-Identifier: Apache-2.0
"""What sets hold: addresses, ports, hardware addresses and interfaces, each in one canonical text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from weir.model.frames import MAC, mac_text
from weir.model.limits import INTERFACE_ID
from weir.model.prefix import canonical_prefix, looks_like_prefix
from weir.model.problem import Invalid
from weir.model.reader import shown

Form = Literal["address", "port", "mac", "interface"]

_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
LAST_PORT = 65_535


def parse_ports(value: object) -> str:
    """A port, or a range such as `5000-5010`. Raises `Invalid`."""
    text = str(value) if type(value) is int else value
    match = _PORTS.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        first, last = int(match[1]), int(match[2] or match[1])
        if 1 <= first <= last <= LAST_PORT:
            return str(first) if first == last else f"{first}-{last}"
    raise Invalid(
        f"must be a port from 1 to 65535 or a range such as 5000-5010, not {shown(value)}", code="bad-ports"
    )


def ports_of(text: str) -> range:
    """The ports of a canonical text."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def other_ports(texts: Iterable[str]) -> tuple[str, ...]:
    """All ports but these, as canonical texts."""
    found, after = [], 1
    for first, last in sorted((span[0], span[-1]) for span in map(ports_of, texts)):
        if after < first:
            found.append(parse_ports(f"{after}-{first - 1}"))
        after = max(after, last + 1)
    return (*found, parse_ports(f"{after}-{LAST_PORT}")) if after <= LAST_PORT else tuple(found)


def parse_member(value: object) -> str:
    """The canonical text of whatever form a value has. Raises `Invalid`."""
    if isinstance(value, str):
        if "/" in value:  # as no port, hardware address or interface has
            return canonical_prefix(value)
        if _PORTS.fullmatch(value):
            return parse_ports(value)
        if MAC.fullmatch(value):
            return mac_text(value)
        if looks_like_prefix(value):
            return canonical_prefix(value)
        if INTERFACE_ID.fullmatch(value):
            return value
    raise Invalid(
        f"must be a prefix, a port or range of ports, a hardware address or an interface, not {shown(value)}",
        code="bad-member",
    )


def form_of(text: str) -> Form:
    """Of a canonical text."""
    if "/" in text:  # prefixes alone have one, and always
        return "address"
    if _PORTS.fullmatch(text):
        return "port"
    if MAC.fullmatch(text):
        return "mac"
    return "interface"
