# SPDX-License-Identifier: Apache-2.0
"""What may be staged, what is staged, and what others changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection

from weir.model.objects import Kind
from weir.model.problem import Conflict, Finding, NotFound, PreconditionFailed
from weir.service.packed_edits import PackedEdits
from weir.service.running_document import MANY
from weir.service.types import ABSENT, ANYTHING, Edit
from weir.store import candidates


def only_adds(edits: Sequence[Edit], known: Mapping[tuple[Kind, str], candidates.Known]) -> bool:
    """Whether these are as many new objects: what a candidate holds is known then without counting it."""
    return len(known) == len(edits) and all(
        edit.new is not None and known[edit.kind, edit.id].is_new for edit in edits
    )


def check_expected(edit: Edit, known: candidates.Known) -> None:
    """Raises `PreconditionFailed`, `Conflict` (`exists`) or `NotFound` where another object is there."""
    if edit.expects == ANYTHING and edit.new is not None:
        return
    path = f"{edit.kind}/{edit.id}"
    if edit.expects == ABSENT:
        if known.exists:
            raise Conflict(f"there is already a {edit.kind} {edit.id!r}", code="exists", path=path)
        return
    if not known.exists and (edit.new is None or edit.expects != ANYTHING):
        raise NotFound(f"there is no {edit.kind} {edit.id!r}", path=path)
    if edit.expects != ANYTHING and edit.expects != known.etag:
        raise PreconditionFailed(f"{edit.kind} {edit.id!r} was changed meanwhile", path=path)


def drop_empty(connection: Connection, owner: str, deletions: Sequence[Edit]) -> None:
    """An object that was only ever in the candidate and is deleted there leaves it without a trace."""
    for (kind, object_id), known in candidates.known_of(connection, owner, deletions).items():
        if known.running_revision is None and known.serial is not None and known.seen_revision is None:
            candidates.unstage(connection, owner, kind, object_id)


def staged_edits(connection: Connection, owner: str, objects: candidates.Objects) -> Sequence[Edit]:
    """What is staged; thousands as one piece of memory. What is deleted and not there is left out."""
    edits = (Edit(*item) for item in candidates.new_objects(connection, owner, objects))
    return PackedEdits(edits) if candidates.count(connection, owner) > MANY else list(edits)


def refuse_conflicts(conflicts: Sequence[candidates.Overtaken]) -> None:
    """Raises `Conflict` (`candidate-conflict`) that names the objects."""
    if conflicts:
        raise Conflict(
            f"somebody else changed {len(conflicts)} of the objects in your candidate; "
            "keep yours or theirs first",
            code="candidate-conflict",
            path="candidate",
            findings=[
                Finding(
                    "error",
                    "candidate-conflict",
                    f"{item.author or 'somebody else'} changed it meanwhile",
                    item.kind,
                    item.id,
                )
                for item in conflicts[:1000]
            ],
        )


def not_staged(kind: Kind, object_id: str) -> NotFound:
    return NotFound(f"your candidate does not change {kind} {object_id!r}", path=f"{kind}/{object_id}")


def no_candidate() -> NotFound:
    return NotFound("you have no candidate; stage a change first", code="no-candidate", path="candidate")
