# SPDX-License-Identifier: Apache-2.0
"""Reading a bulk request: many queues, every wrong field of all of them in one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.http.context import me, service
from weir.http.editing import writable
from weir.model import codec
from weir.model.objects import Queue
from weir.model.problem import Finding, Invalid
from weir.service import ANYTHING, Edit

MAX_ITEMS = 10_000
MAX_FINDINGS = 1000
MAX_ETAG_CHARS = 64


def read_edits(body: Mapping[str, Any]) -> list[Edit]:
    """The edits of `{"upsert": [...], "delete": [...]}`. Raises Invalid naming `upsert[7].name`."""
    unknown = body.keys() - {"upsert", "delete"}
    if unknown:
        raise Invalid(f"{sorted(unknown)[0]!r} is not a field of a bulk request.", code="unknown-field")
    findings: list[Finding] = []
    upserts = _items(body, "upsert")
    unnamed = sum(1 for item in upserts if isinstance(item, dict) and item.get("id") is None)
    ids = iter(service().config.new_ids(me(), "queue", unnamed) if unnamed else ())
    edits = [
        edit
        for index, item in enumerate(upserts)
        if (edit := _upsert(index, item, ids, findings)) is not None
    ]
    for index, queue_id in enumerate(_items(body, "delete")):
        try:
            edits.append(Edit("queue", codec.check_id("queue", queue_id), None, ANYTHING))
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


def _upsert(index: int, item: Any, ids: Iterator[str], findings: list[Finding]) -> Edit | None:
    where = f"upsert[{index}]"
    if not isinstance(item, dict):
        findings.append(_finding(where, "bad-object", "must be a queue, a JSON object"))
        return None
    expects = item.get("etag", ANYTHING)
    given = writable(item)
    given["id"] = next(ids) if given.get("id") is None else given["id"]
    if "position" not in given:
        given["position"] = _position(given["id"], given.get("parent"))
    try:
        if not isinstance(expects, str) or len(expects) > MAX_ETAG_CHARS:
            raise Invalid("etag must be the text that an answer gave", code="bad-etag")
        queue = codec.from_json("queue", given)
    except Invalid as problem:
        for found in problem.findings or (_finding("", problem.code, problem.message),):
            field = f"{where}.{found.field}" if found.field else where
            findings.append(_finding(field, found.code, found.message))
        return None
    return Edit("queue", queue.id, queue, expects)


def _position(queue_id: Any, parent: Any) -> int:
    config = service().config
    present = config.get_many(me(), "queue", [queue_id]) if isinstance(queue_id, str) else []
    if present and isinstance(present[0].object, Queue):
        return present[0].object.position
    return config.end_position(me(), parent if isinstance(parent, str) else None)


def _finding(field: str, code: str, message: str) -> Finding:
    return Finding("error", code, message, "request", "json", field)
