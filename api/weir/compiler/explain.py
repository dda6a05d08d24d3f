# SPDX-License-Identifier: Apache-2.0
"""What became of a queue or a plan, for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from weir.compiler.clocks import UNLIMITED
from weir.compiler.compiled import Compiled
from weir.compiler.forks import narrower
from weir.compiler.plan import Plan, prefix_key
from weir.compiler.types import LAST_PRIORITY, NO_SLOT, ClassSpec, ClockSpec, Waiting, total_id
from weir.model.claims import PrefixClaims, pack_text
from weir.model.codec import to_json
from weir.model.document import Document, interface_targets
from weir.model.objects import Queue
from weir.model.prefix import looks_like_prefix
from weir.model.problem import NotFound
from weir.model.reader import Json
from weir.model.schedule import is_open, next_window_edge
from weir.model.tree import ancestors
from weir.model.units import format_duration_ms, format_rate_long


def describe(plan: Plan, limit: int = 1000) -> list[str]:
    """The first steps of a plan as lines, and how many more there are."""
    lines = [f"{step.action} {step.what} {step.text}" for step in islice(plan.steps(), limit + 1)]
    if len(lines) > limit:
        lines[limit] = f"... in all {' '.join(f'{n} {what}' for what, n in plan.counts()._asdict().items())}"
    return lines


def next_edge(document: Document, now_local: datetime) -> datetime | None:
    """When the next time window opens or closes: the agent then calls `update` without changes."""
    edges = []
    for queue_id in document.timed_queue_ids:
        queue = document.queue(queue_id)
        if queue is not None and queue.time is not None and not queue.disabled:
            edge = next_window_edge(queue.time, now_local)
            if edge is not None:
                edges.append(edge)
    return min(edges, default=None)


_NO_CLASS = ClassSpec(-1, "", NO_SLOT, 0, UNLIMITED, UNLIMITED)


@dataclass(frozen=True, slots=True)
class PrefixFate:
    """One prefix of a queue: in the kernel (`taken_by` is the queue itself), or why not."""

    prefix: str
    taken_by: str | None
    """The id of the queue whose class its packets get; None when the queue takes no packets now."""
    through: str | None
    """The entry that decides: the prefix itself, or one that covers it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One field, what was asked and what it was compiled into, in words."""

    field: str
    asked: str
    compiled: str


@dataclass(frozen=True, slots=True)
class Explanation:
    queue_id: str
    asked: Json
    slot: int
    """0 when the queue has no class."""
    parent_slot: int
    depth: int
    upload: ClockSpec | None
    download: ClockSpec | None
    total: ClockSpec | None
    """What both directions share, in a class of its own."""
    prefixes: tuple[PrefixFate, ...]
    interfaces: tuple[str, ...]
    """Interfaces whose packets without a matching prefix belong to this queue."""
    inactive_because: str | None
    meanwhile: str | None
    """Where the packets of one that is not in force go; None when it is, or has no target."""
    lines: tuple[Line, ...]

    def to_json(self) -> Json:
        """The `compiled` part of an answer."""
        return {
            "slot": self.slot,
            "parent_slot": self.parent_slot,
            "depth": self.depth,
            "upload": None if self.upload is None else asdict(self.upload),
            "download": None if self.download is None else asdict(self.download),
            "total": None if self.total is None else asdict(self.total),
            "prefixes": [
                {"prefix": fate.prefix, "taken_by": fate.taken_by, "through": fate.through}
                for fate in self.prefixes
            ],
            "interfaces": list(self.interfaces),
            "inactive_because": self.inactive_because,
            "meanwhile": self.meanwhile,
        }


def explain(compiled: Compiled, document: Document, queue_id: str) -> Explanation:
    """Asked against compiled, for one queue. Raises `NotFound`."""
    queue = document.queue(queue_id)
    if queue is None:
        raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
    spec = compiled.class_of(queue_id)
    total = compiled.class_of(total_id(queue_id))
    inactive = inactive_because(document, queue, compiled.now_local)
    tables = compiled.tables
    prefixes = tuple(_fate(compiled, text, queue_id) for text in queue.target if looks_like_prefix(text))
    interfaces = tuple(
        ifname
        for ifname in interface_targets(queue)
        if tables.interface_claims.get(ifname, ("",))[0] == queue_id and ifname in tables.ports
    )
    return Explanation(
        queue_id=queue_id,
        asked=to_json(queue),
        slot=spec.slot if spec else 0,
        parent_slot=spec.parent_slot if spec else 0,
        depth=spec.depth if spec else 0,
        upload=spec.upload if spec else None,
        download=spec.download if spec else None,
        total=total.upload if total else None,
        prefixes=prefixes,
        interfaces=interfaces,
        inactive_because=inactive,
        meanwhile=_meanwhile(queue, compiled, document, prefixes) if inactive else None,
        lines=tuple(_lines(queue, compiled, prefixes, interfaces, inactive)),
    )


def inactive_because(document: Document, queue: Queue, now_local: datetime) -> str | None:
    """Why a queue takes no packets at this time, or None if it does."""
    for item in (queue, *ancestors(document, queue)):
        whose = "it" if item is queue else f"its parent {item.name!r}"
        if item.disabled:
            return f"{whose} is disabled"
        if not is_open(item.time, now_local):
            return f"{whose} is outside its time window"
    if _contradicts(document, queue):
        return f"its dst {queue.dst} has nothing in common with the dst above it"
    if not queue.target:
        below = document.children_of(queue.id)
        return None if below else "it has no target and no children"
    return None


def _meanwhile(
    queue: Queue, compiled: Compiled, document: Document, prefixes: tuple[PrefixFate, ...]
) -> str | None:
    """Whose the packets of a queue are that takes none: named, or that nothing limits them."""
    takers = {fate.prefix: fate.taken_by for fate in prefixes}
    for ifname in interface_targets(queue):
        takers[ifname] = next(iter(compiled.tables.interface_claims.get(ifname, ())), None)
    if not takers:
        return None
    names = {
        other.name
        for other in map(document.queue, sorted(filter(None, takers.values())))
        if other is not None
    }
    nobodys = [target for target, taker in takers.items() if taker is None]
    found = [f"its packets go to {', '.join(map(repr, sorted(names)))}"] if names else []
    if nobodys:
        what = "its packets are" if len(nobodys) == len(takers) else f"those of {', '.join(nobodys[:3])} are"
        found.append(f"{what} in no queue, so no queue limits them")
    return "; ".join(found)


def _contradicts(document: Document, queue: Queue) -> bool:
    dst: str | None = None
    try:
        for item in reversed([queue, *ancestors(document, queue)]):
            dst = narrower(dst, item.dst)
    except ValueError:
        return True
    return False


def _fate(compiled: Compiled, text: str, queue_id: str) -> PrefixFate:
    """The queue itself when its packets with a certain far end are its own."""
    claims: PrefixClaims = compiled.tables.claims
    packed = pack_text(text)
    entries = [item for item in [*claims.covering(packed), packed] if compiled.tables.slot_of(item)]
    if not entries:
        return PrefixFate(text, None, None)
    through, own_slot = entries[-1], (compiled.class_of(queue_id) or _NO_CLASS).slot
    fork = compiled.tables.by_id.get(compiled.tables.forks.get(through, ""))
    taken_by = claims.first(through)
    if fork is not None and own_slot in (fork.parent_slot, *(end.slot for end in fork.far)):
        taken_by = queue_id
    return PrefixFate(text, taken_by, prefix_key(through).text)


def _lines(
    queue: Queue,
    compiled: Compiled,
    prefixes: tuple[PrefixFate, ...],
    interfaces: tuple[str, ...],
    inactive: str | None,
) -> list[Line]:
    spec = compiled.class_of(queue.id)
    if spec is None:
        return [Line("disabled", "enabled" if not queue.disabled else "disabled", f"no class: {inactive}")]
    lines = [Line("class", queue.name, f"slot {spec.slot}, {spec.depth} above it")]
    lines.append(
        Line(
            "parent", queue.parent or "none", f"slot {spec.parent_slot}" if spec.parent_slot else "top level"
        )
    )
    for fate in prefixes:
        if fate.taken_by == queue.id:
            state = "in the lookup table"
        elif fate.taken_by is None:
            state = f"not in the lookup table: {inactive or 'it lies outside its parent'}"
        else:
            state = f"its packets go to queue {fate.taken_by} by {fate.through}"
        lines.append(Line("target", fate.prefix, state))
    if queue.dst is not None:
        decided = compiled.tables.dst.get(queue.id)
        state = (
            f"its targets' packets with {decided}" if decided else f"not in force: {inactive or 'no target'}"
        )
        lines.append(Line("dst", queue.dst, state))
    for ifname in interface_targets(queue):
        state = (
            "takes what no prefix claims" if ifname in interfaces else f"not in force: {inactive or 'taken'}"
        )
        lines.append(Line("target", ifname, state))
    for way, asked_bps, clock in (
        ("upload", queue.max_limit_bps.upload, spec.upload),
        ("download", queue.max_limit_bps.download, spec.download),
    ):
        lines.append(Line(f"max_limit_bps.{way}", format_rate_long(asked_bps), _clock_text(clock)))
        pairs = (queue.limit_at_bps, queue.priority, queue.burst_limit_bps)
        limit_at, priority, burst = (getattr(pair, way) for pair in pairs)
        lines.extend(_sharing_lines(way, _Asked(limit_at, priority, burst), clock))
        if clock.waiting.kind:
            lines.append(
                Line(f"queue_type.{way}", getattr(queue.queue_type, way), waiting_text(clock.waiting))
            )
    lines.extend(_total_lines(queue, compiled))
    return lines


def _total_lines(queue: Queue, compiled: Compiled) -> Iterator[Line]:
    """What both directions share; nothing when the queue asks for no total."""
    spec, total = compiled.class_of(total_id(queue.id)), queue.total
    if spec is None:
        return
    clock = spec.upload
    yield Line(
        "max_limit_bps.total",
        format_rate_long(total.max_limit_bps),
        f"slot {spec.slot}, {_clock_text(clock)}",
    )
    yield from _sharing_lines(
        "total", _Asked(total.limit_at_bps, total.priority, total.burst_limit_bps), clock
    )


class _Asked(NamedTuple):
    limit_at_bps: int
    priority: int
    burst_limit_bps: int


def _sharing_lines(way: str, asked: _Asked, clock: ClockSpec) -> Iterator[Line]:
    """Guarantee, priority and burst, where the queue asks for one."""
    if asked.limit_at_bps:
        guarantee = format_rate_long(clock.guarantee_bps)
        yield Line(f"limit_at_bps.{way}", format_rate_long(asked.limit_at_bps), guarantee)
    if asked.priority != LAST_PRIORITY:
        yield Line(f"priority.{way}", str(asked.priority), str(clock.priority))
    if asked.burst_limit_bps:
        state = "no burst: it could never happen"
        if clock.burst_limit_bps:
            state = (
                f"{format_rate_long(clock.burst_limit_bps)} while the average over "
                f"{format_duration_ms(clock.burst_time_ms)} is below "
                f"{format_rate_long(clock.burst_threshold_bps)}"
            )
        yield Line(f"burst_limit_bps.{way}", format_rate_long(asked.burst_limit_bps), state)


def waiting_text(waiting: Waiting) -> str:
    """How packets wait, where departure times hold them and where a qdisc does."""
    if waiting.kind == "pcq":
        return "one sub-queue for each address"
    if waiting.backlog_bytes is None:
        return f"{waiting.kind} below HTB; departure times as without a type"
    if not waiting.backlog_bytes:
        return f"{waiting.kind}: nothing waits"
    return f"{waiting.kind}: at most {waiting.backlog_bytes} bytes wait"


def _clock_text(clock: ClockSpec) -> str:
    if clock.rate_bps == 0:
        return "unlimited, counted only"
    return f"{format_rate_long(clock.rate_bps)}, bucket {clock.burst_bytes} bytes"
