# SPDX-License-Identifier: Apache-2.0
"""E1: who asks for so many destinations that the router suffers from it."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.processors import BUSY_SHARE, spent
from weir.diagnosis.symptom import Number, Span, Symptom
from weir.diagnosis.tables import full_connections, full_neighbours

LEAST = 25
"""Destinations in one window: of fewer the rate is not known well enough."""
DESTINATIONS_PS = 1_000.0
"""A guess: a customer's busiest programs reach some dozens of hosts a second."""
LOOKUPS_OF_ONE = 2.0
"""Lookups for each destination: who talks to somebody sends more than one packet. A guess."""


def scans(span: Span) -> Iterator[Symptom]:
    """Alone it is what some customers are there for; it is a finding where tables fill or a core is full."""
    if not _suffers(span):
        return
    for scan in span.now.scans or ():
        each = scan.lookups_ps / scan.destinations_ps if scan.destinations_ps else 0.0
        if scan.destinations_ps > DESTINATIONS_PS and each <= LOOKUPS_OF_ONE:
            numbers = (
                Number("destinations_ps", scan.destinations_ps, "1/s", DESTINATIONS_PS),
                Number("lookups_each", each, "", LOOKUPS_OF_ONE),
            )
            yield Symptom("scan", scan.source, numbers)


def _suffers(span: Span) -> bool:
    is_full = any(full_neighbours(span)) or any(full_connections(span))
    return is_full or any(core.softirq_share > BUSY_SHARE for core in spent(span))
