# SPDX-License-Identifier: Apache-2.0
"""Live figures as JSON. Upload and download as seen by the target; times are Unix seconds."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, one_of
from weir.http.schemas.leases import LeaseChanges


class Rate(Answer):
    upload = fields.Float()
    download = fields.Float()


class Total(Answer):
    upload = fields.Integer()
    download = fields.Integer()


class QueueStats(Answer):
    """`live` is false for a queue that has no class in the kernel (disabled, or outside its hours), and for
    one whose counters were read less than twice: its figures are not known."""

    id = fields.String()
    live = fields.Boolean()
    rate_bps = fields.Nested(Rate, metadata={"description": "Over the last second."})
    minute_rate_bps = fields.Nested(Rate, metadata={"description": "Over the last minute."})
    packets_ps = fields.Nested(Rate)
    drops_ps = fields.Nested(Rate)
    marks_ps = fields.Nested(Rate)
    bytes = fields.Nested(
        Total,
        metadata={
            "description": "Since the class was made; where a port shapes by HTB with what its classes drop."
        },
    )
    drops = fields.Nested(Total)
    delay_us = fields.Nested(
        Rate, allow_none=True, metadata={"description": "Mean time that packets had to wait, last second."}
    )
    worst_delay_us = fields.Nested(
        Rate, allow_none=True, metadata={"description": "The longest wait of the last one to two seconds."}
    )
    delay_reason = fields.String(
        allow_none=True,
        metadata={
            "description": "Why both delays are null: nothing waits on this router's ports, nothing passed, "
            "or there is no class."
        },
    )
    fast_share = fields.Float(
        allow_none=True,
        metadata={"description": "0 to 1: bytes on the fast path; null where it can have no value."},
    )
    fast_share_reason = fields.String(
        allow_none=True,
        metadata={
            "description": "Why it is null: no port has a fast path, nothing passed, or there is no class. "
            "Where it is 0: which ports have no fast path."
        },
    )


class QueueStatsAnswer(Answer):
    """`stale_since` is set when no sample could be taken lately; the figures are then the last ones.

    It is also set in a ranking while the rates of most queues are not known: after the agent started, after
    most queues were replaced, and when queues were changed and the agent does not answer.
    """

    at = fields.Float()
    stale_since = fields.Float(allow_none=True)
    stale_reason = fields.String(allow_none=True)
    items = fields.List(fields.Nested(QueueStats))


class HistoryDirection(Answer):
    rate_bps = fields.List(fields.Float(allow_none=True))
    drops_ps = fields.List(fields.Float(allow_none=True))


class QueueHistoryDirection(HistoryDirection):
    """Drops that are neither early nor an ancestor's were over the queue's own limit, or its sub-queue's."""

    early_drops_ps = fields.List(
        fields.Float(allow_none=True),
        metadata={"description": "Of the drops: early, to keep the delay short. To a fifteenth of them."},
    )
    ancestor_drops_ps = fields.List(
        fields.Float(allow_none=True),
        metadata={"description": "Of the drops: a parent or a total was over its limit. To a fifteenth."},
    )
    marks_ps = fields.List(fields.Float(allow_none=True), metadata={"description": "ECN marks."})
    worst_delay_us = fields.List(
        fields.Float(allow_none=True), metadata={"description": "The longest wait of a packet."}
    )
    round_trip_us = fields.List(
        fields.Float(allow_none=True),
        allow_none=True,
        metadata={
            "description": "Of TCP, seen in passing, with the wait in the queue: `upload` to the far ends, "
            "`download` to the queue's hosts, and back. Geometric mean. Null in the windows `2m` and `1h`, "
            "in which none are kept."
        },
    )


