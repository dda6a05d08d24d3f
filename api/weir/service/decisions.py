# SPDX-License-Identifier: Apache-2.0
"""Which rule decides about a packet: the question of somebody who wonders why a connection does not work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds.firewall_rule import RAW
from weir.model.address import parse_host, split_address
from weir.model.document import Document
from weir.model.frames import parse_mac
from weir.model.prefix import parse_prefix
from weir.model.problem import Invalid, NotFound, Problem
from weir.parts.admission import LOOPBACK
from weir.parts.decision import Members, Packet, Rules, Verdict, Walk, redirected, source_behind
from weir.parts.filter import OUTGOING
from weir.parts.firewall import FIREWALL
from weir.parts.rule import PacketRule
from weir.service.configuration import ConfigService
from weir.service.deciders import Decider, configured_way, decider, mac_in_rules, names_in_rules, now_local
from weir.wire.client import AgentClient

INPUT, FORWARD, OUTPUT = "input", "forward", "output"


@dataclass(frozen=True, slots=True)
class Question:
    """Of the first packet of a connection, or of one in `state`. Interfaces are found out unless given. `at`
    is a local time of the router's as `2026-11-28T20:30`, None = now; of the others None = not known."""

    source: str
    destination: str
    protocol: str = "tcp"
    port: int = 0
    source_port: int | None = None
    source_mac: str | None = None
    dscp: int | None = None
    icmp_type: str = "echo-request"
    state: str = "new"
    in_interface: str | None = None
    out_interface: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`source` "" = an address of the interface by which it leaves. `translations` are what NAT did, `unsure`
    what only the kernel knows, `resting` the rules that would have matched at other hours than `at`."""

    revision: int
    chain: str
    verdict: Verdict
    decided_by: Decider
    in_interface: str | None
    out_interface: str | None
    source: str
    destination: str
    port: int
    translations: tuple[Decider, ...]
    unsure: tuple[str, ...]
    at: str
    resting: tuple[Decider, ...]


LOCAL_TIME = "%Y-%m-%dT%H:%M"


def _verdict(found: PacketRule | None) -> Verdict:
    if found is None or found.verdict not in ("drop", "reject"):
        return "accept"
    return "drop" if found.verdict == "drop" else "reject"


def _time_of(text: str) -> datetime:
    try:
        return datetime.strptime(text, LOCAL_TIME)
    except ValueError as error:
        said = f"{text!r} is no local time such as 2026-11-28T20:30"
        raise Invalid(said, code="bad-time", path="at") from error


def _mac_of(text: str) -> str:
    try:
        return parse_mac(text)
    except Invalid as error:
        raise Invalid(error.message, code=error.code, path="source_mac") from error


MAX_LISTED = 5000
"""Of one answer."""


@dataclass(frozen=True, slots=True)
class ListedRule:
    """`packets` and `bytes` that matched since its counter was made; None: it has none, or nobody knows."""

    chain: str
    decider: Decider
    packets: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules by chain, in the order in which packets meet them, with what made each; `total` there are.
    `uncounted` says why the counters are not known, "" = they are."""

    revision: int
    rules: tuple[ListedRule, ...]
    total: int
    uncounted: str


class DecisionService:
    def __init__(self, config: ConfigService, agent: AgentClient) -> None:
        self._config = config
        self._agent = agent
        self._known: tuple[int, Rules] | None = None

    @requires("config.read")
    def decide(self, by: Principal, asked: Question) -> Decision:
        """What the running configuration does with such a packet. Raises `Invalid` for what is no address,
        and where an interface has to be given because the configuration does not say it."""
        with self._config.at_head(by) as (revision, document):
            return _Way(document, self.rules(revision, document), asked).decide(revision)

    def rules(self, revision: int, document: Document) -> Rules:
        """The rules of the running configuration, as they are walked through; compiled once a revision."""
        known = self._known
        if known is None or known[0] != revision:
            known = self._known = revision, Rules(FIREWALL.wanted(document), Members.of(document))
        return known[1]

    @requires("config.read")
    def ruleset(self, by: Principal, chain: str | None = None) -> Ruleset:
        """Every rule of the running configuration, or of one chain: also those that the policy, zones, NAT
        and services add to what was typed. Raises `NotFound` for a chain that there is not."""
        with self._config.at_head(by) as (revision, document):
            rules = FIREWALL.wanted(document)
        chains = list(dict.fromkeys(rule.chain for rule in rules))
        if chain is not None and chain not in chains:
            text = f"there is no chain {chain!r} now; there are {', '.join(chains) or 'none'}"
            raise NotFound(text, code="unknown-chain", path="chain")
        asked = [rule for rule in rules if chain in (None, rule.chain)]
        ordered = sorted(asked, key=lambda rule: chains.index(rule.chain))
        counters, uncounted = self._counters()
        listed = tuple(
            ListedRule(rule.chain, decider(rule, rule.chain), *counters.get(rule.counter, (None, None)))
            for rule in ordered[:MAX_LISTED]
        )
        return Ruleset(revision, listed, len(ordered), uncounted)

    def _counters(self) -> tuple[Mapping[str, tuple[int, int]], str]:
        """Packets and bytes by counter; and why they are not known, "" = they are."""
        try:
            return self._agent.call("rule_counters")["counters"], ""
        except Problem as problem:
            return {}, problem.message


