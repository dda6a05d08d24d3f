# SPDX-License-Identifier: Apache-2.0
"""Firewall rules, which apply in their order within a chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from weir.fields import (
    INTERFACE_NAMES,
    OBJECT_IDS,
    Choice,
    Comment,
    Flag,
    Hours,
    Label,
    Many,
    Ports,
    Position,
    Prefix,
    Ref,
    Text,
    When,
    Whole,
    Word,
)
from weir.kinds.declaration import Declaration
from weir.kinds.sets import Set
from weir.model import limits
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import WIDTH, parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, caused_by, differs, error, own, warning
from weir.model.schedule import TimeWindow, window_text

_KIND = "firewall-rule"
BUILT_IN = ("input", "forward", "output")
STATES = ("new", "established", "related", "invalid", "untracked")
ICMP_TYPES = (
    "echo-request",
    "echo-reply",
    "destination-unreachable",
    "time-exceeded",
    "parameter-problem",
    "redirect",
    "packet-too-big",
    "nd-router-solicit",
    "nd-router-advert",
    "nd-neighbor-solicit",
    "nd-neighbor-advert",
)
ONLY_4, ONLY_6 = frozenset({"redirect"}), frozenset({"packet-too-big", *ICMP_TYPES[7:]})
MAX_PREFIXES = 64
_WITH_PORTS = When("protocol", ("tcp", "udp", "tcp-udp", "sctp"))
_PROTOCOLS = ("any", "tcp", "udp", "tcp-udp", "sctp", "icmp", "gre", "esp", "ah", "ospf", "vrrp", "igmp")


def _set_ref(help_text: str, **said: Any) -> Ref:
    return Ref("set", help=help_text, **said)


@dataclass(frozen=True, slots=True)
class FirewallRule(ConfigObject):
    """What some packets match, and what becomes of them; an empty field matches any packet."""

    kind: ClassVar[Kind] = _KIND
    id: str
    chain: Annotated[
        str,
        Label(
            help="input: packets to the router; forward: packets through it; output: packets from it. Any "
            "other name is a chain of your own, to which rules jump.",
            example="forward",
        ),
    ]
    action: Annotated[
        str,
        Choice(
            "accept",
            "drop",
            "reject",
            "jump",
            "return",
            "add-to-set",
            help="return continues after the jump; add-to-set continues with the next rule.",
        ),
    ]
    position: Annotated[
        int, Position("chain", help="Rules with smaller numbers come first.", importance="expert")
    ] = 0
    family: Annotated[str, Choice("any", "ipv4", "ipv6", help="Matches packets of this address family.")] = (
        "any"
    )
    in_interface: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            help="The interface by which packets arrive.",
            label="Incoming interface",
            when=When("chain", ("output",), unless=True),
        ),
    ] = None
    out_interface: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            help="The interface by which packets leave.",
            label="Outgoing interface",
            when=When("chain", ("input",), unless=True),
        ),
    ] = None
    source: Annotated[
        tuple[str, ...], Many(Prefix(), MAX_PREFIXES, help="Matches packets from these prefixes.")
    ] = ()
    source_set: Annotated[str | None, _set_ref("Matches packets whose source is in this set.")] = None
    destination: Annotated[
        tuple[str, ...], Many(Prefix(), MAX_PREFIXES, help="Matches packets to these prefixes.")
    ] = ()
    destination_set: Annotated[str | None, _set_ref("Matches packets whose destination is in this set.")] = (
        None
    )
    protocol: Annotated[str, Choice(*_PROTOCOLS, help="icmp stands for ICMP and ICMPv6.")] = "any"
    ports: Annotated[
        tuple[str, ...],
        Many(
            Ports(), limits.MAX_PORTS, help="Destination ports and ranges.", example="443", when=_WITH_PORTS
        ),
    ] = ()
    port_set: Annotated[str | None, _set_ref("A set of destination ports.", when=_WITH_PORTS)] = None
    service: Annotated[str | None, Ref("service", help="Use a service instead of a protocol and ports.")] = (
        None
    )
    icmp_types: Annotated[
        tuple[str, ...],
        Many(
            Word(*ICMP_TYPES),
            16,
            help="Matches these types of ICMP message.",
            when=When("protocol", ("icmp",)),
        ),
    ] = ()
    ct_state: Annotated[
        tuple[str, ...],
        Many(
            Word(*STATES),
            len(STATES),
            label="Connection state",
            help="new: the first packet of a connection. established and related: packets of known "
            "connections. invalid: packets of no connection.",
        ),
    ] = ()
    rate_per_s: Annotated[
        int | None,
        Whole(
            1,
            1_000_000,
            help="The rule matches at most this many packets per second. The next rules get the rest.",
        ),
    ] = None
    burst: Annotated[
        int,
        Whole(
            1,
            100_000,
            help="This many packets may come at once before the rate applies.",
            importance="folded",
        ),
    ] = 5
    time: Annotated[TimeWindow | None, Hours(of="rules")] = None
    jump_to: Annotated[
        str | None,
        Label(help="The chain where processing continues.", example="guests", when=When("action", ("jump",))),
    ] = None
    add_set: Annotated[
        str | None,
        _set_ref(
            "The dynamic set to which the source address is added.", when=When("action", ("add-to-set",))
        ),
    ] = None
    log: Annotated[bool, Flag(help="Write matching packets to the kernel's log.")] = False
    log_prefix: Annotated[str, Text(32, help="The first words of each line.", when=When("log", (True,)))] = ""
    log_per_s: Annotated[
        int, Whole(1, 1000, help="Write at most this many lines per second.", when=When("log", (True,)))
    ] = 10
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="A disabled rule is kept without any effect.")] = False

    def __hash__(self) -> int:
        """Thousands are looked up at each change of one, and there are not two of an id."""
        return hash(self.id)

    @property
    def name(self) -> str:
        return self.comment.partition("\n")[0][:40] or self.id


def chains_are_right(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """A jump leads to one of the user's that has rules."""
    if rule.action != "jump":
        if rule.jump_to:
            yield error("jump-without-action", rule, "jump_to", f"the action is {rule.action}, not jump")
    elif not rule.jump_to:
        yield error("bad-jump", rule, "jump_to", "a jump needs a chain to go to")
    elif rule.jump_to in BUILT_IN:
        text = f"packets enter {rule.jump_to} by themselves: name a chain of your own to jump to"
        yield error("bad-jump", rule, "jump_to", text)
    elif _returns_to_itself(view, rule):
        yield error("jump-loop", rule, "jump_to", f"chain {rule.jump_to} leads back to chain {rule.chain}")
    elif rule.jump_to not in _jumps(view):
        yield warning("empty-chain", rule, "jump_to", f"chain {rule.jump_to} has no rules")


