# SPDX-License-Identifier: Apache-2.0
"""One packet's walk through the router: what the agent told, and the compiled rules, become steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from weir.kinds.firewall_rule import RAW
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.prefix import parse_prefix
from weir.parts.decision import Packet, Rules, Walk, redirected, source_behind
from weir.parts.filter import OUTGOING
from weir.parts.rule import PacketRule
from weir.service import path_routes, path_steps
from weir.service.deciders import configured_way, decider, mac_in_rules, names_in_rules, now_local
from weir.service.decisions import FORWARD, INPUT, OUTPUT
from weir.service.path_answers import Fate, Leaves, Line, PathAsked, Place, Step
from weir.service.stats import StatsService

Json = dict[str, Any]
_FATES: dict[str, Fate] = {INPUT: "delivered", FORWARD: "forwarded", OUTPUT: "sent"}


@dataclass(frozen=True, slots=True)
class Told:
    """The agent's answer, or why there is none that holds; then `sent` and `came` are by the configuration.
    `no_queues`: why its queues do not hold."""

    answer: Json | None
    reason: str
    no_queues: str = ""
    sent: bool = False
    came: str | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """What a packet was on its way to be: `destination` and `port` behind NAT of its destination, `source` as
    it leaves, "" = one that is not known; `leaves` the interface that its route names."""

    sent: bool
    came: str | None
    to_router: bool
    leaves: str | None
    source: str
    destination: str
    port: int


@dataclass(slots=True)
class _Walked(Line):
    fate: Fate = "unknown"
    sentence: str = ""
    leaves: Leaves | None = None


class Walked:
    """First `arrive`, where NAT changes the destination `turn`, then `leave`."""

    def __init__(self, document: Document, rules: Rules, asked: PathAsked, told: Told) -> None:
        self._document, self._rules, self._asked, self._told = document, rules, asked, told
        self._line = _Walked()
        self._walk = Walk()
        self._goes_on = True
        self._leaves: str | None = None
        self._source = asked.source
        self._is_sent = told.sent if told.answer is None else bool(told.answer["sent"])
        self._came = told.came if told.answer is None else _name(told.answer["ingress"])
        self._packet = Packet(
            6 if parse_prefix(asked.source).family == 6 else 4,
            asked.source,
            asked.destination,
            asked.protocol,
            asked.port,
            asked.icmp_type if asked.protocol in ("icmp", "icmpv6") else "",
            in_names=names_in_rules(document, self._came),
            mac=mac_in_rules(document, None if self._is_sent else self._came, None),
            source_port=asked.source_port or None,
            dscp=asked.tos >> 2,
            at=now_local(),
            state=asked.state,
            to_router=self._is_local(asked.destination),
        )

    def arrive(self) -> Packet:
        """Up to NAT of the destination; the packet behind it."""
        told, asked = self._told, self._asked
        if self._is_sent:
            self._add(Step("ingress", "passes", "The router sends it itself."))
        elif told.answer is None:
            text = f"It comes in by {self._came}, as far as the configuration says."
            self._add(Step("ingress", "unknown", text, "interface", self._came, not_known=(told.reason,)))
            text = f"What {self._came} checks of the source could not be looked at."
            self._add(Step("source", "unknown", text, not_known=(told.reason,)))
        else:
            how = "" if asked.in_interface else f"The way back to {asked.source} leaves by it."
            self._add(path_steps.ingress(self._document, told.answer["ingress"], how))
            self._add(path_steps.source(self._document, told.answer, asked.source))
        if not self._is_sent:
            self._queue_in()
            self._before_tracking()
            self._nat_in()
        return self._packet

    def turn(self, told: Told) -> None:
        """The agent's answer for the packet behind NAT."""
        self._told = told
        if not self._packet.to_router:
            self._packet = replace(self._packet, to_router=self._is_local(self._packet.destination))

    def leave(self, document: Document, stats: StatsService) -> _Walked:
        """From the route to the end of the line."""
        self._document = document
        leaves = self._leaves = self._route()
        self._packet = replace(self._packet, out_names=names_in_rules(document, leaves))
        chain = OUTPUT if self._is_sent else INPUT if self._packet.to_router else FORWARD
        verdict = self._firewall(chain)
        if self._goes_on and chain != INPUT:
            source = self._source = self._nat_out(leaves)
            self._send(leaves, source, stats)
        self._end(chain, verdict)
        return self._line

    @property
    def way(self) -> Way:
        """Once it has left."""
        packet = self._packet
        return Way(
            self._is_sent,
            self._came,
            packet.to_router,
            self._leaves,
            self._source,
            packet.destination,
            packet.port,
        )

    def _add(self, step: Step) -> None:
        """What is behind the end of the line is not told."""
        if self._goes_on:
            self._goes_on = self._line.add(step)

    def _queue_in(self) -> None:
        answer, why = self._told.answer, self._told.no_queues or self._told.reason
        if answer is None or self._told.no_queues:
            text = "The queue that it is in on arrival could not be looked at."
            self._add(Step("queue-in", "unknown", text, not_known=(why,)))
        elif answer["ingress"]["classifies"]:
            self._add(path_steps.queue_in(self._document, answer, self._asked.source))

    def _before_tracking(self) -> None:
        before = len(self._walk.unsure)
        found, self._packet = self._rules.before_tracking(self._packet, self._walk)
        unsure = tuple(self._walk.unsure[before:])
        if found is not None:
            text = f"The firewall drops it: {_words(found)}."
            self._add(_by(found, "firewall", "drops", text, unsure, RAW))

    def _nat_in(self) -> None:
        asked = self._asked
        if self._packet.state == "untracked":
            return
        if asked.state != "new":
            if self._rules.translate:
                why = f"a packet that is {asked.state} is translated as the first of its connection was"
                self._add(Step("nat-in", "unknown", "NAT by its connection.", not_known=(why,)))
            return
        rule = self._rules.decide("prerouting", self._packet, self._walk)
        if rule is None or rule.verdict not in ("dnat", "redirect"):
            return
        own = self._own_address()
        if rule.verdict == "redirect" and own is None:
            text = f"It is redirected to an address of {self._came}, which has none that is known."
            self._add(_by(rule, "nat-in", "unknown", text, ("where it goes",)))
            return
        self._packet = redirected(self._packet, rule, own or "")
        to = _with_port(self._packet.destination, self._packet.port)
        self._add(_by(rule, "nat-in", "changes", f"NAT sends it to {to} instead."))

    def _own_address(self) -> str | None:
        item = self._document.interface(self._came) if self._came else None
        held = [split_address(text)[0] for text in (item.addresses if item is not None else ())]
        found = next((text for text in held if parse_prefix(text).family == self._packet.family), None)
        if found is None and self._told.answer is not None and self._packet.family == 4:
            found = self._told.answer["ingress"]["address"]
        return found

    def _is_local(self, address: str) -> bool:
        if self._told.answer is not None:
            kind = (self._told.answer["route"] or {}).get("kind")
            return kind not in (None, "unicast")
        return any(
            split_address(text)[0] == address
            for item in self._document.interfaces()
            for text in item.addresses
        )

    def _route(self) -> str | None:
        """Adds its step; the interface that the packet leaves by."""
        packet, answer = self._packet, self._told.answer
        if packet.to_router:
            kind = "local" if answer is None else answer["route"]["kind"]
            self._add(path_routes.local(self._document, packet.destination, kind, addresses=True))
            return None
        if answer is None:
            found = configured_way(self._document, packet.destination)
            by = (
                f"by the configuration it would leave by {found}" if found else "the configuration has no way"
            )
            text = f"The kernel's route could not be looked at; {by}."
            kind = "interface" if found else None
            self._add(Step("route", "unknown", text, kind, found, not_known=(self._told.reason,)))
            return found
        route, egress = answer["route"], answer["egress"]
        if route is None or route["kind"] is None or egress is None:
            reason = (route or {}).get("reason") or "unreachable"
            came = self._came or "the router"
            self._add(path_routes.refused(self._document, reason, packet.source, packet.destination, came))
            return None
        self._add(path_routes.taken(self._document, route, egress["name"]))
        return str(egress["name"])

    def _firewall(self, chain: str) -> str:
        before = len(self._walk.unsure)
        found = self._rules.decide(OUTGOING if chain == OUTPUT else chain, self._packet, self._walk)
        unsure = tuple(self._walk.unsure[before:])
        if found is not None and found.verdict in ("drop", "reject"):
            words = "rejects it (the sender is told)" if found.verdict == "reject" else "drops it"
            self._add(
                _by(found, "firewall", "drops", f"The firewall {words}: {_words(found)}.", unsure, chain)
            )
            return found.verdict
        text = f"No rule of {chain} decides, and it passes."
        if found is not None:
            text = f"The firewall lets it pass: {_words(found)}."
        self._add(_by(found, "firewall", "passes", text, unsure, chain))
        return "accept"

    def _nat_out(self, leaves: str | None) -> str:
        """The source as the destination sees it; "" = one that is not known."""
        if leaves is None or self._packet.state != "new":
            return self._packet.source
        rule = self._rules.decide("postrouting", self._packet, self._walk)
        source = source_behind(self._packet, rule)
        if rule is None or source == self._packet.source:
            return source
        answer = self._told.answer
        if not source and rule.verdict == "masquerade" and answer is not None and answer["egress"]:
            source = answer["egress"]["address"] or ""
        what = source or ("an address of " + (leaves if rule.verdict == "masquerade" else rule.to))
        unsure = () if source else ("which address it is",)
        state = "passes" if source == self._packet.source else "changes"
        text = f"NAT makes {what} its source." if state == "changes" else f"NAT leaves its source, {source}."
        self._add(_by(rule, "nat-out", state, text, unsure))
        return source

    def _send(self, leaves: str | None, source: str, stats: StatsService) -> None:
        answer = self._told.answer
        if not self._goes_on:
            return
        if answer is None or leaves is None:
            text = "The next station, queues and the fast path could not be looked at."
            self._add(Step("egress", "unknown", text, not_known=(self._told.reason,)))
            return
        document, charged = self._document, answer["charged"]
        self._add(path_steps.neighbour(answer, leaves))
        self._add(path_steps.egress(document, answer, not self._is_sent))
        if self._told.no_queues:
            text = "The queue that limits it could not be looked at."
            self._add(Step("queue-out", "unknown", text, not_known=(self._told.no_queues,)))
        else:
            ids = [found["queue"] for found in charged]
            found = stats.queues(ids) if ids else {"items": [], "stale_reason": None}
            rows = {} if found["stale_reason"] else {row["id"]: row for row in found["items"]}
            for step in path_steps.queue_out(document, charged, answer["egress"]["mode"], rows):
                self._add(step)
        self._add(path_steps.fast_path(answer, self._asked.protocol, self._asked.state))
        if self._goes_on:
            hop, packet = answer["neighbour"]["address"], self._packet
            queues = () if self._told.no_queues else tuple(item["queue"] for item in charged)
            self._line.leaves = Leaves(leaves, hop, source, packet.destination, packet.port, queues)

    def _end(self, chain: str, verdict: str) -> None:
        line, last = self._line, self._line.steps[-1]
        unknown = next((step for step in line.steps if step.state == "unknown"), None)
        if unknown is not None:
            line.fate, line.leaves = "unknown", None
            line.sentence = f"Not known: {unknown.not_known[0] if unknown.not_known else unknown.sentence}."
            if last.state == "drops":
                line.sentence += f" As far as is known: {last.sentence}"
        elif last.state == "drops":
            line.fate = "rejected" if last.at == "firewall" and verdict == "reject" else "dropped"
            line.sentence = last.sentence
        else:
            line.fate = _FATES[chain]
            line.sentence = "It reaches the router itself." if chain == INPUT else self._leaving()

    def _leaving(self) -> str:
        found = self._line.leaves
        if found is None:
            return ""
        via = "" if found.next_hop in (None, found.destination) else f" via {found.next_hop}"
        source = "" if found.source == self._asked.source else f", with the source {found.source or 'of NAT'}"
        waits = any(step.state == "waits" for step in self._line.steps)
        but = f", once {found.next_hop} answers" if waits else ""
        to = _with_port(found.destination, found.port)
        return f"It leaves by {found.interface}{via} to {to}{source}{but}."


def _by(
    rule: PacketRule | None,
    at: Place,
    state: Any,
    text: str,
    not_known: tuple[str, ...] = (),
    chain: str = "",
) -> Step:
    """A step that a rule decided."""
    made = decider(rule, chain)
    details = () if rule is None else (made.text,)
    return Step(at, state, text, made.kind, made.id, details, not_known)


def _words(rule: PacketRule) -> str:
    return f"rule {rule.comment}" if rule.is_configured and not rule.nat else rule.comment


def _with_port(address: str, port: int) -> str:
    if not port:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _name(ingress: Json | None) -> str | None:
    return None if ingress is None else str(ingress["name"])
