# SPDX-License-Identifier: Apache-2.0
"""Samples of a made-up router with four cores, sick or healthy in one respect at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weir.diagnosis.findings import Findings
from weir.diagnosis.sample import (
    CertificateLook,
    Core,
    DropWindow,
    LockWindow,
    Port,
    RouteLookups,
    Sample,
    Scan,
    SetLook,
    SoftirqWindow,
    Table,
    UplinkLook,
)

PERIOD_S = 5.0
TICKS = 500  # of one core in a period, at 100 Hz


def well(step: int, **other: Any) -> Sample:
    """The `step`-th look at a router under full load, at which nothing is wrong: every core spends all of
    its time on packets, and none is lost."""
    ticks = TICKS * step
    known: dict[str, Any] = {
        "cores": (Core(5_000_000 * step, 0, 100 * step, ticks, ticks),) * 4,
        "ports": {"eth0": Port(4, "mq", 10_000_000 * step, 0), "vlan7": Port(1, "noqueue", 0, 0)},
        "neighbours": {"neighbours-v4": Table(300, 65_536, 0)},
        "connections": {"connections": Table(100_000, 262_144, 0)},
        "stalled_us": {"frr.service": 10_000 * step},
        "woken_late_s": 0.004,
        "grace_s": 0.02,
        "sockets": (),
        "overflows": 0,
        "chains": (),
        "reverse_path": (),
        "route_lookups": RouteLookups(65, 400, None),
        "softirqs": SoftirqWindow(1.0, ()),
        "scans": (Scan("198.51.100.9/32", 4_000.0, 50_000.0),),
        "drop_reasons": DropWindow(1.0, ()),
        "lock_waits": LockWindow(1.0, ()),
        "uplinks": {"fibre": UplinkLook(None)},
        "certificates": {"web": CertificateLook(60, 0)},
        "sets": {"drop": SetLook(None, 3600.0), "office": SetLook(None, None, 600.0, 1)},
    }
    return Sample(PERIOD_S * step, int(1000 * PERIOD_S * step), **{**known, **other})


def cores(step: int, *kinds: Mapping[str, int]) -> tuple[Core, ...]:
    """Cores with these counts in each period; `softirq` in percent."""
    return tuple(
        Core(
            kind.get("packets", 1000) * step,
            kind.get("drops", 0) * step,
            kind.get("squeezed", 0) * step,
            kind.get("softirq", 0) * TICKS * step // 100,
            TICKS * step,
        )
        for kind in kinds
    )


def judged(samples: Sequence[Sample]) -> Findings:
    findings = Findings()
    for sample in samples:
        findings.take(sample)
    return findings


def unseen(sample: Sample, reason: str, *names: str) -> Sample:
    """The same without some of its looks."""
    return replace(sample, unseen=dict.fromkeys(names, reason), **dict.fromkeys(names))
