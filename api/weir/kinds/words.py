# SPDX-License-Identifier: Apache-2.0
"""Fields and their values as people read them: in forms, lists and diffs, of browser and command line.

A field is called by its declared label, or else by its name without its unit. Names of numbers end in their
unit (`_bps`, `_ms`, `_bytes`), which also says how the value is written. `_per_s` is how often in a second: a
count, and no time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from weir.kinds import DECLARED
from weir.model.units import format_duration_ms, format_rate_exact

_UNIT = re.compile(r"(?<!_per)_(bps|bytes|ns|us|ms|s)$")
_A_SECOND = re.compile(r"_per_s$")
_ACRONYM = re.compile(r"\b(dhcp|dns|id|ip|mac|mtu|ntp|tcp|udp|vlan|vrf|wan|lan|bgp|ospf)\b", re.IGNORECASE)
_LIMITS = frozenset({"max_limit_bps"})
"""Rates of which 0 means that there is no limit; 0 of others means that there is no such rate."""


def label_of(kind: str, path: str) -> str:
    """A field, or one inside another: `max_limit_bps.upload` is "Max limit, upload"."""
    first, *inner = path.split(".")
    declared = {item.name: item.field.label for item in DECLARED[kind].members}
    return ", ".join([declared.get(first) or titled(first), *map(_said, inner)])


def titled(name: str) -> str:
    """A name where it begins a text: `vlan_id` is "VLAN ID"."""
    words = _said(name)
    return words[:1].upper() + words[1:]


def unit_of(name: str) -> str:
    """The unit that a number's name ends in, or is; "" where it has none."""
    match = _UNIT.search(f"_{name}" if name == "bytes" else name)
    return match[1] if match else ""


def _said(name: str) -> str:
    words = _UNIT.sub("", _A_SECOND.sub("_per_second", name)).replace("_", " ")
    return _ACRONYM.sub(lambda match: match[0].upper(), words)


def value_text(path: str, value: object) -> str:
    """A value with its unit: 5000000 of `max_limit_bps.upload` is "5M"."""
    match value:
        case None | "":
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return _number(path, value)
        case float() if unit_of(path) in ("us", "ns"):
            return _short_time(round(value * (1000 if unit_of(path) == "us" else 1)))
        case {"set": bool(is_set), **others} if not others:
            return "set" if is_set else "has to be entered again"
        case Mapping():
            inner = (f"{_said(name)} {value_text(f'{path}.{name}', item)}" for name, item in value.items())
            return ", ".join(inner) or "none"
        case str():
            return value
        case Sequence():
            between = "; " if any(isinstance(item, Mapping) for item in value) else ", "
            return between.join(value_text(path, item) for item in value) or "none"
    return str(value)


def _number(path: str, value: int) -> str:
    unit = {match[1] for name in path.split(".") if (match := _UNIT.search(name))}
    if "bps" in unit:
        nothing = "unlimited" if _LIMITS & set(path.split(".")) else "none"
        return format_rate_exact(value) if value else nothing
    if unit & {"ms", "s"}:
        return format_duration_ms(value * (1 if "ms" in unit else 1000))
    if unit & {"us", "ns"}:
        return _short_time(value * (1000 if "us" in unit else 1))
    return f"{value} bytes" if "bytes" in unit else str(value)


def _short_time(duration_ns: int) -> str:
    """A measured time with three digits, perhaps negative: `-41.2 µs`."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 1000)):
        if abs(duration_ns) >= size:
            return f"{duration_ns / size:.3g} {unit}"
    return f"{duration_ns} ns"
