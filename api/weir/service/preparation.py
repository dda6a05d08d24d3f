# SPDX-License-Identifier: Apache-2.0
"""What can be done for a commit of thousands of changes before it takes the write lock.

Reading and validating them takes seconds. It happens on a snapshot, while single changes pass. Under the
lock one question is left: is the head still what this was prepared on? If others committed meanwhile, their
changes are looked at in the document with ours. Rules say the same whichever of two changes came last, so
what would have been refused after theirs is found there; where both touch an object, all is prepared again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from weir.model.document import Change
from weir.model.packed_changes import outlines_of
from weir.model.problem import Conflict, Invalid
from weir.model.rules import validate
from weir.service.request import Request
from weir.service.running_document import MANY, Running, Trial, require_valid
from weir.store import ConfigStore, ReadTransaction
from weir.store.versions import ChangedVersions

ROUNDS = 3
"""So often a commit is prepared, as others may commit meanwhile; then it is done under the lock."""


class Outdated(Exception):
    """What was prepared does not hold any more."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a request changes, read at revision `read_at` of the store that `epoch` names. `versions` are the
    rows that it writes."""

    epoch: int
    read_at: int
    changes: Sequence[Change]
    versions: ChangedVersions
    state: object


@dataclass(frozen=True, slots=True)
class Prepared:
    """`trial` on the document at its own revision. `keys`: the objects that change."""

    read: Read
    trial: Trial
    keys: frozenset[tuple[str, str]]


def refuse_early(request: Request, transaction: ReadTransaction) -> None:
    """Raises `Conflict` while a revision waits for its confirmation, and on another head than is expected."""
    if not request.answers_pending:
        refuse_while_pending(transaction)
    if request.expected_head not in (None, transaction.head):
        raise Conflict(
            f"this was made for revision {request.expected_head}, and revision {transaction.head} runs now",
            code="outdated",
        )


def refuse_while_pending(transaction: ReadTransaction) -> None:
    """Raises `Conflict` while a revision waits for its confirmation."""
    pending = transaction.pending()
    if pending is not None:
        raise Conflict(
            f"revision {pending.revision} waits for its confirmation; confirm or revert it first",
            code="confirmation-pending",
            path="config/pending",
        )


def try_request(request: Request, running: Running, transaction: ReadTransaction) -> Trial:
    """What the request changes, tried. Raises `Invalid`, and what `produce` raises."""
    return tried(request.produce(transaction), request, running)


def tried(changes: Sequence[Change], request: Request, running: Running) -> Trial:
    """Raises `Invalid`."""
    trial = running.try_changes(lambda _: changes)
    if request.kind != "rollback":
        require_valid(trial.findings, trial.changes)
    return trial


def read_request(
    request: Request,
    store: ConfigStore,
    require_room: Callable[[Sequence[Change]], None],
    begun: Callable[[ChangedVersions], None],
) -> Read:
    """On a snapshot; nobody waits. `begun` gets what is encoded from then on. Raises `Conflict`, and what
    `produce`, `begun` and, before anything is encoded, `require_room` raise."""
    epoch = store.epoch
    with store.reading() as transaction:
        refuse_early(request, transaction)
        state = None if request.state is None else request.state(transaction)
        changes = request.produce(transaction)
        require_room(changes)
        versions = ChangedVersions(changes, begun, ahead=transaction.head + 1)
        return Read(epoch, transaction.head, changes, versions, state)


def prepare(read: Read, request: Request, running: Running) -> Prepared:
    """Validate what was read; nobody waits. Raises `Invalid`."""
    trial = tried(read.changes, request, running)
    trial.make_ready()
    return Prepared(read, trial, frozenset((kind, name) for kind, name, _ in outlines_of(read.changes)))


def catch_up(prepared: Prepared, request: Request, store: ConfigStore) -> Prepared:
    """With what was committed while it was prepared; nobody waits. Under the lock hundreds of single changes
    took longer to look at than all else but writing. Raises as `confirm`."""
    with store.reading() as transaction:
        trial = confirm(prepared, request, store, transaction)
        head = transaction.head
    trial.make_ready()
    flags = (
        trial.flags if trial.revision == head else None
    )  # they hold for the revision on which it was tried
    read, trial = replace(prepared.read, read_at=head), replace(trial, revision=head, flags=flags)
    return replace(prepared, read=read, trial=trial)


def confirm(prepared: Prepared, request: Request, store: ConfigStore, transaction: ReadTransaction) -> Trial:
    """The trial, at the transaction's head and with what was committed since.

    Raises `Outdated` when it has to be prepared once more, and `Invalid` when the changes of others and these
    are valid alone, but not together.
    """
    state = None if request.state is None else request.state(transaction)
    read, trial = prepared.read, prepared.trial
    if state != read.state or store.epoch != read.epoch:
        raise Outdated
    if transaction.head == read.read_at == trial.revision:
        return trial
    if request.state is None or trial.successor is None:
        raise Outdated
    since = transaction.changes_between(read.read_at, transaction.head)
    if len(since) > MANY or any((change.kind, change.id) in prepared.keys for change in since):
        raise Outdated
    return _together(trial, request, transaction.changes_between(trial.revision, transaction.head))


def _together(trial: Trial, request: Request, missed: list[Change]) -> Trial:
    assert trial.successor is not None
    trial.successor.apply(missed)
    found = validate(trial.successor, missed)
    if request.kind != "rollback":
        errors = [item for item in found if item.severity == "error"]
        if errors:
            raise Invalid(
                f"{errors[0].message} (together with what was committed meanwhile)",
                code=errors[0].code,
                path=errors[0].path,
                findings=errors,
            )
    if trial.flagged is not None:
        trial.flagged.update(missed)
    return trial
