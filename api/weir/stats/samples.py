# SPDX-License-Identifier: Apache-2.0
"""What is kept of a line for one span of time: six bytes of codes (`weir.stats.codes`), seven in the archive.

`reasons` has two shares of the drops, each in 15ths: the low half those dropped early by the control law, the
high half those because of an ancestor or a total. The rest was over the line's own limit. `trip` is the round
trip of the line's TCP packets, which is seen too seldom for seconds and minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weir.stats.codes import DELAY_US, F32, PACKETS_PS, RATE_BPS

RECORD = np.dtype([("rate", "<u2"), ("drops", "u1"), ("marks", "u1"), ("worst", "u1"), ("reasons", "u1")])
KEPT = np.dtype([*RECORD.descr, ("trip", "u1")])
Records = npt.NDArray[Any]
FIGURES = ("rate_bps", "drops_ps", "marks_ps", "early_drops_ps", "ancestor_drops_ps", "worst_delay_us")
_CODED = (("rate", RATE_BPS, 0), ("drops", PACKETS_PS, 1), ("marks", PACKETS_PS, 2), ("worst", DELAY_US, 5))
_DROPS, _EARLY, _ANCESTOR = 1, 3, 4
_SHARES = 15


def encode(figures: F32) -> Records:
    """Records of `figures[figure, line]`, in the order of `FIGURES`."""
    records = np.zeros(figures.shape[1], RECORD)
    for field, code, figure in _CODED:
        records[field] = code.encode(figures[figure])
    dropped = np.maximum(figures[_DROPS], PACKETS_PS.low)
    early, ancestor = (
        np.rint(np.clip(figures[reason] / dropped, 0, 1) * _SHARES).astype(np.uint8)
        for reason in (_EARLY, _ANCESTOR)
    )
    records["reasons"] = early | ancestor << np.uint8(4)
    return records


def figures_of(records: Records) -> F32:
    """The figures back, [figure, line]; nothing counts as zero."""
    figures = np.zeros((len(FIGURES), len(records)), np.float32)
    for field, code, figure in _CODED:
        figures[figure] = code.values(records[field])
    figures[_EARLY] = figures[_DROPS] * ((records["reasons"] & 15) / np.float32(_SHARES))
    figures[_ANCESTOR] = figures[_DROPS] * ((records["reasons"] >> 4) / np.float32(_SHARES))
    return figures


def decode(records: Records) -> dict[str, list[float | None] | None]:
    """Lists for JSON, None where there is no sample; with the four figures that a code can hold. Of records
    without round trips there is no list of them."""
    known = (records["rate"] > 0).tolist()
    found: dict[str, list[float | None] | None] = {
        name: [float(f"{value:.4g}") if there else None for value, there in zip(column, known, strict=True)]
        for name, column in zip(FIGURES, figures_of(records).tolist(), strict=True)
    }
    has_trips = "trip" in (records.dtype.names or ())
    return {**found, "round_trip_us": DELAY_US.decode(records["trip"]) if has_trips else None}
