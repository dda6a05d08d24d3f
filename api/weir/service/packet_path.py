# SPDX-License-Identifier: Apache-2.0
"""What would the router do with this packet? The agent tells what the kernel knows, the compiled rules are
walked through as the kernel does (docs/adr/0204)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from weir.accounts.audit import AuditService
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.address import parse_host, split_address
from weir.model.document import Document
from weir.model.objects import Kind
from weir.model.prefix import parse_prefix
from weir.model.problem import Invalid, NotFound, Problem, Unavailable
from weir.parts.decision import Members, Rules
from weir.parts.firewall import FIREWALL
from weir.service import path_proof
from weir.service.candidates import CandidateService
from weir.service.configuration import ConfigService
from weir.service.deciders import configured_way
from weir.service.decisions import DecisionService
from weir.service.path_answers import PathAsked, Predicted, Proved
from weir.service.path_walk import Told, Walked, Way
from weir.service.stats import StatsService
from weir.wire.client import AgentClient

Json = dict[str, Any]
_OF_ROUTES = frozenset(
    (
        *("interface", "static-route", "uplink", "uplink-check", "wireguard-peer"),
        *("bgp", "bgp-neighbor", "ospf", "ospf-interface", "bfd-profile"),
        *("route-map", "route-map-entry", "prefix-list", "prefix-list-entry"),
    )
)
_FRAME_S = 15.0
"""A station that is asked for again is waited for for 4 s, and the first frame loads the programs."""
_OF_QUEUES = frozenset(("interface", "queue", "queue-type"))


@dataclass(frozen=True, slots=True)
class _Configured:
    """A configuration that is asked about; `changed` are the kinds of what is pending in it."""

    revision: int
    document: Document
    rules: Rules
    changed: frozenset[Kind]


class PathService:
    def __init__(
        self,
        agent: AgentClient,
        config: ConfigService,
        candidates: CandidateService,
        decisions: DecisionService,
        audit: AuditService,
    ) -> None:
        self._agent = agent
        self._audit = audit
        self._config = config
        self._candidates = candidates
        self._decisions = decisions

    @requires("config.read")
    def predict(self, by: Principal, stats: StatsService, asked: PathAsked) -> Predicted:
        """The line of one packet. Raises `Invalid` for what is no packet, and where an interface has to be
        given because nothing tells by which one it comes."""
        return self._foretold(by, stats, _checked(asked))[0]

    @requires("tools.run")
    def prove(self, by: Principal, stats: StatsService, asked: PathAsked) -> Proved:
        """Foretell, send a frame of that kind through the router, which is caught before it leaves, and
        compare. Raises as `predict`, `Invalid` (`not-provable`), `Conflict` (`proof-busy`,
        `connection-exists`) and `Unavailable`."""
        asked = path_proof.provable(_checked(asked))
        subject = f"{asked.source} to {asked.destination}"
        detail = json.dumps({key: value for key, value in asdict(asked).items() if value}, ensure_ascii=False)
        try:
            predicted, way = self._foretold(by, stats, asked)
            seen = None
            if path_proof.hindrance(predicted) is None:
                question = path_proof.question(asked, predicted, way)
                seen = self._agent.call("packet_prove", question, timeout_s=_FRAME_S)
        except Problem as problem:
            self._audit.record(by, "path.prove", subject, problem.code, detail)
            raise
        self._audit.record(by, "path.prove", subject, detail=detail)
        with self._configured(by, asked) as here:
            return path_proof.compared(here.rules, asked, predicted, way, seen)

    def _foretold(self, by: Principal, stats: StatsService, asked: PathAsked) -> tuple[Predicted, Way]:
        with self._configured(by, asked) as here:
            asked = _at_interface(here.document, asked)
        told = self._told(asked, asked.destination)
        if told.answer is not None and not told.answer["sent"] and told.answer["ingress"] is None:
            raise _unknown_way(f"no route leads back to {asked.source}")
        with self._configured(by, asked) as here:
            walked = Walked(here.document, here.rules, asked, _as_asked(here, asked, told))
            behind = walked.arrive()
        if behind.destination != asked.destination and told.answer is not None:
            again = self._told(asked, behind.destination, port=behind.port, told=told)
            with self._configured(by, asked) as here:
                walked.turn(_as_asked(here, asked, again))
        with self._configured(by, asked) as here:
            line = walked.leave(here.document, stats)
            found = Predicted(
                here.revision, asked.candidate, line.fate, line.sentence, tuple(line.steps), line.leaves
            )
            return found, walked.way

    @contextmanager
    def _configured(self, by: Principal, asked: PathAsked) -> Iterator[_Configured]:
        """Not held while the agent is asked. Of a candidate the rules are compiled each time."""
        if not asked.candidate:
            with self._config.at_head(by) as (revision, document):
                rules = self._decisions.rules(revision, document)
                yield _Configured(revision, document, rules, frozenset())
            return
        with self._candidates.as_staged(by) as (revision, document, changed):
            rules = Rules(FIREWALL.wanted(document), Members.of(document))
            yield _Configured(revision, document, rules, changed)

    def _told(
        self, asked: PathAsked, destination: str, port: int | None = None, told: Told | None = None
    ) -> Told:
        """By the agent; the reason where it does not answer."""
        interface = asked.in_interface
        if told is not None and told.answer is not None and told.answer["ingress"] is not None:
            interface = told.answer["ingress"]["name"]
        params = {
            "interface": interface,
            "sent": asked.from_router,
            "source": asked.source,
            "destination": destination,
            "first": asked.destination,
            "protocol": asked.protocol,
            "port": asked.port if port is None else port,
            "source_port": asked.source_port,
            "tos": asked.tos,
        }
        try:
            return Told(self._agent.call("packet_path", params), "")
        except (
            Unavailable,
            NotFound,
        ) as problem:  # not found: an agent of an earlier release has no such method
            return Told(None, problem.message)


def _checked(asked: PathAsked) -> PathAsked:
    source, destination = parse_host(asked.source), parse_host(asked.destination)
    families = {parse_prefix(text).family for text in (source, destination)}
    if len(families) != 1:
        text = "the source and the destination must be of one address family"
        raise Invalid(text, code="family-mismatch", path="destination")
    if asked.from_router and (asked.in_interface is not None or asked.vlan is not None):
        text = "a packet that the router sends itself comes in by no interface"
        raise Invalid(text, code="two-origins", path="from_router")
    if asked.vlan is not None and asked.in_interface is None:
        text = f"the tag {asked.vlan} is of frames on an interface: give it"
        raise Invalid(text, code="unknown-way", path="in_interface")
    protocol = "icmpv6" if asked.protocol == "icmp" and families == {6} else asked.protocol
    return replace(asked, source=source, destination=destination, protocol=protocol)


def _at_interface(document: Document, asked: PathAsked) -> PathAsked:
    """With the VLAN interface that takes the tag in the place of its port."""
    name = asked.in_interface
    if name is None:
        return asked
    item = document.interface(name)
    if item is None:
        raise Invalid(f"no interface {name!r} is configured", code="unknown-interface", path="in_interface")
    if item.disabled:
        text = f"{name} is disabled: nothing comes or leaves by it"
        raise Invalid(text, code="interface-disabled", path="in_interface")
    if asked.vlan is None:
        return asked
    for other in document.interfaces():
        vlan = other.vlan
        if vlan is not None and not other.disabled and (vlan.parent, vlan.id) == (name, asked.vlan):
            return replace(asked, in_interface=other.id, vlan=None)
    text = f"no interface takes frames with the tag {asked.vlan} on {name}: the router drops them"
    raise Invalid(text, code="unknown-vlan", path="vlan")


def _as_asked(here: _Configured, asked: PathAsked, told: Told) -> Told:
    """Of a candidate what the kernel says holds only for what it leaves as it is. Without the agent the
    configuration tells what it can."""
    routes, queues = (", ".join(sorted(here.changed & kinds)) for kinds in (_OF_ROUTES, _OF_QUEUES))
    text = "the candidate changes objects of the kind {}, and the kernel has only what runs"
    if told.answer is not None:
        if queues:
            told = replace(told, no_queues=text.format(queues))
        if not routes:
            return told
        told = replace(told, answer=None, reason=text.format(routes), came=told.came or _came(told.answer))
    document = here.document
    own = {split_address(each)[0] for item in document.interfaces() for each in item.addresses}
    is_sent = asked.from_router or (asked.in_interface is None and asked.source in own)
    came = asked.in_interface or told.came
    if not is_sent and came is None:
        came = configured_way(document, asked.source)
        if came is None:
            raise _unknown_way(f"the configuration does not say by which interface {asked.source} comes")
    return replace(told, sent=is_sent, came=None if is_sent else came)


def _came(answer: Json | None) -> str | None:
    if answer is None or answer["ingress"] is None:
        return None
    return str(answer["ingress"]["name"])


def _unknown_way(why: str) -> Invalid:
    return Invalid(f"{why}: give the interface that it comes in by", code="unknown-way", path="in_interface")
