# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows of one queue beyond its counters: sub-queues by address, round trips and losses of
TCP."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any, Literal, Protocol

from weir.adapters.datapath_records import Losses, RoundTrips, RoundTripsBelow, Usage
from weir.adapters.subqueue_records import SubqueuesState
from weir.agent.configuration import Configuration
from weir.model.problem import NotFound

BUSIEST = 20
"""Sub-queues of one direction that are listed."""
RECENT_MS = 60_000
"""A round trip that is older says nothing about now."""
WAYS: tuple[tuple[str, Literal[0, 1]], ...] = (("upload", 0), ("download", 1))


class Knows(Protocol):
    """The part of `Datapath` that is asked here."""

    def usage(self) -> Usage: ...
    def subqueues_state(self, slot: int, direction: Literal[0, 1]) -> SubqueuesState: ...
    def round_trips(self, slot: int, direction: Literal[0, 1]) -> RoundTrips: ...
    def losses(self, slot: int, direction: Literal[0, 1]) -> Losses: ...
    def round_trips_below(self, slot: int, direction: Literal[0, 1], age_max_ms: int) -> RoundTripsBelow: ...


def details_of(configuration: Configuration, datapath: Knows, queue_id: str) -> dict[str, Any]:
    """The answer of the method `details`. Raises `NotFound` for a queue that does not exist."""
    with configuration.lock:
        if configuration.document.queue(queue_id) is None:
            raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
        spec = configuration.compiled.class_of(queue_id)
        used, bound = datapath.usage().subqueues
        slot = spec.slot if spec else None
        ways = {
            name: None if slot is None else _subqueues(configuration, datapath, slot, way)
            for name, way in WAYS
        }
        trips = {name: None if slot is None else _round_trip(datapath, slot, way) for name, way in WAYS}
        below = {name: None if slot is None else _below(datapath, slot, way) for name, way in WAYS}
        losses = {name: None if slot is None else _loss(datapath, slot, way) for name, way in WAYS}
    return {
        "losses": losses,
        "subqueues": {"used": used, "bound": bound, **ways},
        "round_trips": {**trips, "below": below},
    }


def _round_trip(datapath: Knows, slot: int, way: Literal[0, 1]) -> dict[str, float | int] | None:
    """None where nothing was seen lately."""
    found = datapath.round_trips(slot, way)
    if not found.samples_ns or found.age_ms > RECENT_MS:
        return None
    return {
        "min_us": min(found.samples_ns) / 1000,
        "median_us": median(found.samples_ns) / 1000,
        "samples": len(found.samples_ns),
        "age_s": found.age_ms / 1000,
    }


def _loss(datapath: Knows, slot: int, way: Literal[0, 1]) -> dict[str, float | int] | None:
    """None where nothing was seen lately."""
    found = asdict(datapath.losses(slot, way))
    age_ms = found.pop("age_ms")
    return {**found, "age_s": age_ms / 1000} if found["seen_bytes"] and age_ms <= RECENT_MS else None


def _below(datapath: Knows, slot: int, way: Literal[0, 1]) -> dict[str, float | int] | None:
    """Of the queues below that have a figure of their own; None where none has."""
    found = datapath.round_trips_below(slot, way, RECENT_MS)
    if not found.classes:
        return None
    return {
        "queues": found.classes,
        "min_us": found.least_ns / 1000,
        "median_us": found.median_ns / 1000,
        "age_s": found.age_ms / 1000,
    }


def _subqueues(
    configuration: Configuration, datapath: Knows, slot: int, way: Literal[0, 1]
) -> dict[str, Any] | None:
    """None where the queue has none."""
    try:
        found = asdict(datapath.subqueues_state(slot, way))
        return {**found, "busiest": configuration.sharing.busiest(slot, way, BUSIEST)}
    except NotFound:
        return None
