# SPDX-License-Identifier: Apache-2.0
"""Numbers that contradict each other, or that nobody can have meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weir.model.document import Change
from weir.model.limits import LOW_RATE_BPS
from weir.model.objects import NO_TOTAL, Pair, Queue
from weir.model.problem import Finding
from weir.model.rule import Rule, View, caused_by, differs, error, old_and_new, own, warning
from weir.model.units import format_duration_ms
from weir.model.units import format_rate_long as rate

_FULL_PACKET_BITS = 1500 * 8


class _Way(NamedTuple):
    """One direction's numbers, or the shared ones of `total`."""

    name: str
    field: str
    max_limit_bps: int
    limit_at_bps: int
    burst_limit_bps: int
    burst_threshold_bps: int
    burst_time_ms: int

    def path(self, number: str) -> str:
        return self.field.format(number)


def _ways(queue: Queue) -> Iterator[_Way]:
    for name in ("upload", "download"):
        yield _Way(
            name,
            "{}." + name,
            getattr(queue.max_limit_bps, name),
            getattr(queue.limit_at_bps, name),
            getattr(queue.burst_limit_bps, name),
            getattr(queue.burst_threshold_bps, name),
            getattr(queue.burst_time_ms, name),
        )
    total = queue.total
    if total is NO_TOTAL:
        return
    yield _Way(
        "total",
        "total.{}",
        total.max_limit_bps,
        total.limit_at_bps,
        total.burst_limit_bps,
        total.burst_threshold_bps,
        total.burst_time_ms,
    )


def _either(pair: Pair[int]) -> bool:
    return bool(pair.upload or pair.download)


def limit_at_above_max(_view: View, queue: Queue) -> Iterator[Finding]:
    if not (_either(queue.limit_at_bps) or queue.total.limit_at_bps):
        return
    for way in _ways(queue):
        if 0 < way.max_limit_bps < way.limit_at_bps:
            yield error(
                "limit-at-above-max-limit",
                queue,
                way.path("limit_at_bps"),
                f"the {way.name} guarantee of queue {queue.name!r}, {rate(way.limit_at_bps)}, "
                f"is above its limit of {rate(way.max_limit_bps)}",
            )


def burst(_view: View, queue: Queue) -> Iterator[Finding]:
    """RouterOS manual, queue-burst: a burst is allowed while the average is below the threshold."""
    if not (_either(queue.burst_limit_bps) or queue.total.burst_limit_bps):
        return
    for way in _ways(queue):
        if way.burst_limit_bps:
            yield from _burst_one_way(queue, way)


def _burst_one_way(queue: Queue, way: _Way) -> Iterator[Finding]:
    what = f"the {way.name} burst of queue {queue.name!r}"
    if way.max_limit_bps == 0:
        yield warning(
            "dead-burst",
            queue,
            way.path("burst_limit_bps"),
            f"{what} has no effect: without a limit there is nothing to exceed",
        )
    elif way.burst_limit_bps < way.max_limit_bps:
        yield error(
            "burst-limit-below-max-limit",
            queue,
            way.path("burst_limit_bps"),
            f"{what} ({rate(way.burst_limit_bps)}) is below the limit of {rate(way.max_limit_bps)}: "
            "a burst would slow the queue down",
        )
    elif not way.burst_threshold_bps or not way.burst_time_ms:
        missing = "threshold" if not way.burst_threshold_bps else "time"
        yield warning(
            "dead-burst",
            queue,
            way.path(f"burst_{missing}_{'bps' if missing == 'threshold' else 'ms'}"),
            f"{what} never happens: its {missing} is 0",
        )
    elif way.burst_threshold_bps > way.burst_limit_bps:
        yield warning(
            "endless-burst",
            queue,
            way.path("burst_threshold_bps"),
            f"{what} never ends: no average over {format_duration_ms(way.burst_time_ms)} can exceed "
            f"{rate(way.burst_limit_bps)}, and the threshold is {rate(way.burst_threshold_bps)}",
        )


