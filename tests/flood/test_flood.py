# SPDX-License-Identifier: Apache-2.0
"""E1: a customer scans the whole internet as fast as it can. Does the API answer, does BGP hold?

On the product's kernel in the virtual machine that counts instructions: one processor of 10^9 a second for
sender, router, FRR, agent and API, whatever else this machine does. Its caches cost nothing; a real customer
does not take its share of the processor, but comes by interrupts.

    lab/vm/run --count-instructions --kernel build/kernel/vm/bzImage build/venv/bin/pytest -q -s tests/flood
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import plan
from tests.flood import bgp, scan
from tests.router import Router, customer, rate
from weir.adapters.tunables import Tunables
from weir.backends import tuning
from weir.kinds.firewall import Firewall

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="it changes the whole machine's settings"),
    pytest.mark.skipif(not Path("/proc/net/pktgen").exists(), reason="this kernel has no packet generator"),
]

SECONDS = bgp.HOLD_TIME_S + 2
"""Of each flood: longer than a session lives without hearing its neighbour."""
MOST_MS = 250
LEAST_FLOOD_PACKETS_PER_S = 10_000
CUSTOMERS = 24
SCANNER = 100
BUDGET = "net.core.netdev_budget_usecs"
DEFAULTS = {BUDGET: "8000", "net.core.netdev_budget": "300"}
"""Of Debian's kernel: two ticks at 250 Hz."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How long the API took, and what else went on."""

    times_ms: list[float]
    forwarded_per_s: float

    @property
    def p99_ms(self) -> float:
        return statistics.quantiles(self.times_ms, n=100)[98]

    def __str__(self) -> str:
        return (
            f"{len(self.times_ms)} answers, median {statistics.median(self.times_ms):.1f} ms, "
            f"p99 {self.p99_ms:.1f} ms, longest {max(self.times_ms):.1f} ms; "
            f"{self.forwarded_per_s:.0f} packets/s forwarded"
        )


def ask(router: Router) -> Answers:
    """One request after the other, for SECONDS."""
    times_ms = []
    packets, begun_s = scan.forwarded_packets(), time.monotonic()
    while time.monotonic() - begun_s < SECONDS:
        at_s = time.monotonic()
        router.api.call("GET", "/queues?limit=20")
        times_ms.append((time.monotonic() - at_s) * 1000)
    took_s = time.monotonic() - begun_s
    return Answers(times_ms, (scan.forwarded_packets() - packets) / took_s)


@contextmanager
def settings(wanted: dict[str, str]) -> Iterator[None]:
    """The machine's own, not those of the router's namespace: what the softirqs obey."""
    tunables = Tunables()
    before = {key: held for key in wanted if (held := tunables.sysctl(key)) is not None}
    assert before.keys() == wanted.keys()
    try:
        for key, value in wanted.items():
            tunables.set_sysctl(key, value)
        yield
    finally:
        for key, value in before.items():
            tunables.set_sysctl(key, value)


def of_the_product() -> dict[str, str]:
    file = tuning.load(plan.ROOT / "board" / "tuning.toml")
    return {item.key: item.value for item in file if item.key in DEFAULTS}


@dataclass(frozen=True, slots=True)
class Case:
    """A flood on a machine with these settings; a source may have `connections` (0: any number)."""

    settings: dict[str, str]
    connections: int = 0


CASES = {
    "kernel's defaults": Case(DEFAULTS),
    "product": Case(of_the_product()),
    "product, connections bounded": Case(of_the_product(), Firewall().connections_per_source),
}


def bound_connections(router: Router, count: int) -> None:
    held = router.api.call("GET", "/firewall")
    headers = {"If-Match": f'"{held["etag"]}"'}
    router.api.call("PATCH", "/firewall", {"connections_per_source": count}, headers=headers)


def test_the_api_answers_and_bgp_stays_up_under_a_flood_of_random_destinations(router: Router) -> None:
    router.bulk(upsert=[customer(number, max_limit_bps=rate(50, 50)) for number in range(CUSTOMERS)])
    flooded = {}
    with bgp.session():
        print(f"quiet: {ask(router)}", flush=True)
        for name, case in CASES.items():
            bound_connections(router, case.connections)
            with settings(case.settings), scan.flood(plan.client_v4(SCANNER)):
                flooded[name] = ask(router)
                print(f"{name}: {flooded[name]}", flush=True)
                neighbour = bgp.neighbour()
            assert neighbour["bgpState"] == "Established", name
            assert neighbour["connectionsDropped"] == 0, name
    assert all(answers.p99_ms < MOST_MS for answers in flooded.values())
    for name, case in CASES.items():
        forwarded = flooded[name].forwarded_per_s
        assert (forwarded > LEAST_FLOOD_PACKETS_PER_S) is (case.connections == 0), name
