# SPDX-License-Identifier: Apache-2.0
"""Which object a line of a file is: the rule that lets the same export be imported again and again.

1. A queue of the file that names an id (Weir's own CSV) is that object. So is one whose key in the file
   (LibreQoS' Circuit ID) gives the id of an existing queue.
2. Otherwise it is the existing queue of exactly the same name.
3. Otherwise it is new: its id is made from the key or the name, with a number where that id is taken.
The names of a file are made unique first, so the answer depends only on the file and the document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from weir.formats.draft import Draft
from weir.formats.report import quoted
from weir.model.document import Document
from weir.model.limits import OBJECT_ID

_NOT_SLUG = re.compile(r"[^a-z0-9_.]+")
MAX_SLUG_CHARS = 48


def is_id(text: str) -> bool:
    return OBJECT_ID.fullmatch(text) is not None


def slug(text: str, fallback: str) -> str:
    """A readable id made from a name: `ACME "HQ"` gives `acme-hq`."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text[:512]).encode("ascii", "ignore").decode("ascii")
    return _NOT_SLUG.sub("-", text.lower())[:MAX_SLUG_CHARS].strip("-._") or fallback


class IdAllocator:
    """Hands out ids that nothing else has."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, object_id: str) -> bool:
        """False when the id was handed out or reserved before."""
        if object_id in self._taken:
            return False
        self._taken.add(object_id)
        return True

    def new(self, base: str) -> str:
        candidate = base
        while candidate in self._taken:
            number = self._next.get(base, 2)
            self._next[base] = number + 1
            candidate = f"{base}-{number}"
        self._taken.add(candidate)
        return candidate


def make_names_unique(drafts: Iterable[Draft]) -> None:
    """The first queue of a name keeps it; the others get a number (or their alternative name) and a note."""
    drafts = list(drafts)
    taken = {draft.name for draft in drafts}
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    for draft in drafts:
        if draft.name not in seen:
            seen.add(draft.name)
            continue
        old = draft.name
        new = draft.alternative_name or old
        while new in taken:
            numbers[old] = numbers.get(old, 1) + 1
            new = f"{old} ({numbers[old]})"
        taken.add(new)
        seen.add(new)
        draft.name = new
        draft.line.note(
            "changed",
            "duplicate-name",
            f"Another queue is named {quoted(old)} already; this one became {quoted(new)}.",
        )


def assign_ids(drafts: list[Draft], existing: Document) -> list[str]:
    """Ids in the order of `drafts`, by the rule of this module. Names are unique already."""
    queues = existing.of_kind("queue")
    ids: list[str | None] = [draft.wanted_id for draft in drafts]
    used = {object_id for object_id in ids if object_id is not None}
    for index, draft in enumerate(drafts):
        stable = draft.stable_id
        if ids[index] is None and stable is not None and stable in queues and stable not in used:
            ids[index] = stable
            used.add(stable)
    for index, draft in enumerate(drafts):
        if ids[index] is None:
            known = sorted(existing.queue_ids_by_name.of(draft.name) - used)
            if known:
                ids[index] = known[0]
                used.add(known[0])
    allocator = IdAllocator(used.union(queues))
    return [
        object_id if object_id is not None else allocator.new(draft.stable_id or slug(draft.name, "queue"))
        for object_id, draft in zip(ids, drafts, strict=True)
    ]


def avoid_names_in_use(drafts: list[Draft], ids: list[str], existing: Document) -> None:
    """A queue that keeps its id may have taken a name that another queue of the router has."""
    own = set(ids)
    names = {draft.name for draft in drafts}
    for draft in drafts:
        others = existing.queue_ids_by_name.of(draft.name) - own
        if not others:
            continue
        taken = draft.name
        number = 2
        while draft.name in names or existing.queue_ids_by_name.of(draft.name) - own:
            draft.name = f"{taken} ({number})"
            number += 1
        names.add(draft.name)
        draft.line.note(
            "changed",
            "duplicate-name",
            f"The router has another queue {quoted(taken)}; this one became {quoted(draft.name)}.",
        )