class QueueHistory(Answer):
    """Equally spaced samples, the oldest first; null where none was taken."""

    id = fields.String()
    window = one_of("2m", "1h", "24h", "7d", "30d")
    start = fields.Float(metadata={"description": "Unix seconds of the first sample."})
    step_s = fields.Integer()
    upload = fields.Nested(QueueHistoryDirection)
    download = fields.Nested(QueueHistoryDirection)
    delay_reason = fields.String(
        allow_none=True,
        metadata={"description": "Why the longest waits are null: nothing waits on this router's ports."},
    )
    limit_bps = fields.Nested(Total, metadata={"description": "max_limit now; 0 = none."})


class SubqueueRate(Answer):
    address = fields.String(
        allow_none=True,
        metadata={"description": "`10.0.0.7/32`, masked as the type says; null: by pairs of addresses."},
    )
    rate_bps = fields.Integer(metadata={"description": "As charged, over about the last second."})


class SubqueuesOfDirection(Answer):
    rate_bps = fields.Integer(metadata={"description": "Of one sub-queue now; 0 = unlimited."})
    active = fields.Integer(metadata={"description": "Sub-queues that sent within the last second."})
    evicted = fields.Integer(metadata={"description": "Idle sub-queues that gave way to another address."})
    shared_packets = fields.Integer(
        metadata={"description": "Packets of addresses that found no place and shared one sub-queue."}
    )
    busiest = fields.List(
        fields.Nested(SubqueueRate),
        metadata={"description": "Those that send most now, the most first; 20 at most."},
    )


class Subqueues(Answer):
    """A direction is null where the queue has none."""

    bound = fields.Integer(metadata={"description": "Of all queues together, both directions."})
    used = fields.Integer(metadata={"description": "Busy ones of all queues."})
    upload = fields.Nested(SubqueuesOfDirection, allow_none=True)
    download = fields.Nested(SubqueuesOfDirection, allow_none=True)


class RoundTrip(Answer):
    """Of the newest samples, at most five."""

    min_us = fields.Float()
    median_us = fields.Float()
    samples = fields.Integer()
    age_s = fields.Float(metadata={"description": "Of the newest."})


class RoundTripBelow(Answer):
    """Of the queues below that saw a round trip in the last minute, each counted once."""

    queues = fields.Integer(metadata={"description": "How many these are."})
    min_us = fields.Float(metadata={"description": "The shortest of all."})
    median_us = fields.Float(metadata={"description": "Half of the queues have a shorter median."})
    age_s = fields.Float(metadata={"description": "Of the newest."})


class RoundTripsBelow(Answer):
    upload = fields.Nested(RoundTripBelow, allow_none=True)
    download = fields.Nested(RoundTripBelow, allow_none=True)


class RoundTrips(Answer):
    """Of TCP packets that this queue itself holds, with their wait in it. Null: none was seen in a minute."""

    upload = fields.Nested(
        RoundTrip, allow_none=True, metadata={"description": "From here to the far ends and back."}
    )
    download = fields.Nested(
        RoundTrip, allow_none=True, metadata={"description": "From here to the queue's hosts and back."}
    )
    below = fields.Nested(RoundTripsBelow)


class TcpLoss(Answer):
    """Of TCP with timestamps, in the last times that the queue was looked at: one second in seventeen, an
    older one counting a quarter less. Null: none was seen in a minute, or an HTB class holds the queue."""

    seen_bytes = fields.Integer(metadata={"description": "Bytes of data that passed, each once."})
    before_bytes = fields.Integer(
        metadata={"description": "Lost before this router: holes that were filled by what was sent again."}
    )
    before_packets = fields.Integer(metadata={"description": "Packets that brought these again."})
    after_bytes = fields.Integer(
        metadata={
            "description": "Lost after this router, or their acknowledgement there: repeats of what passed. "
            "As many as the queue's own limits dropped are not among them."
        }
    )
    after_packets = fields.Integer(metadata={"description": "Packets that brought these again."})
    age_s = fields.Float(metadata={"description": "Since it was looked at last."})


