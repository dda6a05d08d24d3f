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
from collections.abc import Callable, Container, Iterable, Sequence

from weir.formats.draft import Draft, clean_name
from weir.formats.index import Index
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
    """Finds ids that nothing has, as `is_taken` says."""

    def __init__(self, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken
        self._next: dict[str, int] = {}

    def free(self, base: str) -> str:
        """`base`, or the first number after it that is free."""
        candidate = base
        while self._is_taken(candidate):
            number = self._next.get(base, 2)
            self._next[base] = number + 1
            candidate = f"{base}-{number}"
        return candidate


class Names:
    """The names of an import's queues; `first` gives the first queue that the file gives a name, `repeated`
    are the others, in their order."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self._first = Index(lambda index, name: drafts[index].name == name)
        self.repeated: list[int] = []
        for index, draft in enumerate(drafts):
            if self._first.add(draft.name, index) is not None:
                self.repeated.append(index)
        self._given: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self._first.get(name) is not None or name in self._given

    def first(self, name: str) -> int | None:
        """As long as no first queue was given another name."""
        return self._first.get(name)

    def give(self, draft: Draft, name: str) -> None:
        """`name` is the draft's from now on."""
        self._given.add(name)
        draft.name = name


def make_names_unique(drafts: Sequence[Draft], names: Names) -> None:
    """The first queue of a name keeps it; the others get their key or a number, and a note."""
    numbers: dict[str, int] = {}
    for index in names.repeated:
        draft = drafts[index]
        old = draft.name
        new = _with_key(draft)
        while new in names:
            numbers[old] = numbers.get(old, 1) + 1
            new = f"{old} ({numbers[old]})"
        names.give(draft, new)
        draft.line.note(
            "changed",
            "duplicate-name",
            f"Another queue is named {quoted(old)} already; this one became {quoted(new)}.",
        )


def _with_key(draft: Draft) -> str:
    name, key = draft.name, draft.key
    return name if key is None else clean_name(f"{name[:60]} ({key[:60]})", draft.line)


class Ids:
    """`of` has the ids of an import's queues in their order; `get` gives the queue that has an id."""

    def __init__(self, count: int) -> None:
        self.of = of = [""] * count
        self._index = Index(lambda index, object_id: of[index] == object_id)
        self.get = self._index.get

    def __contains__(self, object_id: object) -> bool:
        return isinstance(object_id, str) and self.get(object_id) is not None

    def give(self, object_id: str, index: int) -> bool:
        """Unless another queue has it; whether it was free."""
        is_free = self._index.add(object_id, index) is None
        if is_free:
            self.of[index] = object_id
        return is_free


def _id_of_key(key: str | None) -> str | None:
    """The only keys so far are LibreQoS' Circuit IDs."""
    return None if key is None or not is_id(found := f"circuit-{key}") else found


def assign_ids(drafts: Sequence[Draft], existing: Document) -> Ids:
    """By the rule of this module. Names are unique already."""
    queues = existing.of_kind("queue")
    ids = Ids(len(drafts))
    for index, draft in enumerate(drafts):
        if (wanted := draft.wanted_id) is not None:
            ids.give(wanted, index)
    if queues:
        _recognise(drafts, ids, existing)
    allocator = IdAllocator(lambda object_id: object_id in ids or object_id in queues)
    for index, draft in enumerate(drafts):
        if not ids.of[index]:
            name, key, _ = draft.identity
            base = _id_of_key(key) or slug(name, "queue")
            if base in queues or not ids.give(base, index):
                ids.give(allocator.free(base), index)
    return ids


def _recognise(drafts: Sequence[Draft], ids: Ids, existing: Document) -> None:
    """Give queues that the router has already their ids: first by their keys, then by their names."""
    queues = existing.of_kind("queue")
    for index, draft in enumerate(drafts):
        if not ids.of[index] and (stable := _id_of_key(draft.key)) is not None and stable in queues:
            ids.give(stable, index)
    for index, draft in enumerate(drafts):
        if not ids.of[index]:
            same_name = existing.queue_ids_by_name.of(draft.name)
            known = min((item for item in same_name if item not in ids), default=None)
            if known is not None:
                ids.give(known, index)


def avoid_names_in_use(
    drafts: Iterable[Draft], names: Names, ids: Container[str], existing: Document
) -> None:
    """A queue that keeps its id may have taken a name that another queue of the router has."""

    def in_use(name: str) -> bool:
        return any(item not in ids for item in existing.queue_ids_by_name.of(name))

    for draft in drafts if existing.of_kind("queue") else ():
        taken = new = draft.name
        if not in_use(taken):
            continue
        number = 2
        while new in names or in_use(new):
            new = f"{taken} ({number})"
            number += 1
        names.give(draft, new)
        draft.line.note(
            "changed",
            "duplicate-name",
            f"The router has another queue {quoted(taken)}; this one became {quoted(new)}.",
        )
