# SPDX-License-Identifier: Apache-2.0
"""Which ports take the fast path, and why the others do not.

XDP sees a packet before any filter. So where rules of ours apply to forwarded packets, only those of
connections in the kernel's flow table are fast (`Role.FLOW`, on every port alike). Where the flow table
cannot be asked, the ports that the rules name are left to the stack; packets between the others match no
rule. And where chains of somebody else see forwarded packets, no port is fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast

from weir.adapters.datapath_records import ANY_SIZE, NO_ABOVE, Role
from weir.adapters.netlink import Link
from weir.adapters.xdp_features import ALL, XdpFeature
from weir.backends.members import NOBODY_YIELDS, Yielding
from weir.backends.modes import Decision
from weir.backends.remembered import Remembered
from weir.backends.stacking import stacking
from weir.compiler.types import PortSpec
from weir.parts.filter import OUTGOING
from weir.parts.rule import FORWARDING, PacketRule

_ROUTED_MASTERS = ("", "vrf")
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_NOT_FORWARDED = ("input", OUTGOING, "entry", "output")


@dataclass(frozen=True, slots=True)
class Sight:
    """Who must see forwarded packets: rules of ours, and chains of others (their names, or "").

    `named`: the interfaces of which the rules speak; none where a rule holds for all. `tracked`: new
    connections are bounded. `each`: why rules must see each packet, "" = the first of a connection will do.
    """

    filtered: bool
    foreign: str
    named: frozenset[str] = frozenset()
    tracked: bool = False
    each: str = ""

    @classmethod
    def of(cls, rules: Sequence[PacketRule], foreign: str) -> Sight:
        return replace(_sight(tuple(rules)), foreign=foreign)

    @classmethod
    def _of(cls, rules: Sequence[PacketRule]) -> Sight:
        ends = [
            came | leaves for rule in rules if rule.chain in FORWARDING for came, leaves in [_sides(rule)]
        ]
        named = _named(rules) if all(ends) else frozenset[str]()
        tracked = any(rule.verdict == "bound" for rule in rules)
        each = next(filter(None, map(_looks_at_each, rules)), "")
        return cls(bool(ends), "", named, tracked, each)

    def filters(self, ifname: str) -> bool:
        """Whether rules of ours may match what is forwarded by the interface."""
        return self.filtered and (not self.named or ifname in self.named)


_sight = Remembered(Sight._of)


def _named(rules: Sequence[PacketRule]) -> frozenset[str]:
    """The interfaces of which rules speak. Of a rule about packets from some to others that is one side:
    where that side is not fast, no packet goes between them in XDP."""
    sides = [_sides(rule) for rule in rules if rule.chain in FORWARDING]
    named = frozenset[str]().union(*(came or leaves for came, leaves in sides if not (came and leaves)))
    for came, leaves in sides:
        if came and leaves and not came <= named and not leaves <= named:
            named |= came if len(came) <= len(leaves) else leaves
    return named


def _sides(rule: PacketRule) -> tuple[frozenset[str], frozenset[str]]:
    """The interfaces by which packets come and leave that a rule matches, none = any, as all but some are."""
    came = () if "in_interfaces" in rule.negated else (*rule.in_interfaces, *rule.in_members)
    leaves = () if "out_interfaces" in rule.negated else rule.out_interfaces
    return frozenset(came), frozenset(leaves)


def _looks_at_each(rule: PacketRule) -> str:
    """Why a rule's verdict on one packet of a connection is not its verdict on the next, "" = it is."""
    if rule.nat or rule.chain in _NOT_FORWARDED or rule.verdict == "log":
        return ""  # NAT is done to the first packet and holds for the others
    if rule.rate_per_s or (rule.bounds and not rule.is_first):
        return f"rule {rule.comment} counts packets"
    if rule.verdict == "set-dscp" and not _is_of_others(rule):
        return f"rule {rule.comment} sets the DSCP of each packet"
    if field := _of_each_packet(rule):
        return f"rule {rule.comment} looks at {field} of each packet"
    if rule.verdict == "add-to-set" or any(lookup.is_learnt for lookup in rule.lookups):
        return f"rule {rule.comment} uses a set that learns"
    return ""


def _is_of_others(rule: PacketRule) -> bool:
    """Whether it is about no packet that the flow table forwards."""
    return bool(rule.ct_states) and "established" not in rule.ct_states


def _of_each_packet(rule: PacketRule) -> str:
    """What a rule looks at that packets of one connection do not have in common, "" = nothing, as what the
    flow table forwards is of established connections."""
    if _is_of_others(rule):
        return ""
    if rule.dscp is not None:
        return "the DSCP"
    return "the TCP flags" if rule.flags or rule.flags_unset else ""


