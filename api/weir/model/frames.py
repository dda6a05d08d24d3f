# SPDX-License-Identifier: Apache-2.0
"""What Ethernet frames carry, as text: hardware addresses, and VLAN ids or ranges of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weir.model.limits import MAX_VLAN_ID, MIN_VLAN_ID
from weir.model.problem import Invalid
from weir.model.reader import shown

MAC = re.compile(r"[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}", re.ASCII | re.IGNORECASE)
_VLANS = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)
_GROUP_BIT = 1

Range = tuple[int, int]
"""First and last, both included."""


def parse_mac(value: object) -> str:
    """The hardware address of an interface, in lower case with colons. Raises `Invalid`."""
    if isinstance(value, str) and MAC.fullmatch(value):
        text = mac_text(value)
        if text != "00:00:00:00:00:00" and not int(text[:2], 16) & _GROUP_BIT:
            return text
    raise Invalid(
        f"must be the hardware address of one interface, such as 02:00:5e:10:00:01, not {shown(value)}",
        code="bad-mac",
    )


def mac_text(written: str) -> str:
    """What `MAC` matches, in its one form."""
    return written.lower().replace("-", ":")


def parse_vlans(value: object) -> str:
    """A VLAN id, or a range such as `20-29`. Raises `Invalid`."""
    text = str(value) if type(value) is int else value
    match = _VLANS.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        first, last = int(match[1]), int(match[2] or match[1])
        if MIN_VLAN_ID <= first <= last <= MAX_VLAN_ID:
            return str(first) if first == last else f"{first}-{last}"
    raise Invalid(
        f"must be a VLAN id from {MIN_VLAN_ID} to {MAX_VLAN_ID} or a range such as 20-29, not {shown(value)}",
        code="bad-vlans",
    )


def vlan_ids(texts: Iterable[str]) -> frozenset[int]:
    """Every id that canonical texts name."""
    found: set[int] = set()
    for text in texts:
        first, _, last = text.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def ranges_of(ids: Iterable[int]) -> tuple[Range, ...]:
    """The same ids in as few ranges as there can be, in order."""
    found: list[Range] = []
    for item in sorted(ids):
        if found and found[-1][1] == item - 1:
            found[-1] = (found[-1][0], item)
        else:
            found.append((item, item))
    return tuple(found)


def ranges_text(ranges: Iterable[Range]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges) or "none"
