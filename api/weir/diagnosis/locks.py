# SPDX-License-Identifier: Apache-2.0
"""E2: cores that spin for locks instead of working. Thresholds are of docs/diagnosis.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.diagnosis.ports import PACING, shared_locks, unpaced
from weir.diagnosis.processors import spent
from weir.diagnosis.sample import LockWindow
from weir.diagnosis.symptom import Number, Span, Symptom

SPIN_SHARE = 0.05
"""Of a core's time. A guess."""
PACKETS_SHARE = 0.2
"""Of a core's time in softirqs: of others the locks are not the packets', unless a port has one lock for
several queues. A guess."""


def spin_shares(window: LockWindow) -> Mapping[int, float]:
    """The part of its time that each core waited for locks."""
    shares: dict[int, float] = {}
    for row in window.rows:
        shares[row.core] = shares.get(row.core, 0.0) + row.wait_ns / 1e9 / window.seconds
    return shares


def lock_waits(span: Span) -> Iterator[Symptom]:
    """The core that spins most, of those that carry packets, or of all where a port's queues share a lock.
    Which lock it is the kernel does not tell; those ports are named."""
    window = span.now.lock_waits
    if window is None:
        return
    shared = sorted(port.subject for port in shared_locks(span))
    ports = ", ".join(shared)
    working = {core.number for core in spent(span) if ports or core.softirq_share >= PACKETS_SHARE}
    shares = {core: share for core, share in spin_shares(window).items() if core in working}
    core = max(shares, key=lambda number: shares[number], default=None)
    if core is None or shares[core] <= SPIN_SHARE:
        return
    longest_ns = max(row.wait_most_ns for row in window.rows if row.core == core)
    numbers = (
        Number("spin_share", min(shares[core], 1.0), "share", SPIN_SHARE),
        Number("wait_most_us", longest_ns / 1000, "us"),
    )
    who = f"; one lock for all queues: {ports}" if ports else ""
    every = span.now.ports or {}
    without = unpaced([every[name] for name in shared or every])
    yield Symptom("lock-wait", f"core {core}", numbers, who + without, PACING if without else "")
