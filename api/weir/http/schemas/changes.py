# SPDX-License-Identifier: Apache-2.0
"""Candidates, commits, confirmations and revisions as JSON."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Input, QueryFlag, QueryInteger, Text, Whole, one_of
from weir.http.schemas.paging import Page, Query
from weir.http.schemas.problem import Finding
from weir.kinds import DECLARED
from weir.model.limits import MAX_EXACT
from weir.parts.effect import SEVERITIES
from weir.service.way_in import FATES

CONFIRM_WITHIN_S = (1, 3600)


def _kind(**kwargs: Any) -> fields.String:
    """The name of a kind that there is when it is read."""
    return fields.String(validate=validate.OneOf(DECLARED), **kwargs)


class CommitInput(Input):
    message = Text(max_length=1000, lines=True, load_default="")
    confirm_within_s = Whole(
        *CONFIRM_WITHIN_S,
        load_default=None,
        allow_none=True,
        metadata={"description": "Roll back by itself unless confirmed within so many seconds."},
    )


class ConfirmInput(Input):
    revision = Whole(1, MAX_EXACT, required=True)
    token = Text(
        max_length=128,
        load_default=None,
        allow_none=True,
        metadata={"description": "`pending.token` of the commit; without it, the same account must confirm."},
    )


class ChangeInput(Input):
    """One object's new content, or null to delete it. The fields are those of the kind's own resource."""

    kind = _kind(required=True)
    id = Text(
        max_length=255, load_default=None, allow_none=True, metadata={"description": "null: assign one."}
    )
    new = fields.Dict(keys=fields.String(), required=True, allow_none=True)
    base = Text(
        max_length=64,
        load_default=None,
        allow_none=True,
        metadata={
            "description": "The version that it was made on: the `etag` of your staged change of the object, "
            "or else of the object, or `none` when there was neither. Null: whatever there is."
        },
    )


class ChangesInput(Input):
    changes = fields.List(
        fields.Nested(ChangeInput), required=True, validate=validate.Length(min=1, max=10_000)
    )


class UnstageChange(Input):
    kind = _kind(required=True)
    id = Text(max_length=255, required=True)
    base = Text(
        max_length=64,
        load_default=None,
        allow_none=True,
        metadata={"description": "The `etag` of the staged change. Null: whatever is staged."},
    )


class UnstageInput(Input):
    changes = fields.List(
        fields.Nested(UnstageChange), required=True, validate=validate.Length(min=1, max=10_000)
    )


class PlaceInput(Input):
    """Where to move an object in its list. Without both, it comes last."""

    before = Text(max_length=63, load_default=None, allow_none=True)
    after = Text(max_length=63, load_default=None, allow_none=True)


class FieldChange(Answer):
    """One field that differs; nested fields are named `max_limit_bps.upload`."""

    field = fields.String()
    old = fields.Raw(allow_none=True)
    new = fields.Raw(allow_none=True)


class Change(Answer):
    """`old` is null when the object is added and `new` when it is removed."""

    kind = _kind()
    id = fields.String()
    name = fields.String()
    action = one_of("add", "change", "remove")
    fields_ = fields.List(fields.Nested(FieldChange), data_key="fields")
    old = fields.Dict(keys=fields.String(), allow_none=True)
    new = fields.Dict(keys=fields.String(), allow_none=True)


class StagedChange(Change):
    """A change of a candidate."""

    etag = fields.String(
        metadata={"description": "Its version, for `base` of the next change of the object."}
    )
    staged_at = fields.String(allow_none=True)
    effect = fields.Nested(
        "ObjectEffect", allow_none=True, metadata={"description": "null: not known, see `kernel.reason`."}
    )


class Counts(Answer):
    added = fields.Integer()
    changed = fields.Integer()
    removed = fields.Integer()


class Step(Answer):
    """One thing done, or to be done, to the kernel, in words."""

    backend = fields.String()
    action = fields.String()
    what = fields.String()


class ObjectEffect(Answer):
    """What the change of one object costs those who send packets through the router."""

    kind = one_of(*DECLARED)
    id = fields.String()
    effect = one_of(
        *SEVERITIES,
        metadata={
            "description": "hitless: no packet is lost for it; resets: packets are lost for a while, and "
            "sessions go on; drops-sessions: sessions end."
        },
    )
    text = fields.String(metadata={"description": "What happens, and to what; empty when it is hitless."})
    lasts_ms = fields.Integer(
        allow_none=True, metadata={"description": "How long a reset takes at most; null: not known."}
    )
    sessions = fields.Integer(allow_none=True, metadata={"description": "How many sessions end."})
    sessions_complete = fields.Boolean(
        allow_none=True,
        metadata={
            "description": "False: there may be more, as connections through the router are not tracked."
        },
    )


class KernelEffect(Answer):
    """What the changes do to the kernel's entries; at most 1,000 steps are listed, `counts` counts all."""

    available = fields.Boolean(metadata={"description": "False when the agent does not answer."})
    reason = fields.String(allow_none=True)
    effect = one_of(
        *SEVERITIES,
        allow_none=True,
        metadata={"description": "The worst of all objects' effects; null: not known."},
    )
    effects = fields.List(
        fields.Nested(ObjectEffect),
        metadata={"description": "Of the first 1,000 objects whose change is not hitless."},
    )
    counts = fields.Nested(Counts)
    steps = fields.List(fields.Nested(Step))
    apply_ms = fields.Float(allow_none=True)
    verify_ms = fields.Float(allow_none=True)


