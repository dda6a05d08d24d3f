# SPDX-License-Identifier: Apache-2.0
"""How long the importers take for 10,000 and 100,000 queues: from bytes to the report, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bench.rows import Row
from weir.formats import csv, read, routeros
from weir.model.document import Document

PLANS = ("2M/10M", "5M/20M", "10M/50M", "20M/100M", "512k/2M")


def routeros_export(queues: int) -> bytes:
    """An export as RouterOS wraps it: one parent for 100 subscribers, v4 and v6, bursts on every fourth."""
    lines = ["# 2026-01-01 10:00:00 by RouterOS 7.14.3", "/queue simple"]
    for number in range(queues):
        third, fourth = divmod(number, 250)
        address = f"10.{64 + third // 250}.{third % 250}.{fourth + 1}/32"
        if number % 100 == 0:
            lines.append(f'add max-limit=1G/1G name="tower {number // 100}" target=""')
            continue
        burst = ""
        if number % 4 == 0:
            burst = "burst-limit=12M/60M burst-threshold=2M/10M burst-time=16s/16s limit-at=1M/5M "
        lines.append(
            f'add comment="contract {number}" {burst}max-limit={PLANS[number % 5]} \\\n'
            f'    name="{number:06d} Customer \\C3\\A9 {number}" parent="tower {number // 100}" queue=\\\n'
            f"    pcq-upload-default/pcq-download-default target=\\\n"
            f"    {address},2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::/64"
        )
    return "\n".join(lines).encode()


def libreqos_table(queues: int) -> bytes:
    rows = [
        "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,"
        "Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment"
    ]
    rows.extend(
        f"{number},Customer {number},{number},Router,,,10.{number >> 16}.{number >> 8 & 255}.{number & 255},"
        f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::/64,1,1,{number % 90 + 10},10,"
        for number in range(queues)
    )
    return "\n".join(rows).encode()


def measured(name: str, what: str, rounds: int, work: Callable[[], object]) -> Row:
    """CPU seconds: the machine that runs this is shared, and a reader uses one core."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return Row.of(name, what, "s", seconds)


def run() -> list[Row]:
    rows: list[Row] = []
    for queues, short, rounds in ((10_000, "10k", 5), (100_000, "100k", 3)):
        export = routeros_export(queues)
        document = Document(read("routeros", {"a": export}).queues)
        inputs = {
            "routeros": export,
            "libreqos": libreqos_table(queues),
            "csv": csv.write(document).encode(),
        }
        for format, data in inputs.items():
            work = partial(read, format, {"a": data})
            rows.append(measured(f"read-{format}-{short}", f"{format}, {queues:,} queues", rounds, work))
        again = partial(read, "routeros", {"a": export}, document)
        rows.append(measured(f"reread-routeros-{short}", "the same export again", rounds, again))
        writing = partial(routeros.write, document)
        rows.append(measured(f"write-routeros-{short}", "export to RouterOS", rounds, writing))
    return rows
