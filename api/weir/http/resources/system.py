# SPDX-License-Identifier: Apache-2.0
"""The router itself: version, kernel, capabilities, health, audit trail."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import moment, read_number
from weir.http.context import context, me, service
from weir.http.endpoint import ADMIN, PUBLIC, READ, Resource, answer
from weir.http.health import system_json
from weir.http.rendering import committed_json, diff_page
from weir.http.schemas import accounts, changes, paging, system
from weir.http.security import origin
from weir.service.setup import is_near

resource = Resource("system", "The router itself: version, kernel, capabilities, health, audit trail.")


@resource.operation("GET", "/system", scope=READ, answers=system.System)
def get_system() -> Response:
    """Version, kernel, capabilities and health"""
    return answer(system_json(context(), me()))


@resource.operation("GET", "/system/live", scope=PUBLIC, answers=system.Live)
def get_liveness() -> Response:
    """Whether the API answers

    For supervisors and load balancers; says nothing about the router.
    """
    return answer({"ok": True})


@resource.operation("GET", "/system/name", scope=PUBLIC, answers=system.Name)
def get_name() -> Response:
    """The router's name and notice, for the sign-in page

    Told without an account to private addresses only: who has several routers open must not give one the
    password of another. The notice of the kind `identity` is for everybody, and all there is with it.
    """
    name = context().stats.router.system_answer.get("hostname")
    told = {"hostname": str(name) if name and is_near(origin()) else None}
    return answer({**told, "login_banner": service().setup.login_banner()})


@resource.operation("GET", "/system/store", scope=READ, answers=system.Store)
def get_store() -> Response:
    """Whether the router follows its database, and what is damaged in it"""
    return answer(service().stored.state(me()))


@resource.operation("POST", "/system/store/accept", scope=ADMIN, body=system.StoreHead, answers=system.Store)
def accept_store(body: dict[str, Any]) -> Response:
    """Run what the database has, though the router ran something else last

    Name the revision and digest that `GET /system/store` gave as `stored`.
    """
    service().stored.accept(me(), body["revision"], body["digest"])
    return answer(service().stored.state(me()))


@resource.operation("GET", "/system/store/restore", scope=READ, query=paging.Page, answers=changes.Restore)
def preview_restore(query: dict[str, Any]) -> Response:
    """What a restore would write: objects that the router runs and the database no longer has whole"""
    start = read_number(query["cursor"]) or 0
    return answer(diff_page(service().stored.lost(me(), start, query["limit"])))


@resource.operation("POST", "/system/store/restore", scope=ADMIN, answers=changes.CommitAnswer)
def restore_store() -> Response:
    """Write what the router runs in the place of what is damaged"""
    return answer(committed_json(service().stored.restore(me())))


@resource.operation("GET", "/system/audit", scope=ADMIN, query=paging.AuditQuery, answers=accounts.AuditPage)
def list_audit(query: dict[str, Any]) -> Response:
    """Who did what from where, the newest first"""
    limit = query["limit"]
    before = read_number(query["cursor"])
    found = service().audit.list(me(), before=before, limit=limit, text=query["q"] or "")
    items = [
        {
            "id": entry.id,
            "at": moment(entry.at_ms),
            "actor": entry.actor,
            "via": entry.via,
            "source": entry.source,
            "action": entry.action,
            "subject": entry.subject,
            "outcome": entry.outcome,
            "detail": entry.detail,
        }
        for entry in found
    ]
    return answer({"items": items, "next_cursor": str(found[-1].id) if len(found) == limit else None})
