# SPDX-License-Identifier: Apache-2.0
"""The machine as an appliance: factory reset and power. Fixed requests, never paths or commands."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from weir.model.problem import Conflict, Invalid, Unsupported
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

Mode = Literal["keep", "wipe"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What is done to the machine, and `data`: the state of its data partition, None without one."""

    data: Callable[[], dict[str, Any] | None]
    request_reset: Callable[[Mode], None]
    restart: Callable[[], None]
    power_off: Callable[[], None]


class Appliance:
    """`busy` says why the machine may not go down now, "" when it may."""

    def __init__(self, machine: Machine, busy: Callable[[], str]) -> None:
        self._machine = machine
        self._busy = busy

    def table(self) -> Mapping[str, Handler]:
        return {
            "factory_reset": self._reset,
            "power_off": self._power_off,
        }

    def _reset(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """The request is on the disk before the machine restarts; the start carries it out."""
        mode = params.get("mode")
        if mode not in ("keep", "wipe"):
            raise Invalid("a factory reset keeps or wipes", code="bad-request", path="mode")
        found = self._require()
        if found["state"] == "missing":
            raise Conflict("there is no data partition to reset", code="no-data-partition")
        if found["state"] == "damaged" and mode == "keep":
            raise Conflict(
                "nothing can be kept: the data partition is damaged; a reset that wipes recreates it",
                code="data-damaged",
            )
        log.warning("factory reset (%s), as asked by uid %d", mode, peer.uid)
        self._machine.request_reset(mode)
        self._machine.restart()
        return {"restarting": True}

    def _power_off(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        self._require()
        log.warning("switching off, as asked by uid %d", peer.uid)
        self._machine.power_off()
        return {"powering_off": True}

    def _require(self) -> dict[str, Any]:
        """Raises `Unsupported` on what is no appliance, `Conflict` while an update is written."""
        found = self._machine.data()
        if found is None:
            raise Unsupported("this system was not started from an image of Weir", code="no-image")
        reason = self._busy()
        if reason:
            raise Conflict(reason, code="update-running")
        return found
