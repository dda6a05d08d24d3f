# SPDX-License-Identifier: Apache-2.0
"""How many packets were dropped, by whom and why: all counters but those of queues, which the API reads
itself (docs/adr/0211)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from weir.adapters import connection_limits, drop_counters
from weir.adapters.datapath_records import PortCounters
from weir.adapters.netlink import Links
from weir.adapters.nft_commands import TABLE
from weir.agent.configuration import Configuration
from weir.backends.bounded_sources import Dropped
from weir.model.problem import Problem
from weir.parts.firewall import FIREWALL
from weir.parts.rule import PacketRule
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)
_CHECKS = ("impossible-source", "wrong-way", "refused")
_UNREAD = ("deep-tags", "unreadable")
_VERDICTS = ("drop", "reject")


class Counted(NamedTuple):
    """Packets that something dropped since its counter was made. `at` is the interface, "" = none or any.
    `within`: the qdisc of the same interface has counted them as well."""

    kind: str
    id: str
    reason: str
    at: str
    packets: int
    within: bool = False


class CountsPorts(Protocol):
    """The part of `Datapath` that is asked here."""

    def port_counters(self) -> dict[str, PortCounters]: ...


class Drops:
    """Reads for each answer; nothing is remembered."""

    def __init__(
        self,
        configuration: Configuration,
        datapath: CountsPorts,
        links: Links,
        of_bounded: Callable[[], Iterator[Dropped]],
    ) -> None:
        self._configuration = configuration
        self._datapath = datapath
        self._links = links
        self._of_bounded = of_bounded

    def table(self) -> dict[str, Handler]:
        return {"drops": self._answer, "tree_drops": self._tree, "rule_counters": self._of_rules}

    def _of_rules(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Packets and bytes of the firewall's named counters. Raises `Unavailable`, `ApplyFailed`."""
        return {"counters": drop_counters.of_rules(TABLE)}

    def _answer(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """What could not be asked is in `unseen`, with the reason; the rest goes on."""
        asked: dict[str, Callable[[], Iterator[Counted]]] = {
            "rules": self._rules,
            "connections": _connections,
            "interfaces": self._interfaces,
            "ports": self._ports,
            "bounded sources": self._bounded,
            "qdiscs": self._qdiscs,
            "stack": _stack,
        }
        found: list[Counted] = []
        unseen: dict[str, str] = {}
        for name, look in asked.items():
            try:
                found += look()
            except Problem as problem:
                log.info("drops of %s are not known: %s", name, problem.message)
                unseen[name] = problem.message
        return {"counted": found, "unseen": unseen}

    def _tree(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Of each class whose queue in an HTB tree dropped packets since it was made: port, slot, direction
        (0 is upload), packets. Raises `Unavailable`."""
        running = self._configuration
        with running.lock:
            ports = running.compiled.shaping.ports if running.loaded else {}
        found = [
            (name, slot, 0 if ports[name].role == "wan" else 1, packets)
            for name, drops in drop_counters.of_qdiscs().items()
            for slot, packets in drops.leaves.items()
            if packets and name in ports
        ]
        return {"dropped": found}

    def _rules(self) -> Iterator[Counted]:
        """Of rules that drop or reject; one that becomes several in the kernel has one counter."""
        running = self._configuration
        if not running.loaded:
            return
        rules = running.compiled.of(FIREWALL)
        owners = {rule.counter: rule for rule in rules if rule.counter and rule.verdict in _VERDICTS}
        counted = drop_counters.of_rules(TABLE) if owners else {}
        for name, rule in owners.items():
            yield Counted(*_owner(rule), "", counted[name].packets if name in counted else 0)

    def _interfaces(self) -> Iterator[Counted]:
        """What the kernel's own counters of a device say."""
        for name, link in self._links.links().items():
            if link.kind != "loopback":
                for way in ("rx", "tx"):
                    yield Counted("interface", name, f"{way}-dropped", name, link.counters[f"{way}_dropped"])

    def _ports(self) -> Iterator[Counted]:
        """What our programs dropped that belongs to no queue."""
        for name, counters in self._datapath.port_counters().items():
            for check in _CHECKS:
                yield Counted("interface", name, check, name, counters.checked_packets.get(check, 0))
            for reason in _UNREAD:
                yield Counted("interface", name, reason, name, counters.packets.get(reason, 0))
            yield Counted("interface", name, "not-taken", name, counters.refused)

    def _bounded(self) -> Iterator[Counted]:
        for found in self._of_bounded():
            if found.id:
                yield Counted("bounded-source", found.id, "bounded", "", found.packets)
            else:
                yield Counted("router", "router", "bounded", "", found.packets)

    def _qdiscs(self) -> Iterator[Counted]:
        """Of an HTB tree, the leaves are the queues'."""
        running = self._configuration
        with running.lock:
            classes = running.compiled.shaping.classes if running.loaded else {}
        for name, drops in drop_counters.of_qdiscs().items():
            yield Counted("interface", name, "qdisc", name, drops.root)
            for slot, packets in drops.leaves.items():
                spec = classes.get(slot)
                if spec is not None:
                    yield Counted("queue", spec.queue_id, "tree", name, packets, within=True)


def _connections() -> Iterator[Counted]:
    full, sources = connection_limits.refused_packets()
    yield Counted("firewall", "firewall", "full-queue", "", full)
    yield Counted("firewall", "firewall", "connections-per-source", "", sources)


def _stack() -> Iterator[Counted]:
    for reason, packets in drop_counters.of_stack().items():
        yield Counted("router", "router", reason, "", packets)


def _owner(rule: PacketRule) -> tuple[str, str, str]:
    """Kind and id of the object whose rule it is, and why it drops."""
    if rule.is_configured:
        return "firewall-rule", rule.comment, rule.verdict
    kind, _, name = rule.made_by.partition("/")
    if name:
        return kind, name, rule.verdict
    return "firewall", "firewall", rule.counter
