# SPDX-License-Identifier: Apache-2.0
"""The configured objects. Frozen, without I/O; the meaning of every field is in docs/reference/model.md.

Semantics follow RouterOS v7 simple queues (public manual: queues, queue-burst, htb); a pair is always
(upload, download) as seen by the target, and rates count the bytes of IP packets per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from weir.fields import (
    INTERFACE_NAMES,
    TYPE_NAMES,
    Address,
    Choice,
    EachWay,
    End,
    Flag,
    Group,
    Hours,
    Many,
    Position,
    Ref,
    Secret,
    Table,
    Target,
    Text,
    When,
    Whole,
)
from weir.model.endpoint import parse_key
from weir.model.limits import (
    MAX_ADDRESSES,
    MAX_BUCKET_SIZE_MS,
    MAX_BURST_TIME_MS,
    MAX_COMMENT_CHARS,
    MAX_DOMAIN,
    MAX_MTU_BYTES,
    MAX_NAME_CHARS,
    MAX_OVERHEAD_BYTES,
    MAX_POSITION,
    MAX_QUEUE_LEVELS,
    MAX_QUEUE_TYPE_OPTIONS,
    MAX_RATE_BPS,
    MAX_TARGETS,
    MAX_VLAN_ID,
    MAX_VRF_TABLE,
    MIN_MTU_BYTES,
    MIN_OVERHEAD_BYTES,
    MIN_VLAN_ID,
    QUEUE_TYPE_KINDS,
)
from weir.model.links import Bond, Bridge
from weir.model.pair import Pair as Pair
from weir.model.pair import shared_pair
from weir.model.schedule import TimeWindow as TimeWindow

Kind = str
"""What an object is, as it is written in URLs and files; `weir.kinds` declares which there are."""


class ConfigObject:
    """What all configured objects have. Their classes are frozen dataclasses with slots."""

    __slots__ = ()
    kind: ClassVar[Kind]
    id: str

    @property
    def name(self) -> str:
        """What people call it; an id without a better one."""
        return self.id


ZERO = shared_pair(0, 0)
DEFAULT_PRIORITY = shared_pair(8, 8)
DEFAULT_QUEUE_TYPE = shared_pair("default-small", "default-small")
DEFAULT_BUCKET = shared_pair(100, 100)


@dataclass(frozen=True, slots=True)
class Total:
    """Limits that upload and download share (`total-*` of RouterOS). 0 = none."""

    max_limit_bps: Annotated[int, Whole(0, MAX_RATE_BPS, help="Both together are never faster.")] = 0
    limit_at_bps: Annotated[int, Whole(0, MAX_RATE_BPS, help="Guaranteed to both together.")] = 0
    burst_limit_bps: Annotated[int, Whole(0, MAX_RATE_BPS, help="The limit during a burst.")] = 0
    burst_threshold_bps: Annotated[
        int, Whole(0, MAX_RATE_BPS, help="The average below which a burst is allowed.")
    ] = 0
    burst_time_ms: Annotated[int, Whole(0, MAX_BURST_TIME_MS, help="The time of that average.")] = 0
    priority: Annotated[int, Whole(1, 8, help="1 is best.")] = 8
    queue_type: Annotated[str, Ref("queue-type", TYPE_NAMES, own_rules=True, help="How packets wait.")] = (
        "default-small"
    )
    bucket_size_ms: Annotated[
        int, Whole(0, MAX_BUCKET_SIZE_MS, help="What may be sent at once after a pause.")
    ] = 100


NO_TOTAL = Total()


@dataclass(frozen=True, slots=True)
class Queue(ConfigObject):
    """A simple queue: who, how fast up and down, under which parent. Rates are 0 where there is no limit."""

    kind: ClassVar[Kind] = "queue"
    id: str
    name: Annotated[
        str,
        Text(
            MAX_NAME_CHARS,
            min_chars=1,
            option="rename",
            help="Unique in the router. No control characters; blanks at the ends count.",
        ),
    ] = field()
    target: Annotated[
        tuple[str, ...],
        Many(
            Target(),
            MAX_TARGETS,
            help="Whose traffic: its source is upload, its destination download. v4 and v6 prefixes share "
            "one budget. Empty: an aggregate of its children.",
        ),
    ] = ()
    dst: Annotated[
        str | None,
        End(
            label="Destination",
            help="Only traffic between target and this: upload to it, download from it. Needs a target; "
            "holds for the queues below, too.",
        ),
    ] = None
    parent: Annotated[
        str | None,
        Ref(
            "queue",
            own_rules=True,
            help=f"Its limits hold, too, and its children's traffic is charged to it. At most "
            f"{MAX_QUEUE_LEVELS} levels.",
        ),
    ] = None
    position: Annotated[
        int,
        Position(
            "parent",
            most=MAX_POSITION,
            own_rules=True,
            help="Order among siblings, small first; equal positions by id. A "
            "list of all levels that is sorted by it mixes them: ask for one `parent` at a time.",
        ),
    ] = 0
    max_limit_bps: Annotated[
        Pair[int], EachWay("Rate", Whole(0, MAX_RATE_BPS), option="max-limit", help="Never faster than this.")
    ] = ZERO
    limit_at_bps: Annotated[
        Pair[int],
        EachWay(
            "Rate",
            Whole(0, MAX_RATE_BPS),
            option="limit-at",
            importance="folded",
            help="Guaranteed under contention. At most `max_limit_bps`.",
        ),
    ] = ZERO
    burst_limit_bps: Annotated[
        Pair[int],
        EachWay(
            "Rate",
            Whole(0, MAX_RATE_BPS),
            option="burst-limit",
            importance="folded",
            help="This rate takes the place of the max limit while the average of the last `burst_time_ms` "
            "is below the threshold.",
        ),
    ] = ZERO
    burst_threshold_bps: Annotated[
        Pair[int],
        EachWay(
            "Rate",
            Whole(0, MAX_RATE_BPS),
            option="burst-threshold",
            importance="folded",
            help="The average below which a burst is allowed; 0: never.",
        ),
    ] = ZERO
    burst_time_ms: Annotated[
        Pair[int],
        EachWay(
            "Duration",
            Whole(0, MAX_BURST_TIME_MS),
            option="burst-time",
            importance="folded",
            help="The time of that average; 0: no burst.",
        ),
    ] = ZERO
    priority: Annotated[
        Pair[int],
        EachWay(
            "Priority",
            Whole(1, 8),
            importance="folded",
            help="Who gets first what is left after the guarantees; 1 is best.",
        ),
    ] = DEFAULT_PRIORITY
    queue_type: Annotated[
        Pair[str],
        EachWay(
            "QueueType",
            Ref("queue-type", TYPE_NAMES, own_rules=True),
            option="type",
            importance="folded",
            help="How packets wait; see `queue-type`.",
        ),
    ] = DEFAULT_QUEUE_TYPE
    bucket_size_ms: Annotated[
        Pair[int],
        EachWay(
            "Bucket",
            Whole(0, MAX_BUCKET_SIZE_MS),
            option="bucket",
            importance="folded",
            help="What an idle queue may send at once: this time at `max_limit_bps`, at least 20 ms and "
            "6,056 bytes, and 300 ms where an interface polices.",
        ),
    ] = DEFAULT_BUCKET
    time: Annotated[
        TimeWindow | None,
        Hours(
            importance="folded",
            help="Matches only inside this window of local time; the start minute belongs to it, the end "
            "minute does not. `24:00` is allowed as end, a window over midnight is not: make two queues. "
            "One that is always open comes back as null.",
        ),
    ] = None
    total: Annotated[
        Total,
        Group(
            Total,
            called="TotalLimits",
            importance="folded",
            help="Limits that both directions share, beside those of each direction.",
        ),
    ] = NO_TOTAL
    comment: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="For people.")] = ""
    disabled: Annotated[
        bool,
        Flag(help="Matches nothing, nor do its children; its class and counters go."),
    ] = False


@dataclass(frozen=True, slots=True)
class QueueType(ConfigObject):
    """How the packets of a queue wait. Option names are RouterOS's (`pcq-rate`, `fq-codel-limit`)."""

    kind: ClassVar[Kind] = "queue-type"
    id: str
    type: Annotated[str, Choice(*QUEUE_TYPE_KINDS, help="RouterOS' kinds; `none` is only-hardware-queue.")]
    options: Annotated[
        tuple[tuple[str, str], ...],
        Table(
            Text(MAX_NAME_CHARS),
            MAX_QUEUE_TYPE_OPTIONS,
            help="RouterOS' option names (`pcq-rate`, `cake-nat`). A finding names each one that has no "
            "effect or cannot be read.",
            option="option",
        ),
    ] = ()
    comment: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="For people.")] = ""


