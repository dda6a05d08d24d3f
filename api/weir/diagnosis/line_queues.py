# SPDX-License-Identifier: Apache-2.0
"""The customer's queue and those above it: is a limit what the customer meets?"""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.judged import Fix, Judged, Place, clause, ms, rate, worst
from weir.diagnosis.measured import WAYS, Flow, Line, Measured, Way, known, mean, recent
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import percent
from weir.diagnosis.thresholds import DROPS_PS, FULL_SHARE, LONG_WAIT_US, POLICED_SHARE, SIBLING_SHARE


def queue(measured: Measured) -> Judged:
    """The customer's own queue."""
    line = measured.queue
    if line is None and measured.no_queue:
        return Judged("queue", measured.no_queue, "clear", f"No queue limits {measured.no_queue}.")
    if line is None:
        said = f"Not known: {clause(measured.queue_unknown)}."
        return Judged("queue", "", "unknown", said, unknown=("the queue",))
    if line.unmeasured:
        return _unmeasured("queue", line)
    found = worst(item for way in WAYS for item in _own(line, way))
    return found or _clear("queue", line)


def parents(measured: Measured) -> list[Judged]:
    """Those above it, the nearest first."""
    return [_parent(line, measured.queue) for line in measured.parents]


def _own(line: Line, way: Way) -> Iterator[Judged]:
    flow = line.flow(way)
    if flow.is_full and _burst_s(flow):
        said = (
            f"The burst of {line.name} is over: {way} was allowed {rate(flow.burst_bps)} and is limited to "
            f"{rate(flow.limit_bps)} again; it has {rate(flow.rate_bps)}"
        )
        yield _at("queue", line, "burst-used", f"{said}.", way, _raise(line))
    elif flow.is_full:
        policed = f" What is over it is dropped, as {line.policed[way]}." if line.policed.get(way) else ""
        said = f"{line.name} is at its limit: {way} {_used(flow)}.{policed}"
        yield _at("queue", line, "queue-full", said, way, _raise(line))
    elif line.is_parent:
        yield from _of_those_below(line, way)
        return
    elif flow.own_drops_ps >= DROPS_PS and line.policed.get(way) and _is_policed(flow):
        said = (
            f"{line.name} drops what is over {rate(flow.limit_bps)} instead of delaying it, which slows TCP "
            f"down: {rate(flow.rate_bps)} {way}, as {line.policed[way]}"
        )
        yield _at("queue", line, "policed", f"{said}.", way, _raise(line))
    elif (dropped_ps := flow.own_drops_ps + mean(recent(flow.early_ps))) >= DROPS_PS:
        said = f"{line.name} drops {dropped_ps:,.0f} packets/s {way} at {_used(flow)}"
        yield _at("queue", line, "queue-drops", f"{said}: bursts over its limit.", way, _raise(line))
    elif not flow.tells_reasons and (dropped_ps := mean(recent(flow.drops_ps))) >= DROPS_PS:
        said = f"{line.name} or a queue above it drops {dropped_ps:,.0f} packets/s {way} at {_used(flow)}"
        which = "HTB does not tell which one" if way in line.classful else "which one is not known yet"
        yield _at("queue", line, "queue-drops", f"{said}; {which}.", way, _look(line))
    if not line.is_parent and (above_ps := mean(recent(flow.ancestor_ps))) >= DROPS_PS:
        said = f"A queue above {line.name} drops {above_ps:,.0f} packets/s of it {way}, at {_used(flow)}"
        yield _at("queue", line, "parent-drops", f"{said}.", way, _look(line))
    yield from _waiting(line, way)


def _of_those_below(line: Line, way: Way) -> Iterator[Judged]:
    """Of a queue with others below it: what their own limits drop is not its doing."""
    flow = line.flow(way)
    if (above_ps := mean(recent(flow.ancestor_ps))) >= DROPS_PS:
        said = f"{line.name} or a queue above it drops {above_ps:,.0f} packets/s {way}, at {_used(flow)}"
        yield _at("queue", line, "parent-drops", f"{said}.", way, _look(line))
    yield from _waiting(line, way)


def _waiting(line: Line, way: Way) -> Iterator[Judged]:
    flow = line.flow(way)
    if max(recent(flow.waits_us), default=0.0) >= LONG_WAIT_US:
        said = f"Packets wait up to {ms(max(recent(flow.waits_us)))} in {line.name} ({way})"
        yield _at("queue", line, "long-wait", f"{said}.", way, _look(line))


def _is_policed(flow: Flow) -> bool:
    share = flow.used_share
    return share is not None and share >= POLICED_SHARE


def _burst_s(flow: Flow) -> int:
    """Seconds of the last two minutes over the limit, before those of now at it."""
    if not flow.burst_bps:
        return 0
    return sum(value > flow.limit_bps / FULL_SHARE for value in known(flow.rates_bps))


