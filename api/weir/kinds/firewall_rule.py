# SPDX-License-Identifier: Apache-2.0
"""Firewall rules, which apply in their order within a chain. What is refused of them: filter.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from weir.fields import (
    INTERFACE_NAMES,
    Choice,
    Comment,
    Flag,
    Group,
    Hours,
    Label,
    Mac,
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
from weir.kinds.negated import families_of, negated_field
from weir.kinds.source_limit import SourceLimit
from weir.model import limits
from weir.model.objects import ConfigObject, Kind
from weir.model.prefix import WIDTH
from weir.model.schedule import TimeWindow
from weir.model.zones import BUILT_IN as BUILT_IN_ZONES

RAW = "raw/prerouting"
"""No name of people's: theirs may be called raw (docs/adr/0258)."""
BUILT_IN = ("input", "forward", "output", RAW)
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
TCP_FLAGS = ("syn", "ack", "fin", "rst", "psh", "urg", "ece", "cwr")
NAT_STATES = ("any", "source", "destination", "either", "not-source", "not-destination", "neither")
NEGATABLE = (
    "in_interface",
    "out_interface",
    "from_zone",
    "to_zone",
    "source",
    "source_set",
    "source_mac",
    "destination",
    "destination_set",
    "protocol",
    "ports",
    "port_set",
    "source_ports",
    "icmp_types",
    "dscp",
)
MAX_PREFIXES = 64
WITH_PORTS = When("protocol", ("tcp", "udp", "tcp-udp", "sctp"))
WITH_FLAGS = When("protocol", ("tcp",))
WITH_TYPES = When("protocol", ("icmp",))
_TRACKED = When("chain", (RAW,), unless=True)
_PROTOCOLS = ("any", "tcp", "udp", "tcp-udp", "sctp", "icmp", "gre", "esp", "ah", "ospf", "vrrp", "igmp")


def _set_ref(help_text: str, **said: Any) -> Ref:
    return Ref("set", help=help_text, **said)


@dataclass(frozen=True, slots=True)
class FirewallRule(ConfigObject):
    """What some packets match, and what becomes of them; an empty field matches any packet."""

    kind: ClassVar[Kind] = "firewall-rule"
    id: str
    chain: Annotated[
        str,
        Label(
            help="input: packets to the router; forward: packets through it; output: packets from it; "
            "raw/prerouting: all that come in, before connections are looked up. Any other name is a chain "
            "of your own, to which rules jump.",
            example="forward",
            also=(RAW,),
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
            "set-dscp",
            "notrack",
            help="return continues after the jump; add-to-set and set-dscp continue with the next rule. In "
            "raw/prerouting, accept leaves the packet to the other chains, and notrack does so without a "
            "connection of its own.",
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
            when=When("chain", ("input", RAW), unless=True),
        ),
    ] = None
    from_zone: Annotated[
        str | None,
        Ref(
            "zone",
            also=BUILT_IN_ZONES,
            help="The zone of the interface by which packets arrive.",
            example="lan",
            when=When("chain", ("output",), unless=True),
        ),
    ] = None
    to_zone: Annotated[
        str | None,
        Ref(
            "zone",
            also=BUILT_IN_ZONES,
            help="The zone of the interface by which packets leave.",
            example="wan",
            when=When("chain", ("input", RAW), unless=True),
        ),
    ] = None
    source: Annotated[
        tuple[str, ...], Many(Prefix(), MAX_PREFIXES, help="Matches packets from these prefixes.")
    ] = ()
    source_set: Annotated[str | None, _set_ref("Matches packets whose source is in this set.")] = None
    source_mac: Annotated[
        str | None,
        Mac(
            label="Source MAC",
            help="Matches packets with this hardware address of the sender: of the host itself, or of the "
            "router before this one.",
            example="02:00:5e:10:00:07",
            when=When("chain", ("output",), unless=True),
            importance="folded",
        ),
    ] = None
    destination: Annotated[
        tuple[str, ...], Many(Prefix(), MAX_PREFIXES, help="Matches packets to these prefixes.")
    ] = ()
    destination_set: Annotated[str | None, _set_ref("Matches packets whose destination is in this set.")] = (
        None
    )
    protocol: Annotated[str, Choice(*_PROTOCOLS, help="icmp stands for ICMP and ICMPv6.")] = "any"
    ports: Annotated[
        tuple[str, ...],
        Many(Ports(), limits.MAX_PORTS, help="Destination ports and ranges.", example="443", when=WITH_PORTS),
    ] = ()
    port_set: Annotated[str | None, _set_ref("A set of destination ports.", when=WITH_PORTS)] = None
    source_ports: Annotated[
        tuple[str, ...],
        Many(
            Ports(),
            limits.MAX_PORTS,
            help="Source ports and ranges.",
            example="1024-65535",
            when=WITH_PORTS,
            importance="folded",
        ),
    ] = ()
    service: Annotated[str | None, Ref("service", help="Use a service instead of a protocol and ports.")] = (
        None
    )
    icmp_types: Annotated[
        tuple[str, ...],
        Many(
            Word(*ICMP_TYPES),
            16,
            help="Matches these types of ICMP message.",
            when=WITH_TYPES,
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
            when=_TRACKED,
        ),
    ] = ()
    ct_nat: Annotated[
        str,
        Choice(
            *NAT_STATES,
            label="Translation",
            help="Which address of the connection NAT changed; the source of its first packet is changed "
            "behind all rules. either: one or both. neither: none.",
            importance="folded",
            when=_TRACKED,
        ),
    ] = "any"
    tcp_flags: Annotated[
        tuple[str, ...],
        Many(
            Word(*TCP_FLAGS),
            len(TCP_FLAGS),
            label="TCP flags set",
            help="Matches packets with all of these flags.",
            when=WITH_FLAGS,
            importance="folded",
        ),
    ] = ()
    tcp_flags_unset: Annotated[
        tuple[str, ...],
        Many(
            Word(*TCP_FLAGS),
            len(TCP_FLAGS),
            label="TCP flags not set",
            help="Matches packets with none of these flags.",
            when=WITH_FLAGS,
            importance="folded",
        ),
    ] = ()
    dscp: Annotated[
        int | None,
        Whole(
            0,
            63,
            label="DSCP",
            help="Matches packets with this codepoint, such as 46 (EF) of voice.",
            example="46",
            importance="folded",
        ),
    ] = None
    negated: Annotated[
        tuple[str, ...],
        negated_field(*NEGATABLE),
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
    source_limit: Annotated[
        SourceLimit | None,
        Group(
            SourceLimit,
            label="Limit of each source",
            help="How many connections or packets one source may have. null: any number.",
        ),
    ] = None
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
    new_dscp: Annotated[
        int | None,
        Whole(
            0,
            63,
            label="New DSCP",
            help="The codepoint that packets get, such as 46 (EF) for voice; ECN stays as it is.",
            example="46",
            when=When("action", ("set-dscp",)),
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


def families(rule: FirewallRule) -> set[int]:
    """Of the packets that can match."""
    found = {family for family in WIDTH if family_fits(rule, family)}
    found &= families_of(rule, "source") & families_of(rule, "destination")
    if rule.icmp_types and "icmp_types" not in rule.negated:
        found &= {family for family in WIDTH if icmp_types_of(rule, family)}
    return found


def icmp_types_of(rule: FirewallRule, family: int) -> tuple[str, ...]:
    """Those of its types that a family has."""
    return tuple(sorted(set(rule.icmp_types) - (ONLY_6 if family == 4 else ONLY_4)))


def family_fits(rule: FirewallRule, family: int) -> bool:
    return rule.family in ("any", f"ipv{family}")
