# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows of one queue beyond its counters: its sub-queues by address."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, Protocol

from weir.adapters.datapath_records import Usage
from weir.adapters.subqueue_records import SubqueuesState
from weir.agent.engine import Engine
from weir.model.problem import NotFound

WAYS: tuple[tuple[str, Literal[0, 1]], ...] = (("upload", 0), ("download", 1))


class Knows(Protocol):
    """The part of `Datapath` that is asked here."""

    def usage(self) -> Usage: ...
    def subqueues_state(self, slot: int, direction: Literal[0, 1]) -> SubqueuesState: ...


def details_of(engine: Engine, datapath: Knows, queue_id: str) -> dict[str, Any]:
    """The answer of the method `details`. Raises `NotFound` for a queue that does not exist."""
    with engine.lock:
        if engine.document.queue(queue_id) is None:
            raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
        spec = engine.compiled.class_of(queue_id)
        used, bound = datapath.usage().subqueues
        ways = {name: _subqueues(datapath, spec.slot, way) if spec else None for name, way in WAYS}
    return {"subqueues": {"used": used, "bound": bound, **ways}}


def _subqueues(datapath: Knows, slot: int, way: Literal[0, 1]) -> dict[str, int] | None:
    """None where the queue has none."""
    try:
        return asdict(datapath.subqueues_state(slot, way))
    except NotFound:
        return None
