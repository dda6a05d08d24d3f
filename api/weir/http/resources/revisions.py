# SPDX-License-Identifier: Apache-2.0
"""Revisions: who changed what, when and why; compare and restore."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import read_number
from weir.http.context import me, service
from weir.http.endpoint import READ, WRITE, Resource, answer
from weir.http.rendering import committed_json, diff_page, object_diff_json, revision_json
from weir.http.schemas import changes, paging

resource = Resource("revisions", "Every configuration that was in force, by number.")
NUMBER = "<int(max=9007199254740991):{}>"
REVISION = "/revisions/" + NUMBER.format("number")
MAX_SHOWN_CHANGES = 100


@resource.operation("GET", "/revisions", scope=READ, query=paging.Page, answers=changes.RevisionPage)
def list_revisions(query: dict[str, Any]) -> Response:
    """List revisions, the newest first"""
    limit = query["limit"]
    found = service().revisions.list(me(), before=read_number(query["cursor"]), limit=limit)
    head, pending = service().config.revision(me()), service().config.pending(me())
    more = len(found) == limit and found[-1].number > 0
    return answer(
        {
            "items": [revision_json(revision, head, pending) for revision in found],
            "next_cursor": str(found[-1].number) if more else None,
        }
    )


@resource.operation("GET", REVISION, scope=READ, answers=changes.RevisionDetail)
def get_revision(number: int) -> Response:
    """Show a revision and its first 100 changes

    `revisions/{from}/diff/{to}` pages through all of them.
    """
    revision = service().revisions.get(me(), number)
    diff = service().revisions.diff(me(), max(number - 1, 0), number, limit=MAX_SHOWN_CHANGES)
    head, pending = service().config.revision(me()), service().config.pending(me())
    return answer(
        {
            **revision_json(revision, head, pending),
            "changes": [object_diff_json(item) for item in diff.objects],
        }
    )


@resource.operation(
    "GET",
    "/revisions/" + NUMBER.format("from_number") + "/diff/" + NUMBER.format("to_number"),
    scope=READ,
    query=paging.Page,
    answers=changes.RevisionDiff,
)
def diff_revisions(query: dict[str, Any], from_number: int, to_number: int) -> Response:
    """Compare two revisions"""
    start = read_number(query["cursor"]) or 0
    diff = service().revisions.diff(me(), from_number, to_number, start, query["limit"])
    return answer(
        {
            "from_revision": from_number,
            "to_revision": to_number,
            **diff_page(diff),
        }
    )


@resource.operation(
    "POST",
    REVISION + "/restore",
    scope=WRITE,
    body=changes.CommitInput,
    answers=changes.CommitAnswer,
)
def restore_revision(body: dict[str, Any], number: int) -> Response:
    """Restore a revision

    Commits a new revision whose content is that of the old one.
    """
    committed = service().revisions.restore(me(), number, body["message"], body["confirm_within_s"])
    return answer(committed_json(committed))
