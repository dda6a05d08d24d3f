# SPDX-License-Identifier: Apache-2.0
"""E2: what stands between the cores and a port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weir.diagnosis.sample import Port
from weir.diagnosis.symptom import Number, Span, Symptom

LOCKLESS = frozenset(("mq", "mqprio", "noqueue", "noop"))
"""Roots whose queues have locks of their own, or that have none; a port that is down has `noop`."""
OVERRUN_SHARE = 0.001
PACING = "fq"
"""What a shaper needs to put locks of their own in place of one."""


def shared_locks(span: Span) -> Iterator[Symptom]:
    """A port with several queues and a root that all cores lock for each packet."""
    for name, port in (span.now.ports or {}).items():
        if port.tx_queues > 1 and port.qdisc not in LOCKLESS:
            queues = Number("queues_per_lock", port.tx_queues, "", 1)
            needs = PACING if port.unpaced else ""
            yield Symptom("one-lock", name, (queues,), unpaced([port]), needs)


def unpaced(ports: Iterable[Port]) -> str:
    """What a sentence says where a shaper can take the lock from none of these ports; "" where it can."""
    reasons = [port.unpaced for port in ports]
    if not reasons or not all(reasons):
        return ""
    return f"; no shaper takes it away here, as `fq` does not work: {reasons[0]}"


def overruns(span: Span) -> Iterator[Symptom]:
    """A card had no buffer: the cores did not take packets from it in time."""
    before = span.before.ports or {}
    for name, port in (span.now.ports or {}).items():
        if name not in before:
            continue
        lost = port.overruns - before[name].overruns
        share = lost / max(port.rx_packets - before[name].rx_packets + lost, 1)
        if lost > 0 and share > OVERRUN_SHARE:
            numbers = (
                Number("overrun_share", share, "share", OVERRUN_SHARE),
                Number("overruns_ps", lost / span.elapsed_s, "packets/s"),
            )
            yield Symptom("ring-overrun", name, numbers)