@dataclass(frozen=True, slots=True)
class Vlan:
    """Frames of `parent` with this tag. A VLAN whose parent is a VLAN has two tags (QinQ)."""

    parent: Annotated[
        str,
        Ref("interface", INTERFACE_NAMES, own_rules=True, help="The interface whose frames have the tag."),
    ]
    id: Annotated[int, Whole(MIN_VLAN_ID, MAX_VLAN_ID, help="The tag.")]
    protocol: Annotated[
        Literal["802.1Q", "802.1ad"],
        Choice("802.1Q", "802.1ad", help="What marks the tag; the outer one of two usually has 802.1ad."),
    ] = "802.1Q"

    @property
    def text(self) -> str:
        return f"VLAN {self.id} ({self.protocol}) of {self.parent}"


@dataclass(frozen=True, slots=True)
class Wireguard:
    """An encrypted tunnel. Whom it leads to is said by its peers (`wireguard-peer`)."""

    private_key: Annotated[
        str | None,
        Secret(
            44,
            44,
            check=parse_key,
            made="x25519",
            help="The router makes it where you give none, and never shows it. Peers need its "
            "public half, which the interface's state has.",
        ),
    ] = None
    listen_port: Annotated[
        int, Whole(1, 65_535, help="The UDP port on which peers reach the router; open on every WAN.")
    ] = 51_820


