# SPDX-License-Identifier: Apache-2.0
"""Numbers as the foreign formats write them: decimal rates, times of several units, truth values.

Every function raises `ValueError` with a sentence that says what was expected.
"""

from __future__ import annotations

import re
from functools import lru_cache

from weir.model.limits import MAX_RATE_BPS

MAX_TIME_MS = 366 * 24 * 3600 * 1000

_RATE = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9})[0-9]{0,32})?([kKmMgG]?)")
_RATE_EXPONENT = {"": 0, "k": 3, "m": 6, "g": 9}
_TIME_PART = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(ms|us|[wdhms]|)")
_TIME_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1, "": 1000}
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


@lru_cache(maxsize=4096)
def rate_bps(text: str, unit_exponent: int = 0) -> int:
    """Bits per second of `10M`, `1.5G`, `400`; `unit_exponent` 6 reads a bare number as Mbit/s."""
    if text == "unlimited":
        return 0
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("expected a rate such as 512k, 10M or 1.5G")
    whole, fraction, suffix = match.groups()
    exponent = _RATE_EXPONENT[suffix.lower()] if suffix else unit_exponent
    digits = (fraction or "").ljust(exponent, "0")
    value: int = int(whole) * 10**exponent + (int(digits[:exponent]) if exponent else 0)
    if value > MAX_RATE_BPS:
        raise ValueError(f"a rate is at most {MAX_RATE_BPS} bit/s")
    return value


@lru_cache(maxsize=1024)
def time_ms(text: str) -> int:
    """Milliseconds of `10s`, `1d2h`, `00:00:10`, `0.1` (seconds) or `100ms`."""
    clock = _CLOCK.fullmatch(text)
    if clock:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return (hours * 3600 + minutes * 60 + seconds) * 1000
    total_ms = 0.0
    at = 0
    while at < len(text):
        match = _TIME_PART.match(text, at)
        if match is None or match.group(2) == "us" or (match.group(2) == "" and match.end() != len(text)):
            raise ValueError("expected a time such as 10s, 1m30s or 100ms")
        total_ms += float(match.group(1)) * _TIME_MS[match.group(2)]
        at = match.end()
        if total_ms > MAX_TIME_MS:
            raise ValueError("the time is longer than a year")
    if at == 0:
        raise ValueError("expected a time such as 10s, 1m30s or 100ms")
    return round(total_ms)


def priority(text: str) -> int:
    """1 (best) to 8."""
    if text.isascii() and text.isdigit() and len(text) == 1 and "1" <= text <= "8":
        return int(text)
    raise ValueError("expected a priority from 1 to 8")


def truth(text: str) -> bool:
    """`yes`/`no`, `true`/`false`."""
    answer = {"yes": True, "true": True, "no": False, "false": False}.get(text.lower())
    if answer is None:
        raise ValueError("expected yes or no")
    return answer