class Answers:
    """What the kernel says of devices, each asked for once in one reading of ports: for the change of a rule
    all ports are decided on six times."""

    def __init__(self) -> None:
        self._found: dict[Hashable, object] = {}

    def once(self, ask: Callable[[K], T], key: K) -> T:
        """What `ask` answers for the key, or answered before."""
        if (ask, key) not in self._found:
            self._found[ask, key] = ask(key)
        return cast(T, self._found[ask, key])


@dataclass(frozen=True, slots=True)
class Around:
    """What a port's decision depends on besides itself: all links, all ports, who sees packets."""

    links: Mapping[str, Link]
    ports: Mapping[str, PortSpec]
    sight: Sight
    yielding: Yielding = NOBODY_YIELDS
    answers: Answers = field(default_factory=Answers, compare=False)
    policed: bool = False
    """No port lets packets wait."""

    @property
    def full(self) -> Role:
        """How ports tell the firewall whose class is full, if it asks."""
        if not self.sight.tracked:
            return Role.NOTHING
        return Role.FULL | (Role.POLICED if self.policed else Role.NOTHING)

    @classmethod
    def of(
        cls,
        links: Mapping[str, Link],
        ports: Mapping[str, PortSpec],
        sight: Sight,
        answers: Answers | None = None,
    ) -> Around:
        """With the members of what yields among the ports."""
        found = Yielding.of(ports, links)
        return cls(links, found.ports, sight, found, answers or Answers())


def _below(link: Link, around: Around) -> Link | None:
    """The port that a VLAN interface is on."""
    found = (other for name in around.ports if (other := around.links.get(name)))
    return next((other for other in found if other.index == link.lower), None)


FIRST_DOUBT_S, LAST_DOUBT_S = 300.0, 21600.0


class _Doubt(NamedTuple):
    """About what a device says of itself, and how often it had to be doubted before."""

    until_s: float
    times: int
    reason: str


def _routed(link: Link, largest_bytes: int, keeps: bool) -> str:
    """What routes leave to the stack of packets that leave by a fast port, as the end of a sentence."""
    if largest_bytes >= link.mtu:
        return ""
    if keeps:
        return f"; what leaves by {link.name} the stack routes, as connections keep their uplink"
    if largest_bytes == 0:
        return f"; what leaves by {link.name} the stack routes, over several gateways"
    return f"; what leaves by {link.name} with over {largest_bytes} bytes the stack routes, by a route's MTU"


