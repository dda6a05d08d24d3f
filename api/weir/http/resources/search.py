# SPDX-License-Identifier: Apache-2.0
"""One search over the objects of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response

from weir.http.context import me, service
from weir.http.endpoint import READ, Resource, answer
from weir.http.schemas import paging, search
from weir.kinds import DECLARED
from weir.kinds.words import value_text
from weir.model import codec
from weir.model.objects import Queue
from weir.model.problem import Invalid, NotFound
from weir.service import Listing, Stored

resource = Resource("search", "One search over the objects of all kinds.")
MAX_DETAIL_CHARS = 120


@resource.operation("GET", "/search", scope=READ, query=paging.SearchQuery, answers=search.SearchAnswer)
def search_everything(query: dict[str, Any]) -> Response:
    """Find objects of every kind

    The first of each kind, by name; the rest of one is asked for with `kind` and `cursor`, or at its own list
    with `q`. Kinds with one object are not looked through.
    """
    kinds = _kinds(query["kind"])
    if query["cursor"] is not None and query["kind"] is None:
        raise Invalid("A cursor is of one kind: give that, too.", code="bad-cursor", path="kind")
    groups = (_group(kind, query) for kind in kinds)
    return answer({"groups": [group for group in groups if group["items"]]})


def _kinds(wanted: str | None) -> Sequence[str]:
    every = [kind for kind, declared in DECLARED.items() if not declared.is_single]
    if wanted is not None and wanted not in every:
        raise NotFound(f"{wanted!r} is none of the kinds {', '.join(every)}.", path="kind")
    return every if wanted is None else [wanted]


def _group(kind: str, query: dict[str, Any]) -> dict[str, Any]:
    listing = Listing(kind, limit=query["limit"], cursor=query["cursor"], sort="name", text=query["q"])
    page = service().config.page(me(), listing)
    return {
        "kind": kind,
        "path": DECLARED[kind].path,
        "items": [_hit(stored) for stored in page.items],
        "next_cursor": page.next_cursor,
        "total": page.total,
    }


def _hit(stored: Stored) -> dict[str, str]:
    found = stored.object
    name = str(getattr(found, "name", stored.id)) or stored.id
    return {"id": stored.id, "name": name, "detail": _detail(stored, name)[:MAX_DETAIL_CHARS]}


def _detail(stored: Stored, name: str) -> str:
    """What the columns of its list say that the name does not."""
    if isinstance(stored.object, Queue):
        return ", ".join([*stored.object.target, *filter(None, [stored.object.comment])])
    values = codec.to_json(stored.object)
    shown = (values.get(column) for column in DECLARED[stored.kind].columns)
    texts = (value_text("", value) for value in shown if value and isinstance(value, str | list))
    return ", ".join(text for text in texts if text != name)
