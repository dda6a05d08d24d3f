# SPDX-License-Identifier: Apache-2.0
"""Why is this customer slow? One line from the device to the internet, one culprit, and what was ruled out.

What was not measured is not known, and never ruled out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weir.diagnosis import line_ends, line_queues, line_uplink, lost
from weir.diagnosis.judged import Judged, clause, rate, worst
from weir.diagnosis.lost import Where
from weir.diagnosis.measured import WAYS, Flow, Measured, Way, mean, recent
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import percent, shown
from weir.model.units import counted

OURS = ("access", "queue", "parent", "router", "uplink")
"""The places that are this router's: with all of them clear, it is not this router."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Of one direction, on one side of the router. Without numbers it is not known, and the
    sentence says why."""

    way: Way
    where: Where
    sentence: str
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """`culprit` is among `line`; None: none was found."""

    sentence: str
    culprit: Judged | None
    line: tuple[Judged, ...]
    losses: tuple[Loss, ...]


def judge(measured: Measured) -> Answer:
    """The whole answer. Thresholds are of `weir.diagnosis.thresholds`."""
    line = [
        line_ends.device(measured),
        line_ends.port("access", measured.access, measured),
        line_queues.queue(measured),
        *line_queues.parents(measured),
        line_ends.machine(measured),
        line_uplink.uplink(measured),
        line_uplink.internet(measured),
    ]
    found = worst(item for item in line if item.state == "trouble")
    culprit = None if found is None else replace(found, state="culprit")
    line = [culprit if item is found and culprit else item for item in line]
    said = culprit.sentence if culprit else _without_culprit(line)
    return Answer(said, culprit, tuple(line), tuple(_losses(measured)))


def _without_culprit(line: list[Judged]) -> str:
    unknown = [item for item in line if item.state == "unknown"]
    named = ", ".join(dict.fromkeys(WORDS[item.place] for item in unknown))
    if any(item.place in OURS for item in unknown):
        return f"Nothing was found in what was measured. Not known: {named}."
    held = " ".join(item.sentence for item in line if item.place in ("queue", "parent"))
    others = f" Not known: {named}." if unknown else ""
    return f"It is not this router. {held}{others}"


WORDS = {
    "device": "the customer's device",
    "access": "the customer's port",
    "queue": "the customer's queue",
    "parent": "the queue above it",
    "router": "the router itself",
    "uplink": "the port to the internet",
    "internet": "the internet",
}


def _losses(measured: Measured) -> Iterator[Loss]:
    line = measured.queue
    for way in WAYS:
        yield _beside(way, "before", measured, way == "upload")
        if line is None and measured.no_queue:
            none = (Number("dropped_ps", 0.0, "packets/s"),)
            yield Loss(way, "here", "No queue limits it, so none drops its packets.", none)
        elif line is None or line.unmeasured:
            why = measured.queue_unknown if line is None else line.unmeasured
            yield Loss(way, "here", f"Not known: {clause(why)}.")
        else:
            yield _here(way, line.flow(way))
        yield _beside(way, "after", measured, way == "download")


def _here(way: Way, flow: Flow) -> Loss:
    """What the queues dropped, by reason, beside what they sent."""
    if not recent(flow.drops_ps):
        return Loss(way, "here", "Not known: nothing was measured lately.")
    dropped_ps = mean(recent(flow.drops_ps))
    dropped = Number("dropped_ps", dropped_ps, "packets/s")
    numbers = [dropped]
    if flow.sent_ps is not None:
        numbers.insert(0, Number("sent_ps", flow.sent_ps, "packets/s"))
        numbers.append(Number("dropped_share", dropped_ps / max(flow.sent_ps + dropped_ps, 1e-9), "share"))
    if flow.tells_reasons:
        numbers += [
            Number("over_limit_ps", flow.own_drops_ps, "packets/s"),
            Number("early_ps", mean(recent(flow.early_ps)), "packets/s"),
            Number("parent_ps", mean(recent(flow.ancestor_ps)), "packets/s"),
        ]
    if recent(flow.marks_ps):
        numbers.append(Number("marks_ps", mean(recent(flow.marks_ps)), "packets/s"))
    said = f"Its queues drop {shown(dropped)}" if dropped_ps else "Its queues drop nothing"
    return Loss(way, "here", f"{said} at {rate(flow.rate_bps)}.", tuple(numbers))


def _beside(way: Way, where: Where, measured: Measured, is_near: bool) -> Loss:
    """Before or after the router, of TCP that was seen in passing; and what the port's card counts as broken,
    of all its packets."""
    port = measured.access if is_near else measured.uplink
    found = measured.lost.get(way)
    why = lost.unknown(found, where)
    text, numbers = f"Not known: {why}.", tuple[Number, ...]()
    if found is not None and not why:
        numbers = lost.numbers(found, where)
        side = lost.SIDES[lost.side_of(way, where)]
        text = f"{percent(lost.share(found, where))} of its TCP is lost {side}."
    read = [link for link in port.links if link.errors is not None]
    if read:
        errors = sum(link.errors or 0 for link in read)
        names = ", ".join(link.name for link in read)
        text += f" The card counted {counted(errors, 'error')} on {names}, of all customers together."
    return Loss(way, where, text, numbers)