def _parent(line: Line, below: Line | None) -> Judged:
    if line.unmeasured:
        return _unmeasured("parent", line)
    found = worst(item for way in WAYS for item in _above(line, below, way))
    return found or _clear("parent", line)


def _above(line: Line, below: Line | None, way: Way) -> Iterator[Judged]:
    flow = line.flow(way)
    own = None if below is None or below.unmeasured else below.flow(way)
    from_above_ps = mean(recent(own.ancestor_ps)) if own else 0.0
    if not flow.is_full:
        return
    if own and own.is_full and from_above_ps <= own.own_drops_ps:
        return  # the customer's own limit is lower than its share of this one
    numbers: tuple[Number, ...] = (
        (Number(f"{way}_ancestor_drops_ps", from_above_ps, "packets/s"),) if own and own.tells_reasons else ()
    )
    taker = line.takers.get(way)
    said = f"{line.name} above it is full: {way} {_used(flow)}"
    fixes = [Fix("parent", f"Raise the limit of {line.name}, or move the queue.", "queue", line.id)]
    if taker and taker.rate_bps >= SIBLING_SHARE * flow.rate_bps:
        share = taker.rate_bps / flow.rate_bps
        said += f"; {taker.name} takes {percent(share)} of it"
        numbers += (Number("sibling_share", share, "share", SIBLING_SHARE),)
        fixes.append(Fix("sibling", f"Limit {taker.name}.", "queue", taker.id))
    yield Judged(
        "parent", line.name, "trouble", f"{said}.", "parent-full", _numbers(flow, way) + numbers, tuple(fixes)
    )


def _at(place: Place, line: Line, code: str, said: str, way: Way, fixes: tuple[Fix, ...]) -> Judged:
    return Judged(place, line.name, "trouble", said, code, _numbers(line.flow(way), way), fixes)


def _raise(line: Line) -> tuple[Fix, ...]:
    text = "Raise its limit for one hour; it goes back by itself."
    return (
        Fix("raise", text, "queue", line.id, f"weir queue raise {line.id} UP/DOWN --for 1h"),
        Fix("edit", "Change its limit.", "queue", line.id, f"weir queue set {line.id} --max-limit UP/DOWN"),
    )


def _look(line: Line) -> tuple[Fix, ...]:
    return (Fix("edit", "Look at its queue type and limit.", "queue", line.id, f"weir explain {line.id}"),)


def _clear(place: Place, line: Line) -> Judged:
    """Within its limits in both directions; what nothing measures is named."""
    flows = [(way, line.flow(way)) for way in WAYS]
    said = ", ".join(f"{way} {_used(flow)}" for way, flow in flows)
    numbers = tuple(number for way, flow in flows for number in _numbers(flow, way))
    unseen = tuple(f"how long packets wait ({way})" for way, flow in flows if not recent(flow.waits_us))
    if line.uncounted:
        unseen += tuple(f"what its HTB class drops ({way})" for way in WAYS if way in line.classful)
    below_ps = sum(flow.own_drops_ps for _, flow in flows) if line.is_parent else 0.0
    below = f" Queues below it drop {below_ps:,.0f} packets/s over their own limits." if below_ps >= 1 else ""
    said = f"{line.name} is within its limits: {said}.{below}"
    return Judged(place, line.name, "clear", said, "", numbers, (), unseen)


def _unmeasured(place: Place, line: Line) -> Judged:
    said = f"The load of {line.name} is not known: {clause(line.unmeasured)}."
    return Judged(place, line.name, "unknown", said, unknown=(f"the load of {line.name}",))


def _used(flow: Flow) -> str:
    of = f" of {rate(flow.limit_bps)}" if flow.limit_bps else ", without a limit"
    return f"{rate(flow.rate_bps)}{of}"


def _numbers(flow: Flow, way: Way) -> tuple[Number, ...]:
    """Rate, share, drops, marks and waits of now, and how long it was at its limit."""
    limit = flow.limit_bps or None
    found = [Number(f"{way}_bps", flow.rate_bps, "bit/s", limit)]
    share = flow.used_share
    if share is not None:
        found += [
            Number(f"{way}_used_share", share, "share", FULL_SHARE),
            Number(f"{way}_full_s", flow.full_s, "s"),
        ]
        day = known(flow.day_bps)
        if day:
            full = sum(value >= FULL_SHARE * flow.limit_bps for value in day)
            found.append(Number(f"{way}_full_day_share", full / len(day), "share"))
    found.append(Number(f"{way}_measured_s", flow.measured_s, "s"))
    found.append(Number(f"{way}_drops_ps", mean(recent(flow.drops_ps)), "packets/s", DROPS_PS))
    if recent(flow.waits_us):
        found.append(Number(f"{way}_wait_ms", max(recent(flow.waits_us)) / 1000, "ms", LONG_WAIT_US / 1000))
    return tuple(found)