class YourWay(Answer):
    """What becomes of the way by which the caller is at the router."""

    fate = one_of(
        *FATES,
        metadata={
            "description": "stays: a new connection as this one would still be taken and answered; "
            "cuts-off-you: it would not, and without a timer the commit is refused (409); not-known: "
            "something counts that was not looked at, see `text`."
        },
    )
    text = fields.String(metadata={"description": "Why."})
    address = fields.String(
        allow_none=True,
        metadata={"description": "Where the caller comes from; null: not known, or it does not count."},
    )
    kind = fields.String(
        validate=validate.OneOf(DECLARED),
        allow_none=True,
        metadata={"description": "Of the object that cuts the caller off; null: no single one does."},
    )
    id = fields.String(allow_none=True)


class Pending(Answer):
    """A commit that rolls back by itself unless it is confirmed."""

    revision = fields.Integer()
    base_revision = fields.Integer()
    author = fields.String()
    message = fields.String()
    started_at = fields.String()
    deadline_at = fields.String()
    window_s = fields.Integer()
    seconds_left = fields.Float()
    token = fields.String(
        allow_none=True,
        metadata={"description": "Only in the answer to the commit; it confirms that change."},
    )


class PendingAnswer(Answer):
    pending = fields.Nested(Pending, allow_none=True)
    revision = fields.Integer(metadata={"description": "The running revision."})


class CommitAnswer(Answer):
    revision = fields.Integer()
    base_revision = fields.Integer()
    counts = fields.Nested(Counts, metadata={"description": "Objects."})
    kernel = fields.Nested(KernelEffect)
    findings = fields.List(fields.Nested(Finding))
    pending = fields.Nested(Pending, allow_none=True)


class Candidate(Answer):
    """The changes that one user has staged."""

    author = fields.String()
    base_revision = fields.Integer()
    head_revision = fields.Integer()
    created_at = fields.String()
    change_count = fields.Integer()
    conflict_count = fields.Integer(
        metadata={"description": "Objects that somebody else changed since; resolve before the commit."}
    )
    conflicts = fields.List(fields.Nested("CandidateConflict"), metadata={"description": "The first 100."})
    kinds = fields.Dict(
        keys=fields.String(), values=fields.Integer(), metadata={"description": "Changes per kind."}
    )


class CandidateConflict(Answer):
    """A staged object that somebody else changed or removed since it was staged."""

    kind = _kind()
    id = fields.String()
    author = fields.String(
        allow_none=True, metadata={"description": "Who did it last; null: history does not hold it any more."}
    )
    changed_at = fields.String(allow_none=True)


class OthersQuery(Query):
    kind = _kind(required=True)
    id = Text(max_length=63, required=True)


