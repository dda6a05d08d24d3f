# SPDX-License-Identifier: Apache-2.0
"""100,000 prefixes in a set of the firewall: how they get there, one more of them, and a rule beside them.
And one rule of 2,000."""

from __future__ import annotations

import statistics

from bench.control import timed
from bench.rows import Row
from tests.router import Router, running_router

ENTRIES = 100_000
PER_REQUEST = 10_000
ROUNDS = 3
CHANGES = 100
RULES = 2_000


def run() -> list[Row]:
    load_s, entry_ms, rule_ms, many_ms = [], [], [], []
    for _ in range(ROUNDS):
        with running_router() as target:
            load_s.append(loaded_s(target))
            entry_ms.append(statistics.median(entry_added_ms(target, number) for number in range(CHANGES)))
            rule_ms.append(statistics.median(rule_changed_ms(target, number) for number in range(CHANGES)))
        with running_router() as target:
            filled_with_rules(target)
            many_ms.append(statistics.median(one_of_many_ms(target, number) for number in range(CHANGES)))
    among = f"among {ENTRIES:,} set entries"
    return [
        Row.of("set-100k-load", f"{ENTRIES:,} set entries, staged, to the verified kernel", "s", load_s),
        Row.of("set-entry-one", f"one set entry added {among}, request to verified: median", "ms", entry_ms),
        Row.of("rule-one", f"a firewall rule changed {among}, request to verified: median", "ms", rule_ms),
        Row.of(
            "rule-one-2k",
            f"one of {RULES:,} firewall rules changed, request to verified: median",
            "ms",
            many_ms,
        ),
    ]


def prefix(number: int) -> str:
    """Different /24, from 11.0.0.0 on."""
    return f"{11 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24"


def loaded_s(target: Router) -> float:
    target.api.call("PUT", "/sets/blocked", {})
    rule = {"chain": "forward", "action": "drop", "source_set": "blocked"}
    target.api.call("PUT", "/firewall-rules/block", rule)

    def load() -> None:
        for first in range(0, ENTRIES, PER_REQUEST):
            entries = [
                {"set": "blocked", "value": prefix(number)} for number in range(first, first + PER_REQUEST)
            ]
            target.api.call("POST", "/set-entries/bulk?candidate=true", {"upsert": entries, "delete": []})
        target.api.call("POST", "/candidate/commit", {"message": "benchmark"})

    return timed(load)[0]


def entry_added_ms(target: Router, number: int) -> float:
    body = {"set": "blocked", "value": prefix(ENTRIES + number)}
    return timed(lambda: target.api.call("POST", "/set-entries", body))[0] * 1000


def rule_changed_ms(target: Router, number: int, name: str = "block") -> float:
    path = f"/firewall-rules/{name}"
    etag = target.api.call("GET", path)["etag"]
    headers = {"If-Match": f'"{etag}"', "Content-Type": "application/merge-patch+json"}
    body = {"destination": [f"198.51.100.{number}/32"]}
    return timed(lambda: target.api.call("PATCH", path, body, headers=headers))[0] * 1000


def filled_with_rules(target: Router) -> None:
    """Rules of forwarded packets, each with a network and a port of its own."""
    rules = [
        {
            "id": f"r{number}",
            "chain": "forward",
            "action": "drop",
            "position": number,
            "source": [prefix(number)],
            "protocol": "tcp",
            "ports": [str(1000 + number)],
        }
        for number in range(RULES)
    ]
    target.api.call("POST", "/firewall-rules/bulk?candidate=true", {"upsert": rules, "delete": []})
    target.api.call("POST", "/candidate/commit", {"message": "benchmark"})


def one_of_many_ms(target: Router, number: int) -> float:
    """Another rule each time, from all over the chain."""
    return rule_changed_ms(target, number, f"r{(number * 137 + 1) % RULES}")
