# SPDX-License-Identifier: Apache-2.0
"""Findings about the running system as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.diagnosis.figures import FIGURES
from weir.http.schemas.base import Answer, Input, QueryInteger, Text, Whole, one_of
from weir.http.schemas.changes import CONFIRM_WITHIN_S, CommitAnswer
from weir.http.schemas.paging import CommaList, Query
from weir.http.schemas.stats import HistoryDirection
from weir.model.limits import MAX_NAME_CHARS

DEFAULT_CONFIRM_S = 300
TRIAL_S = 60
"""What was changed is not undone while it is measured: six looks, 5 s apart, after the one of the change."""
MAX_SUBJECT_CHARS = 200


class DiagnosisNumber(Answer):
    """A measured value; `shown` with its unit, for people."""

    name = fields.String()
    value = fields.Float()
    threshold = fields.Float(
        allow_none=True, metadata={"description": "Null: the number is told and not compared."}
    )
    unit = fields.String()
    shown = fields.String()
    threshold_shown = fields.String(allow_none=True)


class Remedy(Answer):
    """What can be done. One with a `setting` is an override of the tuning, which `POST /diagnosis/apply`
    takes."""

    id = fields.String()
    text = fields.String()
    cost = fields.String(allow_none=True)
    setting = fields.String(allow_none=True)
    value = fields.String(allow_none=True)


class DiagnosisFinding(Answer):
    """Something that ails the router now. `code` and `subject` together name it."""

    code = fields.String()
    severity = one_of("error", "warning", "notice")
    subject = fields.String()
    title = fields.String()
    sentence = fields.String()
    since = fields.String()
    seen = fields.String(metadata={"description": "When it was seen last."})
    doubt = fields.String(
        allow_none=True, metadata={"description": "Why it could not be looked at lately, so that it stands."}
    )
    evidence = fields.String(metadata={"description": "The document behind it (docs/diagnosis.md)."})
    numbers = fields.List(fields.Nested(DiagnosisNumber))
    remedies = fields.List(fields.Nested(Remedy))


class Look(Answer):
    id = fields.String()
    what = fields.String()
    figure = fields.String(
        allow_none=True, metadata={"description": "What was measured, in words, also where nothing is wrong."}
    )


class Unseen(Answer):
    id = fields.String()
    what = fields.String()
    reason = fields.String()


class Unknown(Answer):
    id = fields.String()
    reason = fields.String()


class Trial(Answer):
    """A remedy that was applied, and whether the finding was seen since."""

    code = fields.String()
    subject = fields.String()
    remedy = fields.String()
    revision = fields.Integer()
    at = fields.String()
    outcome = one_of("measuring", "helped", "no-change", "unknown")
    sentence = fields.String()


class Findings(Answer):
    at = fields.String(allow_none=True, metadata={"description": "Of the last look; null before the first."})
    period_s = fields.Float()
    cpu_ms_per_sample = fields.Float(
        allow_none=True, metadata={"description": "Processor time of one look, on average."}
    )
    findings = fields.List(fields.Nested(DiagnosisFinding), metadata={"description": "The oldest first."})
    looked_at = fields.List(fields.Nested(Look))
    not_looked_at = fields.List(
        fields.Nested(Unseen), metadata={"description": "Nothing is known of these, and why."}
    )
    trials = fields.List(
        fields.Nested(Trial), metadata={"description": "The last remedies applied, since the agent's start."}
    )


class WhyQuery(Query):
    queue = Text(min_length=1, max_length=63, metadata={"description": "A queue's id; or give an address."})
    address = Text(max_length=64, metadata={"description": "A customer's address."})
    towards = Text(
        max_length=64,
        metadata={
            "description": "An address in the internet whose way is meant. Without it the uplink in use, or "
            "else the way to 1.1.1.1 or its IPv6 twin."
        },
    )


class FixSubject(Answer):
    kind = one_of("queue", "interface", "uplink", "finding", "tool")
    id = fields.String()


class Fix(Answer):
    """What can be done about a place on the line."""

    id = fields.String()
    text = fields.String()
    subject = fields.Nested(FixSubject, allow_none=True, metadata={"description": "What it is done to."})
    command = fields.String(allow_none=True, metadata={"description": "The command line for it."})


class Judged(Answer):
    """One place on the line. `clear` is ruled out by what was measured; `trouble` would be the culprit if
    another place were not."""

    place = one_of("device", "access", "queue", "parent", "router", "uplink", "internet")
    subject = fields.String()
    state = one_of("culprit", "trouble", "clear", "unknown")
    sentence = fields.String()
    code = fields.String(allow_none=True, metadata={"description": "Of what is wrong (docs/diagnosis.md)."})
    numbers = fields.List(fields.Nested(DiagnosisNumber))
    fixes = fields.List(fields.Nested(Fix))
    not_known = fields.List(
        fields.String(), metadata={"description": "What of this place was not measured: never ruled out."}
    )


class Loss(Answer):
    """Of one direction, before, in or after this router."""

    way = one_of("upload", "download")
    where = one_of("before", "here", "after")
    known = fields.Boolean()
    sentence = fields.String()
    numbers = fields.List(fields.Nested(DiagnosisNumber))


class WhyQueue(Answer):
    id = fields.String()
    name = fields.String()


class WhyUplink(Answer):
    """The uplink of the configuration that the line leaves by."""

    id = fields.String()
    status = one_of("up", "down", "unknown")
    answers = fields.String(
        allow_none=True, metadata={"description": "What each of its checks said last; null: it has none."}
    )


class Why(Answer):
    """One customer's line, from the device to the internet."""

    at = fields.String()
    queue = fields.Nested(
        WhyQueue, allow_none=True, metadata={"description": "Null: none limits it, or it is not known."}
    )
    address = fields.String(
        allow_none=True, metadata={"description": "Of the device; null: the queue has no addresses."}
    )
    towards = fields.String(
        allow_none=True,
        metadata={"description": "The address whose way is meant; null: whatever leaves by the uplink."},
    )
    uplink = fields.Nested(
        WhyUplink,
        allow_none=True,
        metadata={"description": "Null: it leaves by none of the configured ones."},
    )
    sentence = fields.String(metadata={"description": "The answer for people."})
    culprit = fields.Integer(
        allow_none=True, metadata={"description": "Its place in `line`; null: none was found."}
    )
    line = fields.List(fields.Nested(Judged), metadata={"description": "In the order of an upload."})
    losses = fields.List(fields.Nested(Loss))


