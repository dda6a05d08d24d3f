# SPDX-License-Identifier: Apache-2.0
"""Thousands of edits as one piece of memory (docs/adr/0036)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from weir.model.document import Change, Document
from weir.model.objects import Kind
from weir.model.packed import LazyList
from weir.model.packed_changes import PackedChanges
from weir.service.types import Edit


class PackedEdits(LazyList[Edit]):
    """What an import or a backup would write; each edit is made when it is looked at."""

    __slots__ = ("_changes", "_expects")

    def __init__(self, edits: Iterable[Edit]) -> None:
        self._expects: list[str] = []
        self._changes = PackedChanges(self._noted(edits))

    def _noted(self, edits: Iterable[Edit]) -> Iterator[Change]:
        for edit in edits:
            self._expects.append(edit.expects)
            yield Change(edit.kind, edit.id, None, edit.new)

    def __len__(self) -> int:
        return len(self._expects)

    def at(self, index: int) -> Edit:
        change = self._changes.at(index)
        return Edit(change.kind, change.id, change.new, self._expects[index])

    def __iter__(self) -> Iterator[Edit]:
        for change, expects in zip(self._changes, self._expects, strict=True):
            yield Edit(change.kind, change.id, change.new, expects)

    def expectations(self) -> Iterator[tuple[Kind, str, bool, str]]:
        """Of each edit the kind, the id, whether it deletes, and what it expects."""
        for outline, expects in zip(self._changes.outlines(), self._expects, strict=True):
            yield *outline, expects

    def changes(self, document: Document) -> PackedChanges:
        """What they come down to on a document as it is now."""
        return self._changes.against(document.copy())

    def any_queue(self) -> bool:
        return "queue" in self._changes.kinds

    def more_queues(self, document: Document) -> int:
        return self._changes.more_queues(document)


def any_queue(edits: Sequence[Edit]) -> bool:
    """Whether they are about queues, too; of packed ones none is made for it."""
    if isinstance(edits, PackedEdits):
        return edits.any_queue()
    return any(edit.kind == "queue" for edit in edits)


def more_queues_by(edits: Sequence[Edit], document: Document) -> int:
    """How many more queues there are after the edits than in a document; none of packed ones is made."""
    if isinstance(edits, PackedEdits):
        return edits.more_queues(document)
    present = document.of_kind("queue")
    return sum((edit.new is not None) - (edit.id in present) for edit in edits if edit.kind == "queue")
