# SPDX-License-Identifier: Apache-2.0
"""Rules that translate addresses, which apply in their order. What is refused of them: nat.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from weir.fields import (
    INTERFACE_NAMES,
    Choice,
    Comment,
    Flag,
    Hours,
    Mac,
    Many,
    Port,
    Ports,
    Position,
    Prefix,
    Ref,
    When,
)
from weir.kinds.negated import negated_field
from weir.model import limits
from weir.model.objects import ConfigObject, Kind
from weir.model.schedule import TimeWindow

NEGATABLE = ("source", "source_set", "source_mac", "destination", "destination_set", "protocol", "ports")
_MAX_PREFIXES = 64
_HAS_TARGET = When("type", ("destination", "source", "one-to-one", "prefix"))
_IS_OPENED = When("type", ("destination", "redirect"))
_OF_A_FAMILY = When("type", ("masquerade", "redirect", "none"))
_MATCHES = When("type", ("one-to-one", "prefix"), unless=True)


def _set_ref(help_text: str) -> Ref:
    return Ref("set", help=help_text, when=_MATCHES)


def _prefixes(help_text: str, **said: Any) -> Many:
    return Many(Prefix(), _MAX_PREFIXES, help=help_text, **said)


@dataclass(frozen=True, slots=True)
class NatRule(ConfigObject):
    """What connections it translates, by their first packets, and to what."""

    kind: ClassVar[Kind] = "nat-rule"
    id: str
    type: Annotated[
        str,
        Choice(
            "destination",
            "redirect",
            "masquerade",
            "source",
            "one-to-one",
            "prefix",
            "none",
            help="destination: a port forward. redirect: to the router itself. masquerade: leaves with the "
            "interface's address. source: leaves with the address given. one-to-one: addresses outside are "
            "as many inside. prefix: the same for IPv6 networks (NPTv6). none: is not translated.",
        ),
    ]
    position: Annotated[int, Position(help="Rules with smaller numbers come first.", importance="expert")] = 0
    family: Annotated[
        str, Choice("ipv4", "ipv6", "any", help="Translates this address family.", when=_OF_A_FAMILY)
    ] = "ipv4"
    interface: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            help="Where connections arrive that get another destination, and where those leave that get "
            "another source. Empty: every WAN, and with the type none every interface.",
        ),
    ] = None
    source: Annotated[
        tuple[str, ...], _prefixes("Matches connections from these prefixes.", when=_MATCHES)
    ] = ()
    source_set: Annotated[str | None, _set_ref("Matches connections whose source is in this set.")] = None
    source_mac: Annotated[
        str | None,
        Mac(
            label="Source MAC",
            help="Matches connections whose first packet has this hardware address of the sender: of the "
            "host itself, or of the router before this one.",
            example="02:00:5e:10:00:07",
            when=_IS_OPENED,
            importance="folded",
        ),
    ] = None
    destination: Annotated[
        tuple[str, ...],
        _prefixes(
            "Matches connections to these prefixes. The types one-to-one and prefix need one: the network "
            "outside. A port forward or redirect without any takes the router's own addresses on a WAN, and "
            "from inside all addresses that are not the router's."
        ),
    ] = ()
    destination_set: Annotated[
        str | None, _set_ref("Matches connections whose destination is in this set.")
    ] = None
    protocol: Annotated[
        str,
        Choice("any", "tcp", "udp", "tcp-udp", "sctp", help="Matches this protocol.", when=_MATCHES),
    ] = "any"
    ports: Annotated[
        tuple[str, ...],
        Many(
            Ports(),
            limits.MAX_PORTS,
            help="Destination ports and ranges.",
            example="443",
            when=When("protocol", ("tcp", "udp", "tcp-udp", "sctp")),
        ),
    ] = ()
    service: Annotated[
        str | None, Ref("service", help="Use a service instead of a protocol and ports.", when=_MATCHES)
    ] = None
    negated: Annotated[
        tuple[str, ...],
        negated_field(*NEGATABLE),
    ] = ()
    to_address: Annotated[
        str | None,
        Prefix(
            help="The host inside of a port forward; the address or addresses that sources get; the network "
            "inside of one-to-one and prefix.",
            example="10.0.0.5",
            when=_HAS_TARGET,
        ),
    ] = None
    to_port: Annotated[
        int | None, Port(help="The port there. Empty: the same.", example="8443", when=_IS_OPENED)
    ] = None
    hairpin: Annotated[
        bool,
        Flag(
            help="Hosts inside reach the forwarded port by the address outside, too.",
            when=When("type", ("destination",)),
        ),
    ] = True
    allow: Annotated[
        bool,
        Flag(
            help="The firewall's policy lets pass what the rule forwards. Firewall rules come before it.",
            when=_IS_OPENED,
        ),
    ] = True
    time: Annotated[TimeWindow | None, Hours(of="rules")] = None
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="A disabled rule is kept without any effect.")] = False

    def __hash__(self) -> int:
        """Thousands are looked up at each change of one, and there are not two of an id."""
        return hash(self.id)

    @property
    def name(self) -> str:
        return self.comment.partition("\n")[0][:40] or self.id
