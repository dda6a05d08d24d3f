# SPDX-License-Identifier: Apache-2.0
"""A bulk request: many objects of a kind, every wrong field of all of them in one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Response

from weir.http import editing
from weir.http.answers import findings_json
from weir.http.context import me, service
from weir.http.editing import server_timing
from weir.http.endpoint import answer
from weir.http.rendering import kernel_json, staged_json
from weir.model import codec
from weir.model.document import POSITION_STEP
from weir.model.objects import Kind
from weir.model.problem import Finding, Invalid
from weir.service import ANYTHING, Edit, Stored

MAX_ITEMS = 10_000
MAX_FINDINGS = 1000
MAX_ETAG_CHARS = 64


def read_edits(kind: Kind, body: Mapping[str, Any], *, staged: bool) -> list[Edit]:
    """The edits of `{"upsert": [...], "delete": [...]}`. Raises Invalid naming `upsert[7].name`."""
    unknown = body.keys() - {"upsert", "delete"}
    if unknown:
        raise Invalid(f"{sorted(unknown)[0]!r} is not a field of a bulk request.", code="unknown-field")
    findings: list[Finding] = []
    upserts = _items(body, "upsert")
    unnamed = sum(1 for item in upserts if isinstance(item, dict) and item.get("id") is None)
    ids = iter(service().config.new_ids(me(), kind, unnamed) if unnamed else ())
    positions = Positions(upserts, staged=staged) if kind == "queue" else None
    if editing.is_ordered(kind):
        give_places(kind, upserts, staged=staged)
    added = editing.answers_add(kind)
    edits = [
        edit
        for index, item in enumerate(upserts)
        if (edit := _upsert(kind, index, item, added, ids, positions, findings)) is not None
    ]
    for index, object_id in enumerate(_items(body, "delete")):
        try:
            edits.append(Edit(kind, codec.check_id(kind, object_id), None, ANYTHING))
        except Invalid as problem:
            findings.append(_finding(f"delete[{index}]", problem.code, problem.message))
    if findings:
        first = findings[0]
        raise Invalid(
            f"{first.field}: {first.message}",
            code="invalid-request",
            path=first.field,
            findings=findings[:MAX_FINDINGS],
        )
    return edits


def _items(body: Mapping[str, Any], name: str) -> list[Any]:
    found = body.get(name, [])
    if not isinstance(found, list) or len(found) > MAX_ITEMS:
        raise Invalid(f"{name} must be a list of at most {MAX_ITEMS} items.", code="bad-list", path=name)
    return found


def _upsert(
    kind: Kind,
    index: int,
    item: Any,
    added: frozenset[str],
    ids: Iterator[str],
    positions: Positions | None,
    findings: list[Finding],
) -> Edit | None:
    where = f"upsert[{index}]"
    if not isinstance(item, dict):
        findings.append(_finding(where, "bad-object", f"must be a {kind}, a JSON object"))
        return None
    expects = item.get("etag", ANYTHING)
    given = item
    if not added.isdisjoint(item):
        given = {name: value for name, value in item.items() if name not in added}
    given["id"] = next(ids) if given.get("id") is None else given["id"]
    if positions is not None and "position" not in given:
        given["position"] = positions.of(given["id"], given.get("parent"))
    try:
        if not isinstance(expects, str) or len(expects) > MAX_ETAG_CHARS:
            raise Invalid("etag must be the text that an answer gave", code="bad-etag")
        made = editing.read_new(kind, given)
    except Invalid as problem:
        for found in problem.findings or (_finding("", problem.code, problem.message),):
            field = f"{where}.{found.field}" if found.field else where
            findings.append(_finding(field, found.code, found.message))
        return None
    return Edit(kind, made.id, made, expects)


def perform(kind: Kind, body: Mapping[str, Any], *, staged: bool) -> Response:
    """Commit or stage what a bulk request asks for: all of it or nothing."""
    edits = read_edits(kind, body, staged=staged)
    upserted = [edit.id for edit in edits if edit.new is not None]
    deleted = [edit.id for edit in edits if edit.new is None]
    if staged:
        view = service().candidates.stage(me(), edits)
        return answer(staged_json(view, kind, upserted + deleted), 202)
    committed = service().config.commit(me(), edits)
    return answer(
        {
            "revision": committed.revision,
            "upserted": upserted,
            "deleted": deleted,
            "kernel": kernel_json(committed.applied),
            "findings": findings_json(committed.findings),
        },
        Server_Timing=server_timing(committed.timing_ms),
    )


def give_places(kind: Kind, items: Sequence[Any], *, staged: bool) -> None:
    """Into bodies of an ordered kind without a position: what exists stays, others come last."""
    new = []
    for item in items:
        if isinstance(item, dict) and "position" not in item:
            object_id = item.get("id")
            known = _known(kind, object_id, staged=staged)
            if known is None:
                new.append(item)
            else:
                item["position"] = known.object.position  # type: ignore[attr-defined]
    for item, position in zip(new, editing.last_positions(kind, new, staged=staged), strict=True):
        item["position"] = position


def _known(kind: Kind, object_id: object, *, staged: bool) -> Stored | None:
    if not isinstance(object_id, str) or not codec.id_form(kind).pattern.fullmatch(object_id):
        return None
    return editing.find_or_none(kind, object_id, staged=staged)


class Positions:
    """Where queues without a position go: those that exist stay, new ones follow each other at the end."""

    def __init__(self, items: Sequence[Any], *, staged: bool) -> None:
        named = [item.get("id") for item in items if isinstance(item, dict) and "position" not in item]
        ids = [queue_id for queue_id in named if isinstance(queue_id, str)]
        self._keeper = editing.keeper(staged=staged)
        self._present = self._keeper.positions(me(), ids)
        self._next: dict[str | None, int] = {}

    def of(self, queue_id: Any, parent: Any) -> int:
        if isinstance(queue_id, str) and queue_id in self._present:
            return self._present[queue_id]
        parent = parent if isinstance(parent, str) else None
        position = self._next.get(parent)
        if position is None:
            position = self._keeper.end_position(me(), parent)
        self._next[parent] = position + POSITION_STEP
        return position


def _finding(field: str, code: str, message: str) -> Finding:
    return Finding("error", code, message, "request", "json", field)