class OtherCandidate(Answer):
    """Somebody else's staged change of the object."""

    author = fields.String()
    staged_at = fields.String(allow_none=True, metadata={"description": "Null where it was not noted."})
    action = one_of("change", "remove")


class OthersAnswer(Answer):
    items = fields.List(
        fields.Nested(OtherCandidate), metadata={"description": "The newest first, up to 20."}
    )


class ResolveInput(Input):
    keep = one_of(
        "mine", "theirs", required=True, metadata={"description": "Whose version of conflicting objects."}
    )


class CandidateAnswer(Answer):
    candidate = fields.Nested(Candidate, allow_none=True)


class StagedAnswer(Answer):
    """The answer (202) to a write with `?candidate=1`."""

    candidate = fields.Nested(Candidate)
    kind = fields.String()
    ids = fields.List(fields.String())


class DiffQuery(Page):
    wait_s = QueryInteger(
        0,
        120,
        load_default=0,
        metadata={"description": "How long to wait for `complete`, in seconds; small candidates always are."},
    )
    effect = QueryFlag(
        load_default=True,
        metadata={"description": "Without it `kernel` and `findings` are not worked out: rows alone."},
    )


class CandidateDiff(Answer):
    base_revision = fields.Integer()
    head_revision = fields.Integer()
    total = fields.Integer()
    counts = fields.Nested(Counts)
    changes = fields.List(fields.Nested(StagedChange))
    next_cursor = fields.String(allow_none=True)
    complete = fields.Boolean(
        metadata={
            "description": "False while `kernel` and `findings` are still being worked out, and where they "
            "were not asked for."
        }
    )
    kernel = fields.Nested(KernelEffect)
    findings = fields.List(fields.Nested(Finding))
    your_way = fields.Nested(
        YourWay,
        allow_none=True,
        metadata={"description": "null while it is not `complete`, and where validation finds errors."},
    )


class Validation(Answer):
    valid = fields.Boolean()
    findings = fields.List(fields.Nested(Finding))
    kernel = fields.Nested(
        KernelEffect,
        metadata={"description": "What the commit would do; of thousands of changes, see the diff."},
    )
    your_way = fields.Nested(
        YourWay,
        allow_none=True,
        metadata={"description": "null where validation finds errors."},
    )


class Revision(Answer):
    revision = fields.Integer()
    kind = one_of("initial", "commit", "restore", "rollback")
    created_at = fields.String()
    author = fields.String()
    message = fields.String()
    change_count = fields.Integer()
    state = one_of("running", "past", "pending")
    restores = fields.Integer(allow_none=True, metadata={"description": "The revision that it restored."})


class RevisionPage(Answer):
    items = fields.List(fields.Nested(Revision))
    next_cursor = fields.String(allow_none=True)


class Restore(Answer):
    """What a restore of damaged objects writes."""

    total = fields.Integer()
    counts = fields.Nested(Counts)
    changes = fields.List(fields.Nested(Change))
    next_cursor = fields.String(allow_none=True)


class RevisionDiff(Restore):
    """What turns one revision into another."""

    from_revision = fields.Integer()
    to_revision = fields.Integer()


class RevisionDetail(Revision):
    changes = fields.List(fields.Nested(Change), metadata={"description": "The first 100."})


class ObjectVersion(Answer):
    """One change of an object: who, when, why, and what differs."""

    revision = fields.Nested(Revision)
    action = one_of("add", "change", "remove")
    fields_ = fields.List(fields.Nested(FieldChange), data_key="fields")
    old = fields.Dict(keys=fields.String(), allow_none=True)
    new = fields.Dict(keys=fields.String(), allow_none=True)


class ObjectVersionPage(Answer):
    items = fields.List(fields.Nested(ObjectVersion))
    next_cursor = fields.String(allow_none=True)


class BulkAnswer(Answer):
    revision = fields.Integer()
    upserted = fields.List(fields.String())
    deleted = fields.List(fields.String())
    kernel = fields.Nested(KernelEffect)
    findings = fields.List(fields.Nested(Finding))
