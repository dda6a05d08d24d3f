# SPDX-License-Identifier: Apache-2.0
"""Live figures and their recent past, and the stream that carries them to browsers."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir.http.context import context, me, service
from weir.http.endpoint import READ, Resource, answer
from weir.http.schemas import paging, stats
from weir.http.serving import STREAM
from weir.model.objects import Queue

resource = Resource("stats", "Rates over the last second and minute, history, and a stream at 1 Hz.")


@resource.operation(
    "GET", "/stats/queues", scope=READ, query=paging.StatsQueuesQuery, answers=stats.QueueStatsAnswer
)
def queue_stats(query: dict[str, Any]) -> Response:
    """Live figures of the busiest queues, or of those named by `ids`

    `by=load` ranks by the share of the limit in use, in the direction where it is larger.
    """
    found = context().stats
    if query["ids"] is not None:
        return answer(found.queues(query["ids"]))
    return answer(found.top(query["top"], query["by"]))


@resource.operation(
    "GET",
    "/stats/queues/<string(maxlength=63):queue_id>/history",
    scope=READ,
    query=paging.HistoryQuery,
    answers=stats.QueueHistory,
)
def queue_history(query: dict[str, Any], queue_id: str) -> Response:
    """A queue's last two minutes, hour, day, week or month"""
    stored = service().config.get(me(), "queue", queue_id)
    assert isinstance(stored.object, Queue)
    limit = stored.object.max_limit_bps
    body = context().stats.history(queue_id, query["window"])
    return answer({**body, "limit_bps": {"upload": limit.upload, "download": limit.download}})


@resource.operation(
    "GET",
    "/stats/queues/<string(maxlength=63):queue_id>/details",
    scope=READ,
    answers=stats.QueueDetails,
)
def queue_details(queue_id: str) -> Response:
    """What the kernel knows of a queue beyond its counters

    Its sub-queues by address (PCQ): how many there may be, how many idle ones gave way to newcomers. And the
    round trips of its TCP packets, seen in passing: a queue is looked at for one second in sixteen.
    """
    return answer({"id": queue_id, **service().config.details(me(), queue_id)})


@resource.operation("GET", "/stats/interfaces", scope=READ, answers=stats.InterfaceStatsAnswer)
def interface_stats() -> Response:
    """Live figures of the interfaces"""
    return answer(context().stats.router.interfaces())


@resource.operation(
    "GET",
    "/stats/interfaces/<string(maxlength=15):name>/history",
    scope=READ,
    query=paging.HistoryQuery,
    answers=stats.InterfaceHistory,
)
def interface_history(query: dict[str, Any], name: str) -> Response:
    """An interface's last two minutes, hour, day, week or month

    By the second, the minute, ten minutes, the hour and four hours; the last three outlive a restart.
    """
    return answer(context().stats.router.interface_history(name, query["window"]))


@resource.operation("GET", "/stats/system", scope=READ, answers=stats.SystemStats)
def system_stats() -> Response:
    """CPU, memory and load of the router"""
    return answer(context().stats.router.system())


@resource.operation(
    "GET",
    "/stats/stream",
    scope=READ,
    query=paging.StreamQuery,
    media={"text/event-stream": stats.StreamEvent},
    streams=True,
)
def stream_stats(query: dict[str, Any]) -> Response:
    """Server-sent events, once a second

    `event: queues`, `interfaces`, `system`, `config` (a commit, a confirmation, a rollback), `states` (what
    is learnt about the objects named in `states`: all at first, then every two seconds what changed),
    `findings` (what ails the router, whenever that changes; only for those who name the topic) and
    `stale` (no sample could be taken); the data is the member of that name in the schema. The number of
    streams is bounded (503 beyond it); close those of hidden tabs.
    """
    stream = context().stats.stream(query["topics"], query["ids"], query["top"], me(), query["states"])
    if request.method == "GET":
        request.environ[STREAM] = stream
    response = Response(stream, mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response
