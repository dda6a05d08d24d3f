# SPDX-License-Identifier: Apache-2.0
"""What the router lets in before any rule of people's: itself, and to its management and to its DHCP servers
for relay agents only who may reach them.

The zones `lan` and `open` have no rules of their own for what comes to the router, and a rule of people's may
accept anything. So who is none of the sources is dropped before them (docs/adr/0247, docs/adr/0249).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from weir.kinds.certificate import Certificate
from weir.kinds.management import Management
from weir.kinds.zone import CHALLENGE_PORT, MANAGEMENT_PORTS
from weir.model.document import Document
from weir.parts.dhcp import questions_of_relays
from weir.parts.filter import OUTGOING
from weir.parts.rule import BEFORE_TRACKING, FIXED_COUNTERS, PacketRule, from_sources

LOOPBACK = "lo"
MANAGED_BY = "management/management"
REFUSED = f"{FIXED_COUNTERS}management"
"""The counter of what came from elsewhere."""
REFUSED_DHCP = f"{FIXED_COUNTERS}dhcp_relays"
_CHAIN = "management"
_RELAYS_CHAIN = "dhcp_relays"


def admitted(document: Document, own: Iterable[PacketRule]) -> Iterator[PacketRule]:
    """The rules to stand first; `own` are those that people configured. nginx asks the API on loopback, and
    so does the command line of a session by SSH: no rule cuts them off."""
    guards = [*_management(document), *_relay_agents(document)]
    chains = {rule.chain for rule in own} | {rule.chain for rule in guards}
    to_itself = PacketRule("input", "accept", "what the router sends to itself")
    if BEFORE_TRACKING in chains:
        yield from _seen_before(document, to_itself)
    if "input" in chains:
        yield replace(to_itself, in_interfaces=(LOOPBACK,))
    if OUTGOING in chains:
        yield replace(to_itself, chain=OUTGOING, out_interfaces=(LOOPBACK,))
    yield from guards


def _seen_before(document: Document, to_itself: PacketRule) -> Iterator[PacketRule]:
    """What the rules before tracking have no say in: packets that enter by a VRF met them by its interface
    already, and meet them once more by its master, as does what the router sends to itself in it."""
    yield replace(to_itself, chain=BEFORE_TRACKING, in_interfaces=(LOOPBACK,))
    masters = tuple(sorted(item.id for item in document.interfaces() if item.vrf_table is not None))
    if masters:
        what = "packets of VRFs, which were here by their interfaces"
        yield PacketRule(BEFORE_TRACKING, "accept", what, masters)


def sources_of(rules: Iterable[PacketRule]) -> Sequence[str]:
    """The networks that management is bounded to by these rules; none: it is not."""
    return [text for rule in rules if rule.made_by == MANAGED_BY for text in rule.sources]


def _management(document: Document) -> Iterator[PacketRule]:
    sources = document.single(Management).sources
    if not sources:
        return
    is_asked = any(item.type == "acme" for item in document.every(Certificate))
    ports = tuple(port for port in MANAGEMENT_PORTS if not (is_asked and port == CHALLENGE_PORT))
    rule = PacketRule("input", "jump", "web interface and API", protocol="tcp", made_by=MANAGED_BY)
    yield replace(rule, ports=ports, target=_CHAIN)
    inner = replace(rule, chain=_CHAIN, protocol="")
    yield from from_sources(replace(inner, verdict="return"), sources)
    text = "web interface and API from elsewhere"
    yield replace(inner, verdict="drop", comment=text, counter=REFUSED)


def _relay_agents(document: Document) -> Iterator[PacketRule]:
    """To the servers that relay agents ask only what comes from theirs. What is dropped is counted as the
    first server's."""
    rules = list(questions_of_relays(document))
    if not rules:
        return
    asked = tuple(dict.fromkeys(address for rule in rules for address in rule.destinations))
    first = rules[0]
    yield replace(
        first,
        verdict="jump",
        comment="DHCP of relay agents",
        sources=(),
        destinations=asked,
        target=_RELAYS_CHAIN,
    )
    for rule in rules:
        yield replace(rule, chain=_RELAYS_CHAIN, verdict="return", ports=(), protocol="")
    yield replace(
        first,
        chain=_RELAYS_CHAIN,
        verdict="drop",
        comment="DHCP of relay agents from elsewhere",
        sources=(),
        destinations=(),
        family=0,
        ports=(),
        protocol="",
        counter=REFUSED_DHCP,
    )
