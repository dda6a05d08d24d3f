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
TRANSFERS = {"police": ((10, 1), (50, 1), (2, 1), (2, 3), (2, 30)), "edt": ((1, 1), (10, 1), (50, 1))}
"""Limits in Mbit/s, and how many TCP transfers share one."""
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


def tcp_ids(shaper: str) -> list[str]:
    return [_tcp_id(shaper, mbit, flows) for mbit, flows in TRANSFERS[shaper]]


def _tcp_id(shaper: str, mbit: int, flows: int) -> str:
    return f"tcp-goodput-{shaper}-{mbit}" + (f"x{flows}" if flows > 1 else "")


def tcp_rows(target: Router, shaper: str) -> list[Row]:
    """TCP transfers 20 ms away: their goodput together over the limit less headers."""
    with distant(shaper) as (server, namespace):
        return [tcp_row(target, shaper, server, namespace, *transfer) for transfer in TRANSFERS[shaper]]


def tcp_row(target: Router, shaper: str, server: str, namespace: str, mbit: int, flows: int) -> Row:
    target.bulk(upsert=[customer(0, max_limit_bps=rate(mbit, mbit))])
    shares = []
    for _ in range(ROUNDS):
        goodput_bps = tcp.goodput_bps(
            *(plan.client_v4(0), server, "download"),
            namespace=namespace,
            warm_s=4,
            seconds=6,
            flows=flows,
        )
        shares.append(goodput_bps / (mbit * MEGABIT * tcp.MSS_SHARE[4]))
    who = "TCP" if flows == 1 else f"{flows} TCP flows"
    what = f"{who} at {ROUND_TRIP_MS} ms through {mbit} Mbit/s ({shaper}): goodput over limit less headers"
    return Row.of(_tcp_id(shaper, mbit, flows), what, "share", shares, better="higher")


def run(shaper: str) -> list[Row]:
    with running_router() as target:
        return [*udp_rows(target, shaper), *tcp_rows(target, shaper)]


def main() -> None:
    shaper, folder = sys.argv[1], Path(sys.argv[2])
    rows.write(f"rates-{shaper}", run(shaper), folder)


if __name__ == "__main__":
    main()
