# SPDX-License-Identifier: Apache-2.0
"""`/queue type add`: the kinds and options that RouterOS has. Options keep their names and values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from weir.formats.draft import clean_comment
from weir.formats.identity import IdAllocator
from weir.formats.report import LineDraft, quoted
from weir.model.document import Document
from weir.model.limits import (
    CONTROL_CHARACTER,
    MAX_NAME_CHARS,
    MAX_QUEUE_TYPE_OPTIONS,
    OBJECT_ID,
    QUEUE_TYPE_ID,
    QUEUE_TYPE_KINDS,
)
from weir.model.objects import QueueType

_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_. -]+")
_ALIASES = {"fq_codel": "fq-codel", "mq_pfifo": "mq-pfifo"}


def read_queue_type(
    name: str, properties: Mapping[str, str], line: LineDraft, ids: set[str], existing: Document
) -> QueueType:
    """`ids` are those of the types before it. Raises `ValueError` with the sentence for the report."""
    kind = properties.get("kind", "pfifo")
    kind = _ALIASES.get(kind, kind)
    if kind not in QUEUE_TYPE_KINDS:
        raise ValueError(f"kind={quoted(kind)} is not one of {', '.join(QUEUE_TYPE_KINDS)}.")
    own_id = name
    if not QUEUE_TYPE_ID.fullmatch(name):
        own_id = _NOT_IN_ID.sub("-", name)[:60].strip("-. ") or "queue-type"
        own_id = IdAllocator(ids.__contains__).free(own_id)
        line.note("changed", "renamed", f"A queue type cannot be named {quoted(name)}: it became {own_id}.")
    elif name in ids:
        raise ValueError(f"The file has a queue type {quoted(name)} already.")
    ids.add(own_id)
    options: list[tuple[str, str]] = []
    for key, value in sorted(properties.items()):
        if key in ("name", "kind", "comment"):
            continue
        fits = (
            OBJECT_ID.fullmatch(key)
            and len(value) <= MAX_NAME_CHARS
            and len(options) < MAX_QUEUE_TYPE_OPTIONS
        )
        if fits and not CONTROL_CHARACTER.search(value):
            options.append((key, value))
        else:
            line.note("warning", "option", f"The option {quoted(key)} is too long or not text: left off.")
    # RouterOS has no comments here, so a comment made in Weir outlives another import.
    present = existing.queue_type(own_id)
    comment = clean_comment(properties.get("comment", present.comment if present else ""), line)
    line.object_id = own_id
    return QueueType(own_id, kind, tuple(options), comment)
