# SPDX-License-Identifier: Apache-2.0
"""Simple queues: list, read, change, move, explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response

from weir.http import editing
from weir.http.answers import findings_json, read_number
from weir.http.context import me, service
from weir.http.endpoint import READ, answer
from weir.http.ranking import is_live, live_page
from weir.http.rendering import field_change_json, object_json, revision_json, staged_json
from weir.http.resources.kinds import resource_of
from weir.http.schemas import changes, paging, queue
from weir.model import tree
from weir.model.document import Document
from weir.model.enforcement import enforcement_of
from weir.model.objects import Queue
from weir.model.problem import Invalid
from weir.service import Listing, Stored

QUEUE = "/queues/<string(maxlength=63):queue_id>"


def queue_rows(found: Sequence[Stored]) -> list[dict[str, Any]]:
    """Queues with what is read-only: ancestors, children, what is in force, and findings."""
    with service().config.document(me()) as document:
        findings = service().config.findings_by_id(me(), "queue", [stored.id for stored in found])
        return [
            {
                **object_json(stored),
                "path": ancestors_json(document, stored.id),
                "child_count": len(document.children_of(stored.id)),
                "enforcement": enforcement_json(stored, document),
                "warnings": findings_json(findings[stored.id]),
            }
            for stored in found
        ]


def ancestors_json(document: Document, queue_id: str) -> list[dict[str, str]]:
    """The path from the root of the tree down to the parent."""
    queue = document.queue(queue_id)
    above = list(tree.ancestors(document, queue)) if queue else []
    return [{"id": item.id, "name": item.name} for item in reversed(above)]


def enforcement_json(stored: Stored, document: Document) -> list[dict[str, Any]]:
    """The fields that are given and what becomes of them on this router."""
    assert isinstance(stored.object, Queue)
    return [item.to_json() for item in enforcement_of(stored.object, document)]


def queue_json(stored: Stored) -> dict[str, Any]:
    return queue_rows([stored])[0]


def list_queues(query: dict[str, Any]) -> Response:
    chosen = listing(query)
    page = live_page(chosen, query) if is_live(query["sort"]) else service().config.page(me(), chosen)
    return answer(
        {
            "items": queue_rows(page.items),
            "next_cursor": page.next_cursor,
            "total": page.total,
        }
    )


def listing(query: dict[str, Any]) -> Listing:
    """The service's question for a query string."""
    if query["cursor"] is not None and query["offset"] is not None:
        raise Invalid("Give a cursor or an offset, not both.", code="invalid-request", path="offset")
    parent, live = query["parent"] or "any", is_live(query["sort"])
    return Listing(
        "queue",
        limit=query["limit"],
        cursor=None if live else query["cursor"],
        offset=None if live else query["offset"],
        sort="position" if live else query["sort"],
        text=query["q"] or "",
        parent=None if parent == "none" else parent,
        disabled=query["disabled"],
        warned=query["warnings"],
        ids=query["ids"],
    )


def explain_queue(queue_id: str) -> Response:
    editing.find("queue", queue_id, staged=False)
    found = service().config.explain(me(), "queue", queue_id)
    return answer({"queue_id": queue_id, **found})


resource = resource_of(
    "queue",
    queue.QUEUE,
    render=queue_json,
    says={
        "LIST": "List, filter and sort queues\n\n"
        "`-` before the sort key means descending. Sorting by a live figure lists queues without one last.",
        "CREATE": "Create a queue\n\n"
        "Without an id the next free `q<N>` is assigned; without a position it comes last among its "
        "siblings.",
        "GET": "Show a queue\n\nWith `candidate=1` as your candidate has it.",
        "PUT": "Create a queue with this id, or replace it\n\n"
        "Omitted fields take their defaults, except the position, which stays.",
        "PATCH": "Change fields of a queue\n\n"
        "A merge patch (RFC 7396): omitted fields stay, null resets to the default.",
        "DELETE": "Delete a queue\n\n"
        "A queue with children cannot be deleted; delete or move them in the same candidate or bulk request.",
        "BULK": "Create, replace and delete many queues in one transaction\n\n"
        "All of it happens or nothing. An item with an etag is refused when its queue has changed since.",
        "EXPLAIN": "Explain a queue\n\n"
        "What was asked, what it was compiled into, what the kernel holds, and whether they agree.",
    },
    views={"LIST": list_queues, "EXPLAIN": explain_queue},
    asks=paging.QueueQuery,
    explains=queue.Explain,
)


@resource.writing("POST", QUEUE + "/move", body=queue.MoveInput, answers=queue.QUEUE.answer, status=200)
def move_queue(body: dict[str, Any], query: dict[str, Any], queue_id: str) -> Response:
    """Move a queue before another one of the same parent, or to the end

    The order decides which of two queues with overlapping targets gets the traffic.
    """
    if query["candidate"]:
        view = service().candidates.move(me(), queue_id, body["before"])
        return answer(staged_json(view, "queue", [queue_id]), 202)
    committed = service().config.move(me(), queue_id, body["before"])
    stored = service().config.get(me(), "queue", queue_id)
    return answer(queue_json(stored), etag=stored.etag, Weir_Revision=str(committed.revision))


@resource.operation(
    "GET", QUEUE + "/history", scope=READ, query=paging.Page, answers=changes.ObjectVersionPage
)
def queue_changes(query: dict[str, Any], queue_id: str) -> Response:
    """The changes of a queue, the newest first

    Also of one that no longer exists.
    """
    before, limit = read_number(query["cursor"]), query["limit"]
    entries = service().revisions.history(me(), "queue", queue_id, limit=limit, before=before)
    head, pending = service().config.revision(me()), service().config.pending(me())
    items = [
        {
            "revision": revision_json(entry.revision, head, pending),
            "action": entry.diff.action,
            "fields": [field_change_json(change) for change in entry.diff.fields],
            "old": entry.diff.old,
            "new": entry.diff.new,
        }
        for entry in entries
    ]
    more = len(entries) == limit
    return answer({"items": items, "next_cursor": str(entries[-1].revision.number) if more else None})
