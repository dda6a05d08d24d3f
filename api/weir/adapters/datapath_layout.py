# SPDX-License-Identifier: Apache-2.0
"""Where the fields of the kernel's arrays lie, for a process that reads them without libweir.

The rows are `struct weir_line`, `struct weir_detail`, `struct weir_backlog`, `struct weir_round_trips` and,
of the iterator over all lines, `struct weir_reading` of datapath/include/weir/abi.
"""

from __future__ import annotations

from weir.adapters.datapath_records import Usage
from weir.adapters.subqueue_records import ROW_SIZE

LINE_SIZE = 64
READING_SIZE = 64
ROUND_TRIP_ROWS = 16_384
_LINE_FIELDS = {
    "clock_tk": (0, 8),
    "cost": (8, 8),
    "burst": (16, 4),
    "limit": (20, 4),
    "parent": (24, 4),
    "shared": (28, 4),
    "packets": (32, 8),
    "bytes": (40, 8),
    "fast_bytes": (48, 8),
    "flags": (56, 4),
    "held": (60, 4),
}
_DETAIL_FIELDS = {
    "key": (0, 8),
    "rate_bps": (8, 8),
    "guarantee_bps": (16, 8),
    "drop_packets": (24, 8),
    "drop_bytes": (32, 8),
    "mark_packets": (40, 8),
    "delay_us": (48, 8),
    "htb_classid": (56, 4),
    "ancestor_drop_packets": (60, 4),
}
_DELAY_FIELDS = ("updated", "chance", "delay_us", "worst_us", "worst_before_us", "early_packets")


def layout_of(usage: Usage) -> dict[str, object]:
    """How to read the arrays: one row per line = slot * 2 + direction.

    Counters are kept where a packet matched; a parent's figure is its own row plus those of all
    lines below it (`parent` in the class row, 0 = none). `bytes` are those that the stack sent on,
    `fast_bytes` those of the fast path. A field's place is (offset, size) in bytes.
    """
    lines = usage.classes[1] * 2
    return {
        "lines": lines,
        "stride": LINE_SIZE,
        "directions": ["upload", "download"],
        "details": {
            "map": "weir_details",
            "bytes": lines * LINE_SIZE,
            "fields": {name: list(place) for name, place in _DETAIL_FIELDS.items()},
        },
        "class": {
            "map": "weir_lines",
            "bytes": lines * LINE_SIZE,
            "fields": {name: list(place) for name, place in _LINE_FIELDS.items()},
            "ticks_per_ns": 16,
        },
        "delays": {
            "map": "weir_waits",
            "lines": lines,
            "stride": 32,
            "unit_shift": 20,
            "span_shift": 10,
            "fields": {name: [8 + index * 4, 4] for index, name in enumerate(_DELAY_FIELDS)},
        },
        "round_trips": {
            "map": "weir_trips",
            "rows": ROUND_TRIP_ROWS,
            "stride": 32,
            "unit_shift": 20,
            "sample_shift": 15,
            "samples": 5,
            "fields": {"line": [0, 4], "updated": [16, 4], "samples": [22, 10]},
        },
        "readings": {"stride": READING_SIZE},
        "subqueues": {
            "map": "weir_subqueues",
            "bytes": (usage.subqueue_lines[1] + 1) * ROW_SIZE,
            "row_shift": 14,
        },
    }
