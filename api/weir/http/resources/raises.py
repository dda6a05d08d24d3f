# SPDX-License-Identifier: Apache-2.0
"""Limits of queues that are raised for a while."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import moment
from weir.http.context import me, service
from weir.http.endpoint import READ, SUPPORT, Resource, answer
from weir.http.schemas import raises
from weir.model.pair import Pair
from weir.service.raising import RaiseView
from weir.store.clock import wall_ms

resource = Resource("raises", "Limits of queues that are raised for a while and go back by themselves.")
RAISE = "/queues/<string(maxlength=63):queue_id>/raise"


def raise_json(view: RaiseView) -> dict[str, Any]:
    raised = view.raised
    return {
        "queue_id": raised.queue_id,
        "max_limit_bps": {"upload": raised.limits.upload, "download": raised.limits.download},
        "before_bps": {"upload": raised.before.upload, "download": raised.before.download},
        "author": raised.author,
        "begun_at": moment(raised.begun_at_ms),
        "until": moment(wall_ms() + int(view.seconds_left * 1000)),
        "seconds_left": round(view.seconds_left, 1),
        "held_up": view.held_up,
    }


@resource.operation("GET", "/raises", scope=READ, answers=raises.RaiseList)
def list_raises() -> Response:
    """The limits that are raised now"""
    return answer({"items": [raise_json(view) for view in service().raises.every(me())]})


@resource.operation("POST", RAISE, scope=SUPPORT, body=raises.RaiseInput, answers=raises.Raise)
def raise_limit(body: dict[str, Any], queue_id: str) -> Response:
    """Raise a queue's limit for a while

    It holds at once, as a revision of its own, and goes back by itself as another one, also after a
    restart. A queue that is raised already gets the new limit and time. Once somebody sets another limit,
    that one stays.
    """
    limits = Pair(**body["max_limit_bps"])
    return answer(raise_json(service().raises.begin(me(), queue_id, limits, body["for_s"])))


@resource.operation("DELETE", RAISE, scope=SUPPORT, answers=raises.RaiseEnd)
def end_raise(queue_id: str) -> Response:
    """Take a raised limit back now"""
    return answer({"went_back": service().raises.end(me(), queue_id)})
