# SPDX-License-Identifier: Apache-2.0
"""Rates and durations as people type and read them. Decimal: k = 10^3, M = 10^6, G = 10^9 (RouterOS)."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from weir.model.limits import MAX_RATE_BPS
from weir.model.problem import Invalid

_FACTOR = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_RATE = re.compile(
    r"(?P<number>[0-9]{1,15}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})\s*(?P<scale>[kmgt]?)"
    r"\s*(?P<unit>(?:bits?)?(?:/s|ps)?|bps|b/s)",
    re.IGNORECASE | re.ASCII,
)
_BYTES = re.compile(r"[0-9.\s]+[kKmMgGtT]?i?\s*(?:B|[bB]ytes?)(?:/s|ps)?", re.ASCII)
_UNLIMITED = frozenset({"unlimited", "none", "off"})
_DURATION_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(ms|w|d|h|m|s|)", re.IGNORECASE | re.ASCII)
_UNIT_MS = {"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_rate_bps(text: str) -> int:
    """Read `10M`, `10 mbit`, `1.5g`, `10 Mbit/s` or `10000000` as bit/s; `unlimited` is 0.

    Raises `Invalid` that repeats the text and says what would be understood.
    """
    cleaned = text.strip()
    if cleaned.lower() in _UNLIMITED:
        return 0
    if _BYTES.fullmatch(cleaned):
        raise Invalid(
            f"{_shown(text)} looks like bytes; rates are bits per second, as in 10M", code="bad-rate"
        )
    match = _RATE.fullmatch(cleaned)
    if match is None:
        raise Invalid(
            f"{_shown(text)} is not a rate; write it as 10M, 1.5G, 512k or 10000000 (bit/s)", code="bad-rate"
        )
    exact = Decimal(match["number"]) * _FACTOR[match["scale"].lower()]
    rate_bps = int(exact.to_integral_value(rounding=ROUND_HALF_UP))
    if rate_bps > MAX_RATE_BPS:
        raise Invalid(
            f"{_shown(text)} is above the highest rate, {format_rate(MAX_RATE_BPS)}bit/s", code="bad-rate"
        )
    return rate_bps


def format_rate(rate_bps: float) -> str:
    """`12.4M`: three significant digits, for tables and sentences."""
    value, scale = float(rate_bps), ""
    for scale in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5 or scale == "T":
            break
        value /= 1000
    digits = 0 if value >= 99.95 or not scale else 1 if value >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + scale


def format_rate_long(rate_bps: float) -> str:
    """`12.4 Mbit/s`, or `unlimited` for 0: for sentences about a limit."""
    if rate_bps == 0:
        return "unlimited"
    short = format_rate(rate_bps)
    return f"{short[:-1]} {short[-1]}bit/s" if short[-1].isalpha() else f"{short} bit/s"


def format_rate_exact(rate_bps: int) -> str:
    """The shortest text that `parse_rate_bps` reads back as the same number, as RouterOS prints it."""
    for scale, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if rate_bps and rate_bps % factor == 0:
            return f"{rate_bps // factor}{scale}"
    return str(rate_bps)


def counted(number: int, noun: str) -> str:
    """`1 change`, `2,000 changes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def parse_duration_ms(text: str) -> int:
    """Read `10s`, `1m30s`, `100ms`, `1d2h` or a bare number of seconds as milliseconds. Raises `Invalid`."""
    cleaned = text.strip()
    total_ms, at = Decimal(0), 0
    while at < len(cleaned):
        match = _DURATION_PART.match(cleaned, at)
        if match is None or (not match[2] and match.end() != len(cleaned)):
            break
        total_ms += Decimal(match[1]) * _UNIT_MS[match[2].lower()]
        at = match.end()
    if not cleaned or at != len(cleaned):
        raise Invalid(
            f"{_shown(text)} is not a duration; write it as 10s, 1m30s or 100ms", code="bad-duration"
        )
    return int(total_ms.to_integral_value(rounding=ROUND_HALF_UP))


def format_duration_ms(duration_ms: int) -> str:
    """`1m30s`, `100ms`: exact, read back by `parse_duration_ms`."""
    if duration_ms == 0:
        return "0s"
    parts = []
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, duration_ms = divmod(duration_ms, unit_ms)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
