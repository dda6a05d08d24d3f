# SPDX-License-Identifier: Apache-2.0
"""The share controller, kept informed of which classes may burst.

Guarantees and priorities it reads from the classes themselves; bursts live in this process only, so they
are told again at every start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from weir.adapters.share_controller import HostRate, ShareState
from weir.compiler import ClassSpec, ClockSpec, Compiled, Plan

_WAYS: tuple[tuple[Literal[0, 1], str], ...] = ((0, "upload"), (1, "download"))
_NEVER = (0, 0, 0)


class Controller(Protocol):
    """The part of `ShareController` that is used here."""

    def set_burst(
        self, slot: int, direction: Literal[0, 1], limit_bps: int, threshold_bps: int, time_ms: int
    ) -> None: ...
    def is_lent(self, slot: int, direction: Literal[0, 1]) -> bool: ...
    def hosts(self, slot: int, direction: Literal[0, 1], most: int) -> list[HostRate]: ...
    def state(self) -> ShareState: ...


class Sharing:
    """Called under the configuration's lock, after the kernel holds what the plan says."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def reset(self, compiled: Compiled) -> None:
        """Every class that bursts, at a start."""
        for spec in compiled.shaping.classes.values():
            self._tell(spec, ((0, _NEVER), (1, _NEVER)))

    def follow(self, plan: Plan) -> None:
        """The classes that a plan touched, and only where their bursts differ."""
        classes = plan.shaping.classes
        for old, new in classes.set:
            if old is not None and old.slot != new.slot:
                self._forget(old)
                old = None
            self._tell(new, ((way, _burst(old, name)) for way, name in _WAYS))
        for spec in classes.removed:
            self._forget(spec)

    def is_lent(self, slot: int, way: Literal[0, 1]) -> bool:
        """Whether one direction of a class has another rate than its own at the moment."""
        return self._controller.is_lent(slot, way)

    def busiest(self, slot: int, way: Literal[0, 1], most: int) -> list[dict[str, Any]]:
        """The sub-queues of one direction that send most now, the most first."""
        return [
            {"address": None if host.address is None else host.address.text, "rate_bps": host.rate_bps}
            for host in self._controller.hosts(slot, way, most)
        ]

    def to_json(self) -> dict[str, Any]:
        """Figures of the controller's last round, for `status`."""
        state = self._controller.state()
        return {
            "active_lines": state.active_lines,
            "short_trees": state.short_trees,
            "lent_lines": state.lent_lines,
            "bursting_lines": state.bursting_lines,
            "tick_us": state.tick_us,
            "error": state.error,
        }

    def _tell(self, spec: ClassSpec, known: Iterable[tuple[Literal[0, 1], tuple[int, int, int]]]) -> None:
        for way, before in known:
            burst = _burst(spec, _WAYS[way][1])
            if burst != before:
                self._controller.set_burst(spec.slot, way, *burst)

    def _forget(self, spec: ClassSpec) -> None:
        for way, name in _WAYS:
            if _burst(spec, name) != _NEVER:
                self._controller.set_burst(spec.slot, way, *_NEVER)


def _burst(spec: ClassSpec | None, way: str) -> tuple[int, int, int]:
    if spec is None:
        return _NEVER
    clock: ClockSpec = getattr(spec, way)
    return clock.burst_limit_bps, clock.burst_threshold_bps, clock.burst_time_ms
