# SPDX-License-Identifier: Apache-2.0
"""How exactly limits are kept, measured at the receiver: UDP rate error and TCP goodput.

    python -m bench.rates police|edt FOLDER

On the development machine's kernel without fq the shaper is `police`; in the virtual machine it is `edt`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import rows
from bench.rows import Row
from lab import delay, measure, plan, tcp
from lab.measure import Flow
from tests.router import MEGABIT, Router, customer, rate, running_router

ROUNDS = 5
UDP_MBIT = {"police": (1, 10, 100, 1000), "edt": (1, 10, 50)}
TCP_MBIT = {"police": (10, 50), "edt": (1, 10, 50)}
ROUND_TRIP_MS = 20


def udp_rows(target: Router, shaper: str) -> list[Row]:
    """UDP offered at 1.3 times the limit, download; the error of what arrives."""
    found = []
    for mbit in UDP_MBIT[shaper]:
        target.bulk(upsert=[customer(0, max_limit_bps=rate(mbit, mbit))])
        flow = Flow(
            plan.client_v4(0),
            plan.INTERNET_ADDRESSES[0],
            "download",
            int(mbit * 1.3 * MEGABIT),
            ip_bytes=1428,
            batch=batch(mbit, shaper),
        )
        errors = []
        for _ in range(ROUNDS):
            (result,) = measure.measure([flow], warm_s=1.5, seconds=4)
            errors.append(abs(result.rate_bps / (mbit * MEGABIT) - 1))
        what = f"UDP through a limit of {mbit} Mbit/s ({shaper}): error of the measured rate"
        found.append(Row.of(f"rate-error-{shaper}-{mbit}", what, "share", errors))
    return found


def batch(mbit: int, shaper: str) -> int:
    """Datagrams for each call of the sender, who must offer more than the limit lets through."""
    if shaper == "edt":
        return max(1, mbit // 5)
    return mbit // 25 if mbit > 100 else 1


@contextmanager
def distant(shaper: str) -> Iterator[tuple[str, str]]:
    """A server that far away, and its namespace; the machine with edt has netem for it."""
    if shaper == "edt":
        with delay.netem(ROUND_TRIP_MS):
            yield plan.INTERNET_ADDRESSES[0], plan.INTERNET
    else:
        with delay.far_server(ROUND_TRIP_MS) as (server, _):
            yield server, delay.FAR


def tcp_rows(target: Router, shaper: str) -> list[Row]:
    """One TCP transfer 20 ms away: goodput over the limit less headers."""
    found = []
    with distant(shaper) as (server, namespace):
        for mbit in TCP_MBIT[shaper]:
            target.bulk(upsert=[customer(0, max_limit_bps=rate(mbit, mbit))])
            shares = []
            for _ in range(ROUNDS):
                goodput_bps = tcp.goodput_bps(
                    plan.client_v4(0), server, "download", namespace=namespace, warm_s=4, seconds=6
                )
                shares.append(goodput_bps / (mbit * MEGABIT * tcp.MSS_SHARE[4]))
            what = (
                f"TCP at {ROUND_TRIP_MS} ms through {mbit} Mbit/s ({shaper}): goodput over limit less headers"
            )
            found.append(Row.of(f"tcp-goodput-{shaper}-{mbit}", what, "share", shares, better="higher"))
    return found


def run(shaper: str) -> list[Row]:
    with running_router() as target:
        return [*udp_rows(target, shaper), *tcp_rows(target, shaper)]


def main() -> None:
    shaper, folder = sys.argv[1], Path(sys.argv[2])
    rows.write(f"rates-{shaper}", run(shaper), folder)


if __name__ == "__main__":
    main()
