# SPDX-License-Identifier: Apache-2.0
"""What all configured objects have, and queues with their types. Frozen, without I/O.

The meaning of every field is in docs/reference/model.md.

Semantics follow RouterOS v7 simple queues (public manual: queues, queue-burst, htb); a pair is always
(upload, download) as seen by the target, and rates count the bytes of IP packets per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from weir.fields import (
    TYPE_NAMES,
    Choice,
    EachWay,
    End,
    Flag,
    Group,
    Hours,
    Many,
    Position,
    Ref,
    Table,
    Target,
    Text,
    Whole,
)
from weir.model.limits import (
    MAX_BUCKET_SIZE_MS,
    MAX_BURST_TIME_MS,
    MAX_COMMENT_CHARS,
    MAX_NAME_CHARS,
    MAX_POSITION,
    MAX_QUEUE_LEVELS,
    MAX_QUEUE_TYPE_OPTIONS,
    MAX_RATE_BPS,
    MAX_TARGETS,
    QUEUE_TYPE_KINDS,
)
from weir.model.pair import Pair as Pair
from weir.model.pair import shared_pair
from weir.model.quick_init import quick_init
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


@quick_init
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
        Hours(of="queues"),
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
