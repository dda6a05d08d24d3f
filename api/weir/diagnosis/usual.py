# SPDX-License-Identifier: Apache-2.0
"""A customer's round trip of now beside those of his own last seven days."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from weir.diagnosis.judged import ms
from weir.diagnosis.measured import Usual, known
from weir.diagnosis.symptom import Number
from weir.diagnosis.thresholds import SLOWER_TIMES, SLOWER_US, USUAL_HOURS


def usual_of(hours_us: Sequence[float | None]) -> Usual:
    """From the hours of seven days; None: in that hour no round trip was seen."""
    seen = known(hours_us)
    return Usual(len(seen), median(seen) if len(seen) >= USUAL_HOURS else None)


def is_slower(trip_us: float | None, usual: Usual) -> bool:
    """Than usual; false also where one of both is not known."""
    if trip_us is None or usual.median_us is None:
        return False
    return trip_us >= SLOWER_TIMES * usual.median_us and trip_us >= usual.median_us + SLOWER_US


def beside(trip_us: float | None, usual: Usual) -> str:
    """The end of a sentence about a round trip; "" where the usual one is not known."""
    if trip_us is None or usual.median_us is None:
        return ""
    usual_ms = f"{ms(usual.median_us)}"
    if is_slower(trip_us, usual):
        return f", {trip_us / usual.median_us:,.1f} times the usual {usual_ms} of the last 7 days"
    return f" (usual in the last 7 days: {usual_ms})"


def usual_numbers(side: str, trip_us: float | None, usual: Usual) -> tuple[Number, ...]:
    """`side` begins the names. The bound of the usual figure in ms is where "slower" begins."""
    if usual.median_us is None:
        return (Number(f"{side}_usual_hours", usual.hours, "h", float(USUAL_HOURS)),) if usual.hours else ()
    found = [Number(f"{side}_usual_ms", usual.median_us / 1000, "ms")]
    if trip_us is not None:
        found.append(Number(f"{side}_usual_times", trip_us / usual.median_us, "", SLOWER_TIMES))
        longer_ms = max(trip_us - usual.median_us, 0.0) / 1000
        found.append(Number(f"{side}_longer_ms", longer_ms, "ms", SLOWER_US / 1000))
    return (*found, Number(f"{side}_usual_hours", usual.hours, "h", float(USUAL_HOURS)))


def unusual(side: str, usual: Usual) -> tuple[str, ...]:
    """What of it is not known. `side` as in "the round trip to the device"."""
    if usual.median_us is not None:
        return ()
    seen = f"{usual.hours} of at least {USUAL_HOURS} hours with one in the last 7 days"
    return (f"the usual round trip to {side} ({seen})",)