def low_rate(_view: View, queue: Queue) -> Iterator[Finding]:
    for way in _ways(queue):
        if 0 < way.max_limit_bps < LOW_RATE_BPS:
            seconds = _FULL_PACKET_BITS / way.max_limit_bps
            yield warning(
                "low-rate",
                queue,
                way.path("max_limit_bps"),
                f"the {way.name} limit of queue {queue.name!r} is {rate(way.max_limit_bps)}: "
                f"one full packet takes {seconds:.1f} s; is a k or an M missing?",
            )


def child_above_parent(view: View, queue: Queue) -> Iterator[Finding]:
    """Compared with the nearest queue above that has a limit: one without changes nothing."""
    parent = view.document.queue(queue.parent)
    if parent is None:
        return
    for way in _ALL_WAYS:
        mine = _limit_bps(queue, way)
        if not mine:
            continue
        above = parent if _limit_bps(parent, way) else _nearest_limit(view, parent, way)
        if above is not None and (theirs := _limit_bps(above, way)) < mine:
            what = "upload and download together" if way == "total" else way
            kin = f"its parent {above.name!r}" if above is parent else f"{above.name!r} above it"
            yield warning(
                "child-above-parent",
                queue,
                "total.max_limit_bps" if way == "total" else f"max_limit_bps.{way}",
                f"queue {queue.name!r} may {what} at {rate(mine)}, but {kin} only at {rate(theirs)}",
            )


_ALL_WAYS: tuple[str, ...] = ("upload", "download", "total")


def _limit_bps(queue: Queue, way: str) -> int:
    limit: int = queue.total.max_limit_bps if way == "total" else getattr(queue.max_limit_bps, way)
    return limit


def _nearest_limit(view: View, queue: Queue, way: str) -> Queue | None:
    return next((above for above in view.above(queue) if _limit_bps(above, way)), None)


@caused_by("queue")
def _itself_and_limited(view: View, change: Change) -> Iterator[str]:
    """The queues whose nearest limit a change can be: down to those that have limits themselves."""
    if change.kind != "queue":
        return
    yield change.id
    old, new = old_and_new(change)
    ways = _ALL_WAYS
    if old is not None and new is not None and not differs(change, "parent", "name"):
        ways = tuple(way for way in _ALL_WAYS if _limit_bps(old, way) != _limit_bps(new, way))
    waiting = [change.id] if ways else []
    while waiting:
        above_id = waiting.pop()
        if above_id in view.walked:
            continue
        view.walked.add(above_id)
        for child_id in view.document.children_of(above_id):
            yield child_id
            child = view.document.queue(child_id)
            if child is not None and not all(_limit_bps(child, way) for way in ways):
                waiting.append(child_id)


def guarantees_above_parent(view: View, queue: Queue) -> Iterator[Finding]:
    below = view.document.guaranteed_below_bps(queue.id)
    for way in ("upload", "download"):
        promised, limit = getattr(below, way), getattr(queue.max_limit_bps, way)
        if 0 < limit < promised:
            yield warning(
                "guarantees-above-parent",
                queue,
                f"max_limit_bps.{way}",
                f"the queues below {queue.name!r} are promised {rate(promised)} of {way}, "
                f"{promised / limit:.1f} times its limit of {rate(limit)}",
            )


@caused_by("queue")
def _itself_and_parents(_view: View, change: Change) -> Iterator[str]:
    if change.kind == "queue":
        yield change.id
        if differs(change, "limit_at_bps", "parent", "disabled"):
            for item in old_and_new(change):
                if item is not None and item.parent is not None:
                    yield item.parent


RULES = (
    Rule("limit-at-above-max-limit", "queue", limit_at_above_max, own("queue"), True),
    Rule("burst", "queue", burst, own("queue"), True),
    Rule("low-rate", "queue", low_rate, own("queue"), False),
    Rule("child-above-parent", "queue", child_above_parent, _itself_and_limited, False),
    Rule("guarantees-above-parent", "queue", guarantees_above_parent, _itself_and_parents, False),
)
