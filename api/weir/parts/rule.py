# SPDX-License-Identifier: Apache-2.0
"""A rule of the firewall's table, as far as parts and backends have to know it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from weir.model.prefix import parse_prefix
from weir.model.schedule import TimeWindow

Family = Literal[0, 4, 6]
Addressed = Literal["", "own", "others"]
NAT_CHAINS = ("prerouting", "postrouting")
"""Which the first packet of each connection meets, and no other."""
CLAMP = "clamp"
"""Where the first packets of a TCP connection are told how much fits into a packet."""
FIXED_COUNTERS = "f_"
"""How the names begin of counters that belong to no object of people's."""
HELPERS = "helpers"
"""Where the first packets of connections are given their helper."""
BEFORE_TRACKING = "raw"
"""Which all packets meet that come in, before their connection is looked up."""
FORWARDING = (BEFORE_TRACKING, CLAMP, "forward", *NAT_CHAINS)
"""Which packets meet that the router forwards."""


class Lookup(NamedTuple):
    """What of a packet is in a set: `saddr`, `daddr` (cut to `length`), `ether`, `iifname`,
    `sdifname` or `dport`.

    With an `origin` the set is fetched from there, and which lengths it has is known to the agent alone: this
    stands for a look for each of them (`weir.parts.filter.looked_up`). `negated`: it is not in the set."""

    what: str
    set: str
    family: Family = 0
    length: int = 0
    is_learnt: bool = False
    origin: str = ""
    negated: bool = False


class SourceBound(NamedTuple):
    """What holds while the packet's source, cut to `length` bits, has no more than so many `connections`, or
    no more than `rate` packets `per` time. Sources are counted in `set`; none holds where it is full."""

    set: str
    family: Literal[4, 6]
    length: int
    connections: int = 0
    rate: int = 0
    per: str = "second"
    burst: int = 0


@dataclass(frozen=True, slots=True)
class PacketRule:
    """One rule; an empty field matches anything. `family` 0 = both. Rules apply in their order.

    In the chains `input` and `forward` the kernel calls a packet's way in by the name of the VRF, if it is in
    one; `in_members` are those interfaces. `zone` is set for connections by `entry` and `output`, 0 = not.
    `bound` holds in `sources`: so many `connections` (0 = any number) of each source that does not come in by
    an interface of `outside`, and none for a queue that is full. In other chains `outside` are interfaces by
    which the packet did not arrive.
    """

    chain: str
    """`raw`, `entry`, `sources`, `helpers`, `prerouting`, `clamp`, `input`, `forward`, `output`, `outgoing`,
    `postrouting`, or where rules jump to."""
    verdict: str
    """`accept`, `drop`, `reject`, `jump`, `goto`, `return`, `add-to-set`, `set-dscp`, `notrack`, `log`,
    `masquerade`, `snat`, `dnat`, `redirect`, `zone`, `mss`, `helper` or `bound`."""
    comment: str
    in_interfaces: tuple[str, ...] = ()
    in_members: tuple[str, ...] = ()
    out_interfaces: tuple[str, ...] = ()
    family: Family = 0
    ct_states: tuple[str, ...] = ()
    protocol: str = ""
    """As nft calls it; also `tcp-udp`, and `icmp-any` for that of either family."""
    icmp_types: tuple[str, ...] = ()
    tcp_ports: tuple[int, ...] = ()
    zone: int = 0
    outside: tuple[str, ...] = ()
    connections: int = 0
    sources: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    source_mac: str = ""
    """Of who sent the frame; packets without an Ethernet header do not match."""
    ports: tuple[str, ...] = ()
    source_ports: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Of TCP: all of these are set, and none of `flags_unset`."""
    flags_unset: tuple[str, ...] = ()
    dscp: int | None = None
    """Its codepoint; such a rule is of one family."""
    new_dscp: int = 0
    """The codepoint that packets get from `set-dscp`."""
    negated: tuple[str, ...] = ()
    """Which of these fields say what the packet is not: `in_interfaces` with `in_members`, `out_interfaces`,
    `sources`, `destinations`, `source_mac`, `protocol`, `ports`, `source_ports`, `icmp_types` or `dscp`."""
    ct_nat: str = ""
    """What NAT did to the connection (`weir.kinds.firewall_rule.NAT_STATES`), "" = anything."""
    is_first: bool = False
    """Of a connection the first packet only, which no other was seen of."""
    bounds: tuple[SourceBound, ...] = ()
    """All of them hold. A source is counted by the packets that match otherwise."""
    rate_per_s: int = 0
    burst: int = 0
    counter: str = ""
    """Its named counter: of what people configured, and of what passes packets on or drops them."""
    target: str = ""
    """The chain to jump to, the set to add to, the helper, or the first words of a line in the log."""
    nat: str = ""
    """The id of the NAT rule that it is made of."""
    to: str = ""
    """The prefix from which a translated connection gets an address."""
    to_port: int = 0
    maps: bool = False
    """Each address to the one at its place in the other network."""
    addressed: Addressed = ""
    """`own`: to an address of the router's; `others`: to another host."""
    not_destinations: tuple[str, ...] = ()
    made_by: str = ""
    """The zone, zone policy, management or (first) interface that it follows from, as `kind/id`."""
    is_forwarded: bool = False
    """Of connections that got another destination."""
    time: TimeWindow | None = None
    """It is in force at these times only."""
    mss: int = 0
    """Bytes of TCP's payload that a connection's packets have at most; only the first of each way meet it."""

    def __hash__(self) -> int:
        """Of what tells most rules apart: thousands are looked up at each change of one."""
        return hash((self.comment, self.chain, self.verdict, self.family, self.target))

    @property
    def is_configured(self) -> bool:
        """Made of a firewall rule, whose id is its `comment`; not of a policy, zone or NAT rule."""
        return (
            not self.nat
            and not self.made_by
            and not self.counter.startswith(FIXED_COUNTERS)
            and (bool(self.counter) or bool(self.bounds) or self.verdict in ("jump", "goto", "log"))
        )


def led_to(rules: Iterable[PacketRule], *chains: str) -> set[str]:
    """These chains, and all to which their rules lead."""
    leads: dict[str, set[str]] = {}
    for rule in rules:
        if rule.verdict in ("jump", "goto"):
            leads.setdefault(rule.chain, set()).add(rule.target)
    found, waiting = set(chains), list(chains)
    while waiting:
        new = leads.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def from_sources(rule: PacketRule, sources: Sequence[str]) -> Iterator[PacketRule]:
    """The rule for what comes from these networks, one for each family; without any, from everywhere."""
    if not sources:
        yield rule
    families: tuple[Family, ...] = (4, 6)
    for family in families:
        own = tuple(text for text in sources if parse_prefix(text).family == family)
        if own:
            yield replace(rule, family=family, sources=own)