class DropsQuery(Query):
    minutes = QueryInteger(
        1, 1440, load_default=60, metadata={"description": "How far back, up to the start of the API."}
    )


class Dropped(Answer):
    """Packets that one owner dropped for one reason."""

    kind = one_of(
        *(
            "queue",
            "firewall-rule",
            "firewall",
            "zone",
            "zone-policy",
            "bounded-source",
            "interface",
            "router",
        )
    )
    id = fields.String()
    reason = fields.String()
    text = fields.String(metadata={"description": "The reason for people."})
    way = one_of("upload", "download", allow_none=True)
    interface = fields.String(allow_none=True)
    packets = fields.Integer()
    share = fields.Float(metadata={"description": "Of all that were dropped."})


class DropsAnswer(Answer):
    since = fields.String(metadata={"description": "The reading with which the span begins."})
    until = fields.String()
    packets = fields.Integer()
    items = fields.List(fields.Nested(Dropped), metadata={"description": "Most packets first."})
    rest_packets = fields.Integer(metadata={"description": "By owners that are not listed."})
    unseen = fields.List(
        fields.Nested(Unknown), metadata={"description": "What could not be read the last time, and why."}
    )
    not_counted = fields.List(
        fields.String(), metadata={"description": "What is dropped and counted by nobody."}
    )


class FiguresQuery(Query):
    minutes = QueryInteger(
        1, 1440, load_default=60, metadata={"description": "How many, up to the last one that is over."}
    )
    figures = CommaList(
        len(FIGURES),
        tuple(FIGURES),
        metadata={
            "description": f"Of: {', '.join(FIGURES)}. Without it, those that have one line each.",
            "example": "cores,memory",
        },
    )


class FigureSeries(Answer):
    """One figure, a value a minute from `start` on; null: not measured."""

    figure = one_of(*FIGURES)
    subject = fields.String(
        allow_none=True, metadata={"description": "A core's number, a service or an interface."}
    )
    text = fields.String(metadata={"description": "What it is, for people."})
    unit = one_of("share", "count", "packets", "packets/s", "s")
    of = one_of("core", "service", "interface", allow_none=True)
    adds_up = fields.Boolean(metadata={"description": "A minute has the sum; else the mean, and the most."})
    values = fields.List(fields.Float(allow_none=True))
    most = fields.List(
        fields.Float(allow_none=True),
        allow_none=True,
        metadata={"description": "In one second, or in one look of 5 s; null for what adds up."},
    )