class FastPaths:
    """Decides by what was asked for, what the device and the kernel can do, and who must see the packets."""

    def __init__(
        self,
        flow_reason: str,
        features: Callable[[int], XdpFeature | None],
        takes_tags_off: Callable[[str], bool],
        largest: Callable[[int], int] = lambda _: ANY_SIZE,
        checks_strictly: Callable[[str], bool] = lambda _: False,
        keeps: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """`flow_reason`: why the flow table cannot be asked, "" when it can. `largest`: the largest packet in
        bytes whose route by an interface (its index) XDP knows as the stack does. `checks_strictly`: whether
        the stack drops what comes in by an interface that is not its way back. `keeps`: whether an interface
        (its index) is of an uplink that connections keep."""
        self._flow_reason = flow_reason
        self._takes_tags_off = takes_tags_off
        self._features = features
        self._largest = largest
        self._checks_strictly = checks_strictly
        self._keeps = keeps
        self._refused_on: dict[tuple[str, int], str] = {}
        self._doubts: dict[tuple[str, int], _Doubt] = {}

    def doubt(self, ifname: str, ifindex: int, packets: int) -> None:
        """The device says that it can send what XDP forwards, and did not take so many packets. It is
        believed again after a while, which is twice as long each time, or when it has said meanwhile that
        it cannot."""
        times = self._doubts[ifname, ifindex].times + 1 if (ifname, ifindex) in self._doubts else 0
        wait_s = min(FIRST_DOUBT_S * 2**times, LAST_DOUBT_S)
        reason = (
            f"the device did not take {packets} packets that XDP forwarded; it is tried again in {wait_s:g} s"
        )
        self._doubts[ifname, ifindex] = _Doubt(time.monotonic() + wait_s, times, reason)

    def refuse(self, ifname: str, ifindex: int, reason: str) -> None:
        """Remember what the kernel said to attaching (until the device is recreated)."""
        self._refused_on[ifname, ifindex] = reason

    def decide(self, spec: PortSpec, decision: Decision, around: Around) -> Decision:
        """The decision on the shaper, completed."""
        link = around.links[spec.ifname]
        if link.name in around.yielding.names:
            return replace(decision, stacking=Role.YIELDS, fast_reason="its members shape")
        roles, tag = stacking(link, around.links, around.ports.keys() - around.yielding.names)
        above = around.yielding.above.get(link.name, NO_ABOVE)
        decision = replace(decision, stacking=roles, tag=tag, above=above)
        reason = self._obstacle(spec, link, decision, around) or self._hidden(link.name, around)
        if reason:
            return replace(decision, fast=Role.NOTHING, fast_reason=reason)
        largest_bytes = self._largest(link.index)
        decision = replace(decision, largest_bytes=largest_bytes)
        keeps = self._keeps(link.index)
        routed = _routed(link, largest_bytes, keeps)
        if self._is_filtered(link.name, around):
            reason = f"XDP forwards what conforms of established connections{routed}"
            return replace(decision, fast=Role.FAST | Role.FLOW, fast_reason=reason)
        if keeps:
            reason = "connections keep their uplink, and the stack has to see the first packet of each"
            return replace(decision, fast=Role.NOTHING, fast_reason=reason)
        return replace(decision, fast=Role.FAST, fast_reason=f"XDP forwards what conforms{routed}")

    def _obstacle(self, spec: PortSpec, link: Link, decision: Decision, around: Around) -> str:
        if spec.fast_path == "off":
            return "turned off"
        if decision.mode == "htb":
            return "HTB shapes in the stack"
        if not link.ethernet:
            return "frames of this device have no Ethernet header"
        master = next((other for other in around.links.values() if other.index == link.master), None)
        if master is not None and master.kind not in _ROUTED_MASTERS:
            return f"it belongs to {master.name}, which is a {master.kind}"
        if around.answers.once(self._checks_strictly, link.name):
            return (
                f"the kernel checks sources (rp_filter of {link.name}); reverse_path does so in XDP as well"
            )
        if master is not None and self._is_filtered(link.name, around):
            return "NAT or the firewall must see forwarded packets, and the flow table does not know VRFs"
        if link.kind == "vlan":
            return self._obstacle_below(link, decision, around)
        above = (other for other in around.links.values() if other.lower == link.index)
        tagged = [other.name for other in above if other.kind == "vlan"]
        if tagged and link.kind == "veth":
            return f"XDP does not see the tags of {tagged[0]} on a veth"
        if tagged and self._takes_tags_off(link.name):
            return f"the card takes the tags of {tagged[0]} off (ethtool -K {link.name} rxvlan off)"
        key = (spec.ifname, link.index)
        if reason := self._refused_on.get(key, "") or self._incapable(link, around):
            self._doubts.pop(key, None)
            return reason
        doubt = self._doubts.get(key)
        return doubt.reason if doubt is not None and time.monotonic() < doubt.until_s else ""

    def _obstacle_below(self, link: Link, decision: Decision, around: Around) -> str:
        """Why the port that a VLAN interface is on does not forward its frames."""
        lower = _below(link, around)
        if lower is None:
            return "it is on an interface that is not configured"
        if lower.name in around.yielding.names:
            return f"it is on {lower.name}, whose members shape"
        if Role.TAGGED not in decision.stacking:
            return f"it is on {lower.name}, which is tagged as well"
        if self._is_filtered(link.name, around):
            return (
                "NAT or the firewall must see forwarded packets, and the flow table does not know their tags"
            )
        if around.answers.once(self._features, lower.index) is None:
            return f"this kernel does not tell what {lower.name} can"
        spec = around.ports[lower.name]
        below = "HTB shapes in the stack" if spec.shaper == "htb" else ""
        below = below or self._obstacle(spec, lower, Decision("police", ""), around)
        return f"{lower.name} has no fast path: {below}" if below else ""

    def _incapable(self, link: Link, around: Around) -> str:
        features = around.answers.once(self._features, link.index)
        if features is None or features == ALL:
            return ""  # an old kernel does not tell: then attaching does
        if XdpFeature.BASIC not in features:
            return f"a device of kind {link.kind} with this driver has no native XDP"
        if XdpFeature.NDO_XMIT not in features:
            polled = " until its peer polls (ethtool -K PEER gro on)" if link.kind == "veth" else ""
            return f"the device cannot send what XDP forwards{polled}"
        return "the driver cannot forward in XDP"

    def _is_filtered(self, ifname: str, around: Around) -> bool:
        """Whether the port's packets are forwarded by the flow table or not at all. Where it can be asked, it
        is for all ports, so that connections tracked at one are known at the others. Where it cannot, a port
        that the rules do not name is free if there is another such port to forward to."""
        if not self._unflowed(around) or not around.sight.filtered:
            return around.sight.filtered
        free = {name for name in around.ports if not around.sight.filters(name)}
        return ifname not in free or len(free) < 2

    def _hidden(self, ifname: str, around: Around) -> str:
        if around.sight.foreign:
            return f"{around.sight.foreign}, which is not Weir's, must see forwarded packets"
        reason = self._unflowed(around)
        if reason and self._is_filtered(ifname, around):
            return f"NAT or the firewall must see forwarded packets: {reason}"
        return ""

    def _unflowed(self, around: Around) -> str:
        """Why no packet is forwarded by the flow table, "" = those of established connections are."""
        return self._flow_reason or around.sight.each