class _Way:
    """One packet's way through the chains."""

    def __init__(self, document: Document, rules: Rules, asked: Question) -> None:
        self._document, self._rules = document, rules
        self._asked = replace(
            asked, source=parse_host(asked.source), destination=parse_host(asked.destination)
        )
        self._own = {
            split_address(text)[0]: item.id for item in document.interfaces() for text in item.addresses
        }
        self._walk = Walk()
        self._translations: list[Decider] = []
        self._at = now_local() if asked.at is None else _time_of(asked.at)
        self._mac = None if asked.source_mac is None else _mac_of(asked.source_mac)

    def decide(self, revision: int) -> Decision:
        packet = self._packet()
        is_sent = packet.source in self._own and self._asked.in_interface is None
        came = None if is_sent else self._arrives()
        mac = mac_in_rules(self._document, came, self._mac)
        packet = replace(packet, in_names=self._names(came), mac=mac)
        if came is not None:
            dropped, packet = self._rules.before_tracking(packet, self._walk)
            if dropped is not None:
                return self._decision(revision, RAW, dropped, (came, None), packet, packet.source)
        is_translated = packet.state != "untracked"
        if came is not None and is_translated:
            packet = self._redirected(packet, came)
        leaves = None if packet.to_router else self._leaves(packet.destination)
        is_own = is_sent and packet.to_router
        packet = replace(packet, out_names=frozenset((LOOPBACK,)) if is_own else self._names(leaves))
        chain = OUTPUT if is_sent else INPUT if packet.to_router else FORWARD
        found = self._rules.decide(OUTGOING if is_sent else chain, packet, self._walk)
        source = packet.source
        if leaves is not None and is_translated and _verdict(found) == "accept":
            behind = self._rules.decide("postrouting", packet, self._walk)
            source = source_behind(packet, behind)
            self._translated(behind)
        return self._decision(revision, chain, found, (came, leaves), packet, source)

    def _decision(
        self,
        revision: int,
        chain: str,
        found: PacketRule | None,
        ways: tuple[str | None, str | None],
        packet: Packet,
        source: str,
    ) -> Decision:
        return Decision(
            revision,
            chain,
            _verdict(found),
            decider(found, chain),
            *ways,
            source,
            packet.destination,
            packet.port,
            tuple(self._translations),
            tuple(self._walk.unsure),
            self._at.strftime(LOCAL_TIME),
            tuple(decider(rule, chain) for rule in self._walk.resting),
        )

    def _packet(self) -> Packet:
        asked = self._asked
        families = {parse_prefix(text).family for text in (asked.source, asked.destination)}
        if len(families) != 1:
            text = "the source and the destination must be of one address family"
            raise Invalid(text, code="family-mismatch", path="destination")
        family = families.pop()
        protocol = "icmpv6" if asked.protocol == "icmp" and family == 6 else asked.protocol
        return Packet(
            6 if family == 6 else 4,
            asked.source,
            asked.destination,
            protocol,
            asked.port,
            asked.icmp_type if asked.protocol == "icmp" else "",
            state=asked.state,
            source_port=asked.source_port,
            dscp=asked.dscp,
            to_router=asked.destination in self._own,
            at=self._at,
        )

    def _redirected(self, packet: Packet, came: str) -> Packet:
        rule = self._rules.decide("prerouting", packet, self._walk)
        if rule is None:
            return packet
        self._translated(rule)
        item = self._document.interface(came)
        addresses = (split_address(text)[0] for text in (item.addresses if item is not None else ()))
        own = next((text for text in addresses if parse_prefix(text).family == packet.family), "")
        if rule.verdict == "redirect" and not own:
            text = f"{came} has no configured address, so it is not known where the packet is redirected to"
            raise Invalid(text, code="unknown-way", path="in_interface")
        return redirected(packet, rule, own)

    def _translated(self, rule: PacketRule | None) -> None:
        if rule is not None:
            self._translations.append(decider(rule, ""))

    def _arrives(self) -> str:
        asked = self._asked
        return self._given("in_interface") or self._way(asked.source, "in_interface", "arrives")

    def _leaves(self, destination: str) -> str:
        return self._given("out_interface") or self._way(destination, "out_interface", "leaves")

    def _given(self, field: str) -> str | None:
        name: str | None = getattr(self._asked, field)
        item = None if name is None else self._document.interface(name)
        if name is not None and item is None:
            text = f"no interface {name!r} is configured"
            raise Invalid(text, code="unknown-interface", path=field)
        if item is not None and item.disabled:
            text = f"{name} is disabled: nothing comes or leaves by it"
            raise Invalid(text, code="interface-disabled", path=field)
        return name

    def _way(self, address: str, field: str, does: str) -> str:
        found = configured_way(self._document, address)
        if found is not None:
            return found
        text = f"the configuration does not say by which interface a packet {does} for {address}: give it"
        raise Invalid(text, code="unknown-way", path=field)

    def _names(self, interface: str | None) -> frozenset[str]:
        return names_in_rules(self._document, interface)
