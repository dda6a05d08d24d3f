# SPDX-License-Identifier: Apache-2.0
"""From what a user wants an object to be to what changes: edits against the running document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weir.model.document import Change, Document
from weir.model.objects import ConfigObject, Kind
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Conflict, Invalid, NotFound, PreconditionFailed
from weir.service.packed_edits import PackedEdits
from weir.service.running_document import MANY
from weir.service.types import ABSENT, ANYTHING, Edit
from weir.store import ReadTransaction
from weir.store.rows import etag_of


def changes_of(edits: Sequence[Edit], document: Document) -> Sequence[Change]:
    """What the edits come down to, whatever they expect; those that change nothing are left out."""
    if isinstance(edits, PackedEdits):
        return edits.changes(document)
    found = (Change(edit.kind, edit.id, document.get(edit.kind, edit.id), edit.new) for edit in edits)
    return [change for change in found if change.old != change.new]


def changes_to(
    document: Document, news: Iterable[tuple[Kind, str, ConfigObject | None]], count: int
) -> Sequence[Change]:
    """What about `count` new objects (None: it goes) come down to; those that change nothing are left out. Of
    thousands the document is looked at later, too."""
    if count > MANY:
        return PackedChanges(Change(kind, name, None, new) for kind, name, new in news).against(document)
    found = (Change(kind, object_id, document.get(kind, object_id), new) for kind, object_id, new in news)
    return [change for change in found if change.old != change.new]


def expected_changes_of(
    edits: Sequence[Edit], document: Document, transaction: ReadTransaction
) -> Sequence[Change]:
    """As `changes_of`, if all objects are what the edits expect, at the transaction's head.

    Raises `PreconditionFailed`, `Conflict` (`exists`), `NotFound`, `Invalid` (`edited-twice`).
    """
    seen: set[tuple[str, str]] = set()
    for edit in edits:
        if (edit.kind, edit.id) in seen:
            path = f"{edit.kind}/{edit.id}"
            raise Invalid(f"{path} is changed twice at once", code="edited-twice", path=path)
        seen.add((edit.kind, edit.id))
        require_expected(edit, document.get(edit.kind, edit.id) is not None, transaction)
    return changes_of(edits, document)


def require_expected(edit: Edit, exists: bool, transaction: ReadTransaction) -> None:
    """Raises `PreconditionFailed`, `Conflict` (`exists`), `NotFound`."""
    path = f"{edit.kind}/{edit.id}"
    if edit.expects == ABSENT:
        if exists:
            raise Conflict(f"there is already a {edit.kind} {edit.id!r}", code="exists", path=path)
    elif edit.expects == ANYTHING:
        if not exists and edit.new is None:
            raise NotFound(f"there is no {edit.kind} {edit.id!r}", path=path)
    else:
        version = transaction.version_now(edit.kind, edit.id)
        if version is None:
            raise NotFound(f"there is no {edit.kind} {edit.id!r} any more", path=path)
        if etag_of(version) != edit.expects:
            raise PreconditionFailed(f"{edit.kind} {edit.id!r} was changed by somebody else", path=path)