@caused_by(_KIND)
def _itself_and_jumps(view: View, change: Change) -> Iterator[str]:
    """A rule that comes or goes, and one that leads elsewhere, matters to those that jump."""
    yield change.id
    if differs(change, "chain", "action", "jump_to") and view.once("jumps", change.kind):
        yield from (rule.id for rule in view.document.every(FirewallRule) if rule.action == "jump")


def _jumps(view: View) -> dict[str, set[str]]:
    """By chain, where its rules jump to."""

    def found() -> dict[str, set[str]]:
        jumps: dict[str, set[str]] = {}
        for rule in view.document.every(FirewallRule):
            targets = jumps.setdefault(rule.chain, set())
            if rule.action == "jump" and rule.jump_to:
                targets.add(rule.jump_to)
        return jumps

    result: dict[str, set[str]] = view.worked_out("jumps of firewall rules", found)
    return result


def _returns_to_itself(view: View, rule: FirewallRule) -> bool:
    jumps, seen, waiting = _jumps(view), set[str](), [rule.jump_to or ""]
    while waiting:
        chain = waiting.pop()
        if chain == rule.chain:
            return True
        if chain not in seen:
            seen.add(chain)
            waiting.extend(jumps.get(chain, ()))
    return False


def sets_fit(view: View, rule: FirewallRule) -> Iterator[Finding]:
    wanted = (
        ("source_set", ("address", "mac", "interface")),
        ("destination_set", ("address",)),
        ("port_set", ("port",)),
        ("add_set", ("address",)),
    )
    for field, types in wanted:
        item = view.document.get("set", getattr(rule, field) or "")
        if isinstance(item, Set) and item.type not in types:
            text = f"the set {item.id} holds type {item.type}; here it must be {' or '.join(types)}"
            yield error("wrong-type", rule, field, text)
        elif isinstance(item, Set) and field == "add_set" and item.source != "dynamic":
            yield error(
                "static-set",
                rule,
                field,
                f"the set {item.id} is static, and rules can add to dynamic sets only",
            )
    if (rule.add_set is None) == (rule.action == "add-to-set"):
        yield error("add-set", rule, "add_set", "add-to-set needs a set, and no other action has one")


