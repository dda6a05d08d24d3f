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
    for kind, object_id, deletes, expects in _expectations(edits):
        key = (kind, object_id)
        if key in seen:
            path = f"{kind}/{object_id}"
            raise Invalid(f"{path} is changed twice at once", code="edited-twice", path=path)
        seen.add(key)
        exists = object_id in document.of_kind(kind)
        _require_expected(kind, object_id, expects, deletes, exists, transaction)
    return changes_of(edits, document)


def _expectations(edits: Sequence[Edit]) -> Iterable[tuple[Kind, str, bool, str]]:
    """Of each edit the kind, the id, whether it deletes, and what it expects; none of packed ones is made."""
    if isinstance(edits, PackedEdits):
        return edits.expectations()
    return ((edit.kind, edit.id, edit.new is None, edit.expects) for edit in edits)


def require_expected(edit: Edit, exists: bool, transaction: ReadTransaction) -> None:
    """Raises `PreconditionFailed`, `Conflict` (`exists`), `NotFound`."""
    _require_expected(edit.kind, edit.id, edit.expects, edit.new is None, exists, transaction)


def _require_expected(
    kind: Kind, object_id: str, expects: str, deletes: bool, exists: bool, transaction: ReadTransaction
) -> None:
    if (expects == ANYTHING and not (deletes and not exists)) or (expects == ABSENT and not exists):
        return
    path = f"{kind}/{object_id}"
    if expects == ABSENT:
        raise Conflict(f"there is already a {kind} {object_id!r}", code="exists", path=path)
    if expects == ANYTHING:
        raise NotFound(f"there is no {kind} {object_id!r}", path=path)
    version = transaction.version_now(kind, object_id)
    if version is None:
        raise NotFound(f"there is no {kind} {object_id!r} any more", path=path)
    if etag_of(version) != expects:
        raise PreconditionFailed(f"{kind} {object_id!r} was changed by somebody else", path=path)
