# SPDX-License-Identifier: Apache-2.0
"""An hour of changes, 20 a second: what the memory of API and agent grows by.

python -m bench.soak [MINUTES]      alone, also shorter; the group `soak` of `make bench` takes an hour

The first five minutes (a third of a shorter run) do not count: caches, which have a bound, fill up, and each
thread of the API has its first request. The slope is that of a line through a sample per 5 seconds (least
squares) of memory that is the processes' own (`Private_Dirty`), in MB per hour.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.control import patch_ms
from bench.resources import own_processes
from bench.rows import Row, table
from tests.router import Router, running_router

HOUR_MIN = 60.0
CHANGES_PER_S = 20
QUEUES = 1000
SAMPLE_S = 5.0
WARM_S, WARM_SHARE = 300.0, 1 / 3
SERVICES = ("api", "agent")


@dataclass(slots=True)
class Samples:
    """Private memory of a process and those of its own over time."""

    seconds: list[float] = field(default_factory=list)
    own_mb: list[float] = field(default_factory=list)

    def take(self, pid: int, at_s: float) -> None:
        self.seconds.append(at_s)
        self.own_mb.append(sum(private_kib(entry) for entry in own_processes(pid)) * 1024 / 1e6)

    def mb_per_hour(self, from_s: float) -> float:
        """The slope of what was sampled after `from_s`."""
        kept = [pair for pair in zip(self.seconds, self.own_mb, strict=True) if pair[0] >= from_s]
        seconds, own_mb = zip(*kept, strict=True)
        return statistics.linear_regression(seconds, own_mb).slope * 3600


def private_kib(pid: int) -> int:
    """0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def soak(target: Router, minutes: float) -> list[Row]:
    """Change the queues in turn, one request after the other at a steady pace."""
    ids = [f"s{number}" for number in range(QUEUES)]
    target.bulk(upsert=[{"id": name, "name": name, "max_limit_bps": limit(0)} for name in ids])
    pids = {service: target.pid_of(service) for service in SERVICES}
    samples = {service: Samples() for service in SERVICES}
    begun_s, due_s, count = time.monotonic(), 0.0, 0
    while (now_s := time.monotonic() - begun_s) < minutes * 60:
        if now_s >= due_s:
            due_s += SAMPLE_S
            for service, pid in pids.items():
                assert pid is not None and target.pid_of(service) == pid, f"{service} was restarted"
                samples[service].take(pid, now_s)
            print(f"{now_s:6.0f} s {count:7} changes", shown(samples), file=sys.stderr, flush=True)
        patch_ms(target, ids[count % QUEUES], {"max_limit_bps": limit(count)})
        count += 1
        time.sleep(max(count / CHANGES_PER_S - (time.monotonic() - begun_s), 0.0))
    what = f"{QUEUES:,} queues, {count / (minutes * 60):.1f} changes a second for {minutes:g} min"
    return [
        Row.of(
            f"soak-{service}", f"{what}: the {service}'s memory grows, in an hour, by", "MB",
            [found.mb_per_hour(min(WARM_S, minutes * 60 * WARM_SHARE))], "lower",
        )
        for service, found in samples.items()
    ]  # fmt: skip


def limit(number: int) -> dict[str, int]:
    return {"upload": 5_000_000 + number, "download": 7_000_000 + number}


def shown(samples: dict[str, Samples]) -> str:
    return ", ".join(f"{service} {found.own_mb[-1]:.2f} MB" for service, found in samples.items())


def run(minutes: float = HOUR_MIN) -> list[Row]:
    with running_router() as target:
        return soak(target, minutes)


if __name__ == "__main__":
    os.nice(19)
    print(table(run(float(sys.argv[1]) if len(sys.argv) > 1 else HOUR_MIN)))
