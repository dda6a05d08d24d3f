# SPDX-License-Identifier: Apache-2.0
"""Packets that the router dropped in a span of time, by owner: what was received and not sent again
(docs/adr/0211)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from weir.model.problem import Problem, Unavailable
from weir.stats.drop_book import REST, DropBook, Owner
from weir.wire.client import AgentClient

Json = dict[str, Any]
PERIOD_S = 60.0
RETRY_S = 5.0
LISTED = 200
REASONS = {
    "limit": "over its limit",
    "early": "early, to keep waits short",
    "above": "a queue above, or the limit of both directions, was full",
    "tree": "the queue of its class was full (HTB)",
    "drop": "dropped by rule",
    "reject": "rejected by rule",
    "f_wan_router": "unasked from a WAN to the router",
    "f_wan_through": "unasked from a WAN to what is behind",
    "f_no_zone": "to or from an interface without a zone",
    "full-queue": "a new connection of a queue that is full",
    "connections-per-source": "its source has too many connections",
    "impossible-source": "a source that no host has",
    "wrong-way": "the way back to its source is another interface",
    "bounded": "more packets than its source may send",
    "refused": "in no queue, where only what is in one is forwarded",
    "deep-tags": "more than eight VLAN tags",
    "unreadable": "came in so that no customer could be told",
    "not-taken": "the device did not take what XDP sent",
    "rx-dropped": "the kernel or the driver dropped it on arrival, or nobody asks for its protocol",
    "tx-dropped": "the device dropped it while sending",
    "qdisc": "the interface's own queue was full",
    "header": "TTL was over, or the header was wrong",
    "address": "an address that may not be in a packet",
    "discarded": "the network stack had no room, or could not send it",
    "no-route": "no route leads there",
    "too-large": "larger than the MTU, and may not be fragmented",
    "reverse-path": "the kernel found another way back to its source",
    "rest": "by owners that are not listed",
}
NOT_COUNTED = (
    "packets for a neighbor that does not answer",
    "packets that a blackhole or prohibit route drops",
    "packets lost in a socket of the router's own programs",
    "packets that a card lost and its driver does not report",
    "packets that wait in a queue now",
)
"""By the kernel or by us: packets can be missing that no counter has."""


class DropsService:
    """Thread-safe. The statistics' thread calls `tick`."""

    def __init__(self, agent: AgentClient, of_queues: Callable[[], dict[Owner, int]]) -> None:
        self._agent = agent
        self._of_queues = of_queues
        self._lock = threading.Lock()
        self._book = DropBook()
        self._unseen: dict[str, str] = {}
        self._due = 0.0

    def tick(self) -> None:
        """Once a minute, take a reading."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + RETRY_S
        try:
            self._take()
        except Problem:
            return  # the figures say already that the agent is away
        self._due = time.monotonic() + PERIOD_S

    def _take(self) -> None:
        with self._lock:
            answer = self._agent.call("drops")
            counted: dict[Owner, int] = {}
            within = []
            for kind, name, reason, at, packets, is_within in answer["counted"]:
                owner = Owner(kind, name, reason, at=at)
                counted[owner] = packets
                if is_within:
                    within.append(owner)
            self._unseen = answer["unseen"]
            is_whole = not self._unseen
            self._book.take(counted, within, self._of_queues(), time.time(), is_whole=is_whole)

    def counted(self) -> tuple[float, int]:
        """When the last reading was (Unix seconds; 0: none was), and how many packets were dropped since the
        first one."""
        with self._lock:
            return self._book.ended, self._book.total

    def since(self, minutes: int) -> Json:
        """The answer of `diagnosis/drops`, up to this moment. Raises `Unavailable`."""
        self._take()
        with self._lock:
            found = self._book.since(time.time() - minutes * 60)
            unseen = dict(self._unseen)
        if found is None:
            raise Unavailable("drops are not known yet: the counters were read once so far", code="starting")
        rest = found.packets.pop(REST, 0)
        total = found.packets.total() + rest
        listed = found.packets.most_common(LISTED)
        rest = total - sum(packets for _, packets in listed)
        items = [_item(owner, packets, total) for owner, packets in listed]
        return {
            "since_s": found.began,
            "until_s": found.ended,
            "packets": total,
            "items": items,
            "rest_packets": rest,
            "unseen": [{"id": name, "reason": why} for name, why in unseen.items()],
            "not_counted": list(NOT_COUNTED),
        }


def _item(owner: Owner, packets: int, total: int) -> Json:
    return {
        "kind": owner.kind,
        "id": owner.id,
        "reason": owner.reason,
        "text": REASONS.get(owner.reason, owner.reason),
        "way": owner.way or None,
        "interface": owner.at or None,
        "packets": packets,
        "share": round(packets / total, 4),
    }
