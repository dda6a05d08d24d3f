# SPDX-License-Identifier: Apache-2.0
"""drop-reasons: why the network stack drops packets, each second again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from weir.diagnosis.drop_reasons import OWNED, TEXTS, counted_by, is_told
from weir.probes.dropped_rows import DroppedRows
from weir.probes.library import told as told_by_agent
from weir.probes.output import Output
from weir.tools.drop_reasons import DropReasons

GAP_S = 1.0
SHOWN = 20
_UNNAMED = ("", "NOT_SPECIFIED")


def run(asked: DropReasons, output: Output, confine: Callable[[], None]) -> None:
    with closing(DroppedRows(told_by_agent()["library"])) as counted:
        counted.watch(True)
        confine()
        begun_s = time.monotonic()
        for second in range(1, asked.seconds + 1):
            output.wait(None, begun_s + second * GAP_S)
            rows, took_s = counted.read(), time.monotonic() - begun_s
            told = [row for row in rows if is_told(row.reason)]
            for rank, row in enumerate(told[:SHOWN], 1):
                output.tell(
                    "drop",
                    rank=rank,
                    reason=row.reason,
                    interface=row.interface or None,
                    packets=row.packets,
                    packets_per_s=round(row.packets / took_s, 1),
                    counted_by=counted_by(row.reason),
                    means=TEXTS.get(row.reason),
                )
    output.tell(
        "summary",
        seconds=asked.seconds,
        packets=sum(row.packets for row in told),
        owned=sum(row.packets for row in rows if row.reason in OWNED),
        unnamed=sum(row.packets for row in rows if row.reason in _UNNAMED),
    )
