# SPDX-License-Identifier: Apache-2.0
"""E1 and E2: who gets the processor cores. Thresholds are of docs/diagnosis.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weir.diagnosis.sample import Core
from weir.diagnosis.symptom import Number, Span, Symptom

BUSY_SHARE = 0.8
"""Of a core's time in softirqs: what starves is then starved by packets and not by programs."""
STALLED_SHARE = 0.2
WOKEN_LATE_S = 0.1
IDLE_SHARE = 0.4
SQUEEZES_PS = 10.0
DROPPED_SHARE = 0.001
UNITS = ("frr.service", "weir-agent.service", "weir-api.service")
"""What must live through a flood: sessions, the rollback, the API."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one core did in a span."""

    number: int
    softirq_share: float
    packets: int
    drops: int
    squeezes_ps: float


def spent(span: Span) -> list[Spent]:
    """Of each core; none where the cores were not looked at twice or their number changed."""
    before, now = span.before.cores, span.now.cores
    if before is None or now is None or len(before) != len(now):
        return []
    return [
        _spent(number, *pair, span.elapsed_s) for number, pair in enumerate(zip(before, now, strict=True))
    ]


def received_ps(span: Span) -> float:
    """Packets that came, each second, as the cards counted them: XDP takes packets before a core does, and in
    a network namespace cores count those of others, too. Where no card received any, as the cores did."""
    before, now = span.before.ports or {}, span.now.ports or {}
    by_cards = sum(
        max(now[name].rx_packets - before[name].rx_packets, 0) for name in now.keys() & before.keys()
    )
    return (by_cards or sum(core.packets for core in spent(span))) / span.elapsed_s


def _spent(number: int, before: Core, now: Core, elapsed_s: float) -> Spent:
    ticks = now.total_ticks - before.total_ticks
    share = (now.softirq_ticks - before.softirq_ticks) / ticks if ticks > 0 else 0.0
    return Spent(
        number,
        min(max(share, 0.0), 1.0),
        max(now.packets - before.packets, 0),
        max(now.backlog_drops - before.backlog_drops, 0),
        max(now.squeezed - before.squeezed, 0) / elapsed_s,
    )


def control_plane(span: Span) -> Iterator[Symptom]:
    """A core is full of softirqs and programs wait for it. Full cores alone are what a router is for."""
    cores = spent(span)
    if not cores or max(core.softirq_share for core in cores) < BUSY_SHARE:
        return
    busiest = max(cores, key=lambda core: core.softirq_share)
    flood = Number("softirq_share", busiest.softirq_share, "share", BUSY_SHARE)
    grace = [] if span.now.grace_s is None else [Number("grace_period_ms", span.now.grace_s * 1000, "ms")]
    for unit, share in _stalled(span).items():
        if share > STALLED_SHARE:
            waits = Number("stalled_share", share, "share", STALLED_SHARE)
            yield Symptom("control-plane-starved", unit, (waits, flood, *grace))
    late_s = span.now.woken_late_s
    if late_s is not None and late_s > WOKEN_LATE_S:
        late = Number("woken_late_ms", late_s * 1000, "ms", WOKEN_LATE_S * 1000)
        yield Symptom("control-plane-starved", "sampler", (late, flood, *grace))


def _stalled(span: Span) -> dict[str, float]:
    before, now = span.before.stalled_us or {}, span.now.stalled_us or {}
    return {
        unit: max(total - before[unit], 0) / 1e6 / span.elapsed_s
        for unit, total in now.items()
        if unit in before
    }


def backlog(span: Span) -> Iterator[Symptom]:
    """A core's receive backlog was full and packets were dropped."""
    for core in spent(span):
        share = core.drops / max(core.packets + core.drops, 1)
        if share > DROPPED_SHARE:
            dropped = Number("dropped_share", share, "share", DROPPED_SHARE)
            drops = Number("drops_ps", core.drops / span.elapsed_s, "packets/s")
            yield Symptom("backlog-full", f"core {core.number}", (dropped, drops))


def balance(span: Span) -> Iterator[Symptom]:
    """One core cannot keep up while the others have time. With one core there is nothing to spread."""
    cores = spent(span)
    if len(cores) < 2:
        return
    busiest = max(cores, key=lambda core: core.softirq_share)
    others = [core.softirq_share for core in cores if core is not busiest]
    mean = sum(others) / len(others)
    is_full = busiest.softirq_share > BUSY_SHARE and busiest.squeezes_ps > SQUEEZES_PS
    if is_full and mean < IDLE_SHARE:
        yield Symptom(
            "one-core-works",
            f"core {busiest.number}",
            (
                Number("softirq_share", busiest.softirq_share, "share", BUSY_SHARE),
                Number("others_share", mean, "share", IDLE_SHARE),
                Number("squeezes_ps", busiest.squeezes_ps, "1/s", SQUEEZES_PS),
            ),
        )