@dataclass(frozen=True, slots=True)
class Loopback:
    """An interface that leads nowhere: for addresses that do not depend on a port."""


_PASSES = When("type", ("vrf", "loopback"), unless=True)
"""Packets come in by it and leave by it."""


@dataclass(frozen=True, slots=True)
class Interface(ConfigObject):
    """A network interface; the id is the kernel's name.

    One with a `vlan`, a `vrf_table`, `wireguard`, `bridge`, `bond` or `loopback` is made by the router, any
    other is there or not. Where `vrf_table` is 0, `weir.model.vrf` chooses the table.
    """

    kind: ClassVar[Kind] = "interface"
    id: str
    role: Annotated[
        Literal["lan", "wan", "none"],
        Choice(
            "lan",
            "wan",
            "none",
            when=_PASSES,
            help="`wan` is outside: firewall and masquerading apply there. Every enabled interface is "
            "shaped, whatever its role.",
        ),
    ] = "none"
    addresses: Annotated[
        tuple[str, ...],
        Many(
            Address(),
            MAX_ADDRESSES,
            option="address",
            help="With host bits and prefix length, such as 192.0.2.1/24.",
        ),
    ] = ()
    addressing: Annotated[
        Literal["static", "dhcp"],
        Choice(
            "static",
            "dhcp",
            when=When("type", ("ethernet", "vlan", "bridge", "bond")),
            help="`dhcp`: an IPv4 address and routes by DHCP, beside the addresses.",
        ),
    ] = "static"
    mtu: Annotated[
        int | None,
        Whole(
            MIN_MTU_BYTES,
            MAX_MTU_BYTES,
            help="Bytes, at least 1,280 with IPv6. null leaves it as it is; a VLAN then has its parent's, "
            "a WireGuard tunnel 1,420, a bridge or bond 1,500.",
        ),
    ] = None
    description: Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="For people.")] = ""
    overhead_bytes: Annotated[
        int,
        Whole(
            MIN_OVERHEAD_BYTES,
            MAX_OVERHEAD_BYTES,
            importance="folded",
            when=_PASSES,
            help="Added to each packet's IP length when it is charged, as CAKE's `overhead`: 18 for "
            "Ethernet with FCS (22 with a VLAN tag), 38 with preamble and gap.",
        ),
    ] = 0
    shaper: Annotated[
        Literal["auto", "edt", "police", "htb"],
        Choice(
            "auto",
            "edt",
            "police",
            "htb",
            importance="folded",
            when=_PASSES,
            help="How limits are kept; `auto` takes the best that the kernel can do, and `system` says "
            "which and why.",
        ),
    ] = "auto"
    fast_path: Annotated[
        Literal["auto", "off"],
        Choice(
            "auto",
            "off",
            importance="folded",
            when=When("type", ("ethernet", "vlan")),
            help="Whether packets that conform are forwarded in XDP. `auto` where the device and the "
            "kernel can and nobody else has to see them; `state` says whether they are and why.",
        ),
    ] = "auto"
    unknown: Annotated[
        Literal["allow", "queue", "drop"],
        Choice(
            "allow",
            "queue",
            "drop",
            importance="folded",
            when=_PASSES,
            help="Forwarded packets of addresses behind it that are in no queue. `allow`: unlimited, but "
            "for a queue that has the interface as target. `queue`: to that queue, and dropped while "
            "that queue is not active. `drop`: dropped.",
        ),
    ] = "allow"
    reverse_path: Annotated[
        Literal["off", "loose", "strict"],
        Choice(
            "off",
            "loose",
            "strict",
            importance="folded",
            when=_PASSES,
            help="Which sources it forwards. `loose`: those that there is a way to; `strict`: those whose "
            "way back is this interface (BCP 38). The first setup chooses `strict` for LAN and "
            "`loose` for WAN.",
        ),
    ] = "off"
    domain: Annotated[
        int,
        Whole(
            0,
            MAX_DOMAIN,
            importance="folded",
            when=_PASSES,
            help="Whose addresses are behind it: a target `10.0.0.0/24@2` holds where the domain is 2, one"
            " without `@` where it is 0.",
        ),
    ] = 0
    vlan: Annotated[
        Vlan | None,
        Group(Vlan, help="Frames of the interface `parent` with the tag `id`."),
    ] = None
    vrf: Annotated[
        str | None,
        Ref(
            "interface",
            INTERFACE_NAMES,
            role="VRF",
            own_rules=True,
            when=When("type", ("vrf",), unless=True),
            help="The VRF that it is in: routes and addresses of its own.",
        ),
    ] = None
    vrf_table: Annotated[
        int | None,
        Whole(
            0,
            MAX_VRF_TABLE,
            help="A VRF with this routing table, which no other has; 0: a table that goes by the VRF's name.",
        ),
    ] = None
    wireguard: Annotated[
        Wireguard | None, Group(Wireguard, label="WireGuard", help="An encrypted tunnel.")
    ] = None
    bridge: Annotated[
        Bridge | None,
        Group(Bridge, help="A switch of several ports."),
    ] = None
    bond: Annotated[Bond | None, Group(Bond, help="Several ports that are one link.")] = None
    loopback: Annotated[
        Loopback | None,
        Group(Loopback, help="An interface that leads nowhere, whose addresses are up with the router."),
    ] = None
    disabled: Annotated[bool, Flag(help="Down, without addresses, not shaped.")] = False

    @property
    def is_port(self) -> bool:
        """Whether packets come and go by it, so that it can shape: not by a VRF, nor by a loopback."""
        return self.vrf_table is None and self.loopback is None