class FiguresAnswer(Answer):
    start = fields.Integer(metadata={"description": "Unix seconds of the first minute."})
    step_s = fields.Integer()
    minutes = fields.Integer()
    items = fields.List(
        fields.Nested(FigureSeries),
        metadata={"description": "What was never measured in this time is not in it."},
    )
    unseen = fields.List(
        fields.Nested(Unknown),
        metadata={"description": "What could not be looked at the last time, and why."},
    )
    problems = fields.List(
        fields.String(), metadata={"description": "What cannot be read or written, and why."}
    )


class MarksQuery(Query):
    minutes = QueryInteger(1, 43_200, load_default=1440, metadata={"description": "How far back."})


class Mark(Answer):
    """A revision or an incident, or both: a configuration that went back by itself."""

    at = fields.String()
    kind = one_of("commit", "rollback", "incident")
    severity = one_of("error", "warning", "notice")
    sentence = fields.String()
    revision = fields.Integer(allow_none=True)
    incident = fields.Integer(allow_none=True)


class Marks(Answer):
    whole_since = fields.String(
        metadata={"description": "From then on all are listed; of revisions at most 500."}
    )
    items = fields.List(fields.Nested(Mark), metadata={"description": "The oldest first."})


class IncidentHead(Answer):
    """Something that began. `code` is a finding's, or `port-down`, `port-gone`, `agent-away`, `rollback`,
    `commit-failed`."""

    id = fields.Integer()
    code = fields.String()
    subject = fields.String()
    severity = one_of("error", "warning", "notice")
    sentence = fields.String()
    at = fields.String()
    times = fields.Integer(metadata={"description": "How often, with less than ten minutes between two."})
    last_at = fields.String(metadata={"description": "When it began last of these times."})
    state = one_of(
        "recording", "whole", "cut", metadata={"description": "Cut: the API ended before two minutes passed."}
    )
    recorded_until = fields.String()


class Incidents(Answer):
    since = fields.String(
        metadata={"description": "Since when it is looked, without a break: the API's start."}
    )
    kept = fields.Integer(metadata={"description": "So many at most; the oldest go."})
    around_s = fields.Integer(metadata={"description": "Seconds before and after that are recorded."})
    problems = fields.List(
        fields.String(), metadata={"description": "What cannot be read or written, and why."}
    )
    items = fields.List(fields.Nested(IncidentHead), metadata={"description": "The newest first."})


class IncidentQueueWay(HistoryDirection):
    worst_delay_us = fields.List(
        fields.Float(allow_none=True), metadata={"description": "The longest wait of a packet."}
    )


class IncidentInterface(Answer):
    id = fields.String()
    rx = fields.Nested(HistoryDirection)
    tx = fields.Nested(HistoryDirection)


class IncidentQueue(Answer):
    id = fields.String()
    name = fields.String(allow_none=True, metadata={"description": "As it was called then."})
    upload = fields.Nested(IncidentQueueWay)
    download = fields.Nested(IncidentQueueWay)


class IncidentEvent(Answer):
    """What happened in these minutes."""

    at = fields.String()
    code = fields.String()
    subject = fields.String()
    severity = one_of("error", "warning", "notice")
    sentence = fields.String()
    begins = fields.Boolean(metadata={"description": "Whether it is of those that begin an incident."})


class Incident(IncidentHead):
    """With a sample each second from `start` on; null where none was taken."""

    start = fields.Integer(metadata={"description": "Unix seconds of the first sample."})
    cores = fields.List(
        fields.List(fields.Float(), allow_none=True),
        metadata={"description": "Each second the busy share of each core."},
    )
    interfaces = fields.List(fields.Nested(IncidentInterface), metadata={"description": "At most 16."})
    queues = fields.List(fields.Nested(IncidentQueue), metadata={"description": "At most 24."})
    events = fields.List(fields.Nested(IncidentEvent), metadata={"description": "At most 100."})
    left_out = fields.Integer(
        metadata={"description": "Of interfaces and queues, as an incident takes 64 KiB at most."}
    )


class ApplyInput(Input):
    code = Text(min_length=1, max_length=MAX_NAME_CHARS, required=True)
    subject = Text(min_length=1, max_length=MAX_SUBJECT_CHARS, required=True)
    remedy = Text(min_length=1, max_length=MAX_NAME_CHARS, required=True)
    confirm_within_s = Whole(
        TRIAL_S,
        CONFIRM_WITHIN_S[1],
        load_default=DEFAULT_CONFIRM_S,
        metadata={"description": "The change goes back by itself unless confirmed within so many seconds."},
    )


class Applied(Answer):
    committed = fields.Nested(CommitAnswer)
    trial = fields.Nested(Trial, allow_none=True)
    untried = fields.String(allow_none=True, metadata={"description": "Why it is not measured again."})
