# SPDX-License-Identifier: Apache-2.0
"""Updates of the system: two slots, a signed bundle, a start into the new one, and the way back."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir.http.answers import moment
from weir.http.context import me, service
from weir.http.endpoint import ADMIN, READ, Resource, answer
from weir.http.schemas import updates
from weir.model.bundle import MAX_BUNDLE_BYTES

resource = Resource("updates", "Updates of the system: two slots, signed bundles, and the way back.")
BINARY = {"type": "string", "format": "binary"}


@resource.operation("GET", "/system/update", scope=READ, answers=updates.Updates)
def get_updates() -> Response:
    """Slots, and how far the installation is"""
    return answer(updates_json(service().updates.status(me())))


@resource.operation(
    "POST",
    "/system/update",
    scope=ADMIN,
    upload={"application/octet-stream": BINARY},
    answers=updates.Updates,
    status=202,
    max_body_bytes=MAX_BUNDLE_BYTES,
)
def install_update() -> Response:
    """Install a signed bundle into the slot that does not run

    The bundle is checked before the answer: unsigned, damaged, for another product or too old is refused
    (422) and nothing is changed. Then it is installed in the background; `GET` tells how far it is. The next
    start runs it; if it does not become healthy, the router goes back to this slot by itself.
    """
    told = service().updates.install(me(), request.stream, request.content_length)
    return answer(updates_json(told), 202)


@resource.operation(
    "POST", "/system/update/slot", scope=ADMIN, body=updates.SlotChoice, answers=updates.Updates
)
def choose_slot(body: dict[str, Any]) -> Response:
    """Choose the slot that the next start takes"""
    return answer(updates_json(service().updates.choose(me(), body["slot"])))


@resource.operation("POST", "/system/restart", scope=ADMIN, answers=updates.Restarting, status=202)
def restart_router() -> Response:
    """Restart the router"""
    service().updates.restart(me())
    return answer({"restarting": True}, 202)


def updates_json(told: dict[str, Any]) -> dict[str, Any]:
    """The agent's answer with times as text."""
    job = told["job"]
    return {
        "available": bool(told["available"]),
        "reason": told.get("reason"),
        "booted": told.get("booted"),
        "next": told.get("next"),
        "slots": told.get("slots", []),
        "job": {
            "state": job["state"],
            "percent": job["percent"],
            "what": job["what"],
            "version": job["version"],
            "code": job["code"],
            "message": job["message"],
            "started_at": moment(job["started_at_ms"]),
            "ended_at": moment(job["ended_at_ms"]),
        },
    }