def makes_sense(_view: View, rule: FirewallRule) -> Iterator[Finding]:
    if rule.service is not None and (rule.protocol != "any" or rule.ports or rule.port_set):
        yield error(
            "service-and-ports",
            rule,
            "service",
            "a service includes a protocol and ports: leave these fields empty",
        )
    if (rule.ports or rule.port_set) and rule.protocol not in _WITH_PORTS.values:
        yield error(
            "ports-without-protocol", rule, "ports", "ports need a protocol that has them, such as tcp"
        )
    if rule.icmp_types and rule.protocol != "icmp":
        yield error("icmp-types", rule, "icmp_types", "ICMP types need the protocol icmp")
    for field, chain in (("in_interface", "output"), ("out_interface", "input")):
        if getattr(rule, field) is not None and rule.chain == chain:
            yield error(
                "wrong-chain",
                rule,
                field,
                f"packets in the chain {chain} have no {field.replace('_', ' ')}: leave it out",
            )
    for values, name, other in (
        (rule.source, "source", rule.source_set),
        (rule.destination, "destination", rule.destination_set),
    ):
        if values and other is not None:
            yield error("prefixes-and-set", rule, name, "name prefixes or a set, not both")
    for name in _alien_prefixes(rule):
        yield error("family-mismatch", rule, name, f"none of these prefixes is an {rule.family} prefix")
    if rule.action == "return" and (rule.source_set or rule.destination_set or rule.log):
        yield error(
            "return-too-much",
            rule,
            "action",
            "a rule with the action return cannot have an address set or a log",
        )


def matches_something(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """A rule that no packet can match would be there and do nothing. That what it names is disabled is said
    of every reference."""
    if not families(rule) and not any(_alien_prefixes(rule)):
        text = "no packet can match: the prefixes and ICMP types belong to different address families"
        yield error("matches-nothing", rule, "family", text)
    item = view.document.get("set", rule.source_set or "")
    if isinstance(item, Set) and rule.chain == "output" and item.type in ("interface", "mac"):
        text = f"packets in the chain output have no incoming {item.type}: the set {item.id} cannot match"
        yield error("wrong-chain", rule, "source_set", text)


def families(rule: FirewallRule) -> set[int]:
    """Of the packets that can match."""
    found = {family for family in WIDTH if family_fits(rule, family)}
    for prefixes in (rule.source, rule.destination):
        if prefixes:
            found &= {parse_prefix(text).family for text in prefixes}
    if rule.icmp_types:
        found &= {family for family in WIDTH if icmp_types_of(rule, family)}
    return found


def icmp_types_of(rule: FirewallRule, family: int) -> tuple[str, ...]:
    """Those of its types that a family has."""
    return tuple(sorted(set(rule.icmp_types) - (ONLY_6 if family == 4 else ONLY_4)))


def _alien_prefixes(rule: FirewallRule) -> Iterator[str]:
    """The fields whose prefixes are all of another family than the rule: that is said of each."""
    for name, values in (("source", rule.source), ("destination", rule.destination)):
        if values and not any(family_fits(rule, parse_prefix(text).family) for text in values):
            yield name


def family_fits(rule: FirewallRule, family: int) -> bool:
    return rule.family in ("any", f"ipv{family}")


def locks_out(_view: View, rule: FirewallRule) -> Iterator[Finding]:
    nothing = FirewallRule(rule.id, rule.chain, rule.action)
    if rule.disabled or rule.chain != "input" or rule.action not in ("drop", "reject"):
        return
    matched = replace(
        rule,
        position=0,
        comment="",
        log=False,
        log_prefix="",
        log_per_s=10,
        burst=nothing.burst,
        time=None,
    )
    if matched == nothing:
        when = "" if rule.time is None else f" at {window_text(rule.time)}"
        text = (
            f"nobody can reach the router{when}, not even to sign in, "
            "unless a rule above accepts the connection"
        )
        yield warning("locks-out", rule, "action", text)


_COUNT = 2**63 - 1

KIND = Declaration(
    FirewallRule,
    singular="firewall rule",
    plural="firewall rules",
    short="rule",
    about="Rules for packets to, through and from the router, in their order.",
    ids=replace(OBJECT_IDS, assigned="f"),
    columns=(
        "chain",
        "action",
        "packets",
        "source",
        "source_set",
        "destination",
        "destination_set",
        "protocol",
        "ports",
        "service",
        "time",
        "comment",
    ),
    argument="rule_id",
    area="Firewall",
    purpose="Rules say which packets pass. They come before the fixed rules of the firewall's policy; the "
    "first that accepts, drops or rejects decides.",
    state={
        "packets": Whole(0, _COUNT, help="That matched since the rule was made or the router started."),
        "bytes": Whole(0, _COUNT, help="Of these packets."),
    },
    rules=(
        Rule("chains-are-right", _KIND, chains_are_right, _itself_and_jumps, True),
        Rule("sets-fit", _KIND, sets_fit, all_after(_KIND, "set"), True),
        Rule("makes-sense", _KIND, makes_sense, own(_KIND), True),
        Rule("matches-something", _KIND, matches_something, all_after(_KIND, "set"), True),
        Rule("locks-out", _KIND, locks_out, own(_KIND), False),
    ),
)