class TcpLosses(Answer):
    upload = fields.Nested(TcpLoss, allow_none=True)
    download = fields.Nested(TcpLoss, allow_none=True)


class QueueDetails(Answer):
    id = fields.String()
    losses = fields.Nested(TcpLosses)
    subqueues = fields.Nested(Subqueues)
    round_trips = fields.Nested(RoundTrips)


class InterfaceHistory(Answer):
    """Equally spaced samples, the oldest first; null where none was taken."""

    id = fields.String()
    window = one_of("2m", "1h", "24h", "7d", "30d")
    start = fields.Float(metadata={"description": "Unix seconds of the first sample."})
    step_s = fields.Integer()
    rx = fields.Nested(HistoryDirection)
    tx = fields.Nested(HistoryDirection)


class UnknownStats(Answer):
    """What was forwarded and is in no queue, since the port is shaped; not what the router itself sends."""

    rx_packets = fields.Integer()
    rx_bytes = fields.Integer()
    rx_packets_ps = fields.Float()
    rx_bps = fields.Float()
    tx_packets = fields.Integer()
    tx_bytes = fields.Integer()
    tx_packets_ps = fields.Float()
    tx_bps = fields.Float()


class InterfaceStats(Answer):
    id = fields.String()
    up = fields.Boolean()
    speed_bps = fields.Integer(allow_none=True)
    rx_bps = fields.Float()
    tx_bps = fields.Float()
    rx_packets_ps = fields.Float()
    tx_packets_ps = fields.Float()
    rx_drops_ps = fields.Float()
    tx_drops_ps = fields.Float()
    rx_bytes = fields.Integer()
    tx_bytes = fields.Integer()
    unshaped_packets = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata={"description": "Packets that left unshaped, by reason, since the port is shaped."},
    )
    passed_up_packets = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata={"description": "Packets that came here and the fast path left to the stack, by reason."},
    )
    unknown = fields.Nested(UnknownStats)  # type: ignore[assignment]  # marshmallow takes it out of the class
    refused_packets = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata={
            "description": "Packets that were dropped here, by check: impossible-source, wrong-way "
            "(`reverse_path`), refused (`unknown`)."
        },
    )


class InterfaceStatsAnswer(Answer):
    at = fields.Float()
    stale_since = fields.Float(allow_none=True)
    stale_reason = fields.String(allow_none=True)
    items = fields.List(fields.Nested(InterfaceStats))


class SystemStats(Answer):
    at = fields.Float()
    cpu_busy = fields.List(fields.Float(), metadata={"description": "0 to 1 for each CPU."})
    memory_total_bytes = fields.Integer()
    memory_available_bytes = fields.Integer()
    load_1m = fields.Float()
    uptime_s = fields.Float()


class StreamEvent(Answer):
    """What `stats/stream` sends; the event's name tells which member its data is."""

    queues = fields.Nested(QueueStatsAnswer)
    interfaces = fields.Nested(InterfaceStatsAnswer)
    system = fields.Nested(SystemStats)
    config = fields.Nested("PendingAnswer")
    leases = fields.Nested(LeaseChanges)
    findings = fields.Nested("Findings")
    stale = fields.Nested("StaleMarker")
    states = fields.Nested("StatesEvent")


class LearntState(Answer):
    """As `/{collection}/{id}/state` has it; `fields` are those that the kind declares."""

    kind = fields.String()
    id = fields.String()
    at = fields.String(allow_none=True)
    stale_since = fields.String(allow_none=True)
    stale_reason = fields.String(allow_none=True)
    fields_ = fields.Dict(keys=fields.String(), data_key="fields", attribute="fields")


class StatesEvent(Answer):
    """`at` is when all that is not stale was so, also what is not among the items because it did not change;
    null while the agent is away."""

    at = fields.String(allow_none=True)
    items = fields.List(fields.Nested(LearntState))


class StaleMarker(Answer):
    at = fields.Float()
    since = fields.Float()
    reason = fields.String()
