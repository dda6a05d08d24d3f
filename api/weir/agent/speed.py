# SPDX-License-Identifier: Apache-2.0
"""What a speed test to a host has to know of the agent: which interface and which queue are on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weir.agent.configuration import Configuration
from weir.agent.torch import Seat
from weir.model.problem import Problem
from weir.model.tree import tightest_download
from weir.tools.iperf import Iperf

Json = dict[str, Any]
IN_A_VRF = "its queues are not known: it may be in a VRF"


class SpeedDesk:
    """Thread-safe. `line` tells of an address as `CustomerLine.line` does."""

    def __init__(self, configuration: Configuration, line: Callable[[Json], Json]) -> None:
        self._configuration = configuration
        self._line = line

    def seat(self, asked: Iperf) -> Seat:
        """The queue's limit is what the router sends to the host: what the host sends to the router itself is
        in no queue (docs/adr/0193)."""
        note = (
            "What comes from the host to the router itself is in no queue." if asked.direction != "to" else ""
        )
        return Seat(note, b"{}", (), self._ways)

    def _ways(self, addresses: Sequence[str]) -> Json:
        return {address: self._way(address) for address in addresses}

    def _way(self, address: str) -> Json:
        """A test goes on without it: `unknown` says what is not known of it."""
        way: Json = {"interface": None, "queue": None, "queue_id": None, "limit_bps": None, "unknown": None}
        try:
            told = self._line({"address": address})
        except Problem as problem:
            return {**way, "unknown": problem.message}
        if told["access"] is None:
            return {**way, "unknown": "no route leads to this address"}
        way["interface"] = told["access"]["interface"]
        if told["queue_id"] is None:
            return {**way, "unknown": IN_A_VRF if told["may_be_in_vrf"] else None}
        with self._configuration.lock:
            document = self._configuration.document
            queue = tightest_download(document, document.queue(told["queue_id"]))
        if queue is None:
            return way
        return {**way, "queue": queue.name, "queue_id": queue.id, "limit_bps": queue.max_limit_bps.download}
