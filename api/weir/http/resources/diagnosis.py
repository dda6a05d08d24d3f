# SPDX-License-Identifier: Apache-2.0
"""What ails the router, with numbers and remedies, and applying a remedy on trial."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response

from weir.http.answers import moment
from weir.http.context import context, me, service
from weir.http.endpoint import ADMIN, READ, SUPPORT, WRITE, Resource, answer
from weir.http.rendering import (
    committed_json,
    findings_answer,
    incident_answer,
    incidents_answer,
    log_answer,
    marks_answer,
    trial_answer,
    why_answer,
)
from weir.http.schemas import diagnosis, log, path
from weir.http.support_file import parts_of
from weir.model.moment import ms_of
from weir.service.log import Wanted
from weir.service.marks import marks
from weir.service.path_answers import PathAsked
from weir.store.clock import wall_ms

ZIP = "application/zip"
BYTES = {"type": "string", "format": "binary"}
INCIDENT = "/diagnosis/incidents/<int(max=9007199254740991):number>"
resource = Resource("diagnosis", "What ails the router, with numbers, thresholds and remedies.")


@resource.operation("GET", "/diagnosis/findings", scope=READ, answers=diagnosis.Findings)
def list_findings() -> Response:
    """What ails the router now

    The router looks at itself every five seconds. What three of the last six looks show is a finding, until
    six looks in a row do not. What could not be looked at is listed with the reason. Streams have them as
    the topic `findings`.
    """
    return answer(findings_answer(service().diagnosis.findings(me())))


@resource.operation("GET", "/diagnosis/why", scope=READ, query=diagnosis.WhyQuery, answers=diagnosis.Why)
def explain_slowness(query: dict[str, Any]) -> Response:
    """Say why a customer is slow

    Of a queue, or of the host that has an address: the line from the customer's device through its port, its
    queue and those above it, this router and its port to the internet. One culprit with its numbers, and what
    was ruled out by numbers. What was not measured is said to be not known. No packet is sent. 503 while the
    agent does not answer.
    """
    found = service().why.line(me(), context().stats, query["queue"], query["address"], query["towards"])
    return answer(why_answer(found, wall_ms()))


@resource.operation("GET", "/diagnosis/path", scope=READ, query=path.PathQuery, answers=path.PacketPath)
def predict_path(query: dict[str, Any]) -> Response:
    """Say what the router would do with a packet

    Its way through the router, step by step, each with what decided there: interface and zone, the check of
    its source, NAT, route, firewall, the next station, queues, the fast path. Where it would be dropped the
    line ends. The kernel is asked for routes and neighbours, and the compiled rules are walked through; no
    packet is sent. A step that could not be looked at says so and why.
    """
    return answer(asdict(service().path.predict(me(), context().stats, PathAsked(**query))))


@resource.operation(
    "POST", "/diagnosis/path/prove", scope=SUPPORT, body=path.ProofInput, answers=path.PacketProof
)
def prove_path(body: dict[str, Any]) -> Response:
    """Prove what the router would do with a packet

    What `GET /diagnosis/path` foretells, compared with what a frame of that kind does: it is given to the
    interface, goes through the programs, routes and rules that run, and is caught before it leaves or a
    program of the router gets it. Rules and the queue count it as any packet. It begins a connection, which
    is forgotten. One at a time (409 `proof-busy`); 409 `connection-exists` where a connection with these
    ports is there; 503 while the agent does not answer.
    """
    return answer(asdict(service().path.prove(me(), context().stats, PathAsked(**body))))


@resource.operation(
    "GET", "/diagnosis/drops", scope=READ, query=diagnosis.DropsQuery, answers=diagnosis.DropsAnswer
)
def list_drops(query: dict[str, Any]) -> Response:
    """List the packets that were dropped, by owner

    By queue, firewall rule, zone, interface and the network stack, each with the reason, for the last
    minutes up to now; what was received for others and not sent again. Counters are read once a minute, so
    the answer says from when to when it is. It goes back to the start of the API, at most 24 hours. What
    nothing counts is listed as such. 503 while the agent does not answer.
    """
    found = context().stats.drops.since(query["minutes"])
    times = {name: moment(round(found.pop(f"{name}_s") * 1000)) for name in ("since", "until")}
    return answer({**times, **found})


@resource.operation(
    "GET", "/diagnosis/figures", scope=READ, query=diagnosis.FiguresQuery, answers=diagnosis.FiguresAnswer
)
def list_figures(query: dict[str, Any]) -> Response:
    """Show the system's own figures by the minute

    Cores, memory, connections, neighbors, drops and what else the router looks at in itself, for up to 24
    hours; of each minute the mean and the most, or the sum. They are kept over a restart. A minute that was
    not measured is null. What cannot be read or written is named in `problems`.
    """
    return answer(context().stats.figures.answer(query["figures"], query["minutes"]))


@resource.operation(
    "GET", "/diagnosis/marks", scope=READ, query=diagnosis.MarksQuery, answers=diagnosis.Marks
)
def list_marks(query: dict[str, Any]) -> Response:
    """List what graphs mark

    Revisions of the configuration and incidents of the last minutes, each with its time.
    """
    found = marks(
        lambda most: service().revisions.list(me(), limit=most),
        context().stats.incidents.listed()["items"],
        wall_ms() - query["minutes"] * 60_000,
    )
    return answer(marks_answer(found))


@resource.operation("GET", "/diagnosis/incidents", scope=READ, answers=diagnosis.Incidents)
def list_incidents() -> Response:
    """List what began, and was recorded

    When a finding begins, a port loses its carrier or goes, the agent is away, the configuration goes back or
    a commit fails, the figures of two minutes before and two minutes after are kept by the second. The last
    200 are kept, also over a restart, at most 13 MB. What happens again within ten minutes is counted
    (`times`). At most four are recorded at once; what begins meanwhile is among their `events`. What cannot
    be read or written is named in `problems`.
    """
    return answer(incidents_answer(context().stats.incidents.listed()))


@resource.operation("GET", INCIDENT, scope=READ, answers=diagnosis.Incident)
def get_incident(number: int) -> Response:
    """Show the four minutes around what began

    The busiest interfaces and queues and what it is about, each with a sample a second; null where none was
    taken. `events` are what else happened, with commits. 503 `incident-damaged` where its file cannot be
    read.
    """
    return answer(incident_answer(context().stats.incidents.one(number)))


@resource.operation("GET", "/diagnosis/log", scope=SUPPORT, query=log.LogQuery, answers=log.LogAnswer)
def read_log(query: dict[str, Any]) -> Response:
    """Read what the router's processes logged

    From the journal, of the kernel and of the services that make the router, the newest lines first found and
    the newest last in the answer. Secrets of the configuration are taken out before anything is searched for.
    To follow it, ask again with `after`. 503 `no-journal` where the journal cannot be read, and while the
    agent does not answer.
    """
    found = service().log.lines(
        me(),
        Wanted(
            query["source"] or "",
            query["severity"],
            query["q"] or "",
            None if query["since"] is None else ms_of(query["since"]),
            query["after"] or "",
            query["limit"],
        ),
    )
    return answer(log_answer(found))


@resource.operation("GET", "/diagnosis/support-file", scope=ADMIN, media={ZIP: BYTES})
def download_support_file() -> Response:
    """Everything that helpers need to know about this router, as one file

    A zip archive that is written while it is sent: health, findings, the configuration as a backup without
    secrets, the last revisions and audit entries, state, drops, figures, and the ends of the logs. No
    password, key or token is in it, and no packet; names, addresses and comments are. `contents.json` in it
    lists its files, those that were cut, and those that could not be had with the reason. At most 140 MiB
    before compression; one at a time (409 `support-file-busy`), in 300 s.
    """
    found = service().support.begin(me(), context().hostname, parts_of(context(), me()))
    response = Response(found, mimetype=ZIP)
    response.headers["Content-Disposition"] = context().attachment("support", "zip")
    return response


@resource.operation(
    "POST", "/diagnosis/apply", scope=WRITE, body=diagnosis.ApplyInput, answers=diagnosis.Applied
)
def apply_remedy(body: dict[str, Any]) -> Response:
    """Apply a remedy on trial

    It is a revision of its own, which goes back by itself unless it is confirmed in time. The finding is
    looked for again; the outcome is among the `trials` of `GET /diagnosis/findings` half a minute later.
    """
    done = service().diagnosis.apply(
        me(), body["code"], body["subject"], body["remedy"], body["confirm_within_s"]
    )
    return answer(
        {
            "committed": committed_json(done.committed),
            "trial": None if done.trial is None else trial_answer(done.trial),
            "untried": done.untried,
        }
    )
