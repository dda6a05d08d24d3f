# SPDX-License-Identifier: Apache-2.0
"""Candidates: changes that are collected, compared and committed at once; and a commit's confirmation."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http import bulk, editing
from weir.http.answers import findings_json, read_number
from weir.http.context import me, service
from weir.http.endpoint import LARGE_BODY_BYTES, READ, SUPPORT, Resource, answer
from weir.http.rendering import (
    candidate_json,
    committed_json,
    diff_page,
    kernel_json,
    other_json,
    pending_answer,
    staged_diff_json,
    your_way_json,
)
from weir.http.schemas import changes
from weir.model import codec
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import NotFound
from weir.service import ABSENT, ANYTHING, CandidateView, Edit

resource = Resource(
    "candidate", "Stage changes, see what they do, commit them together; one candidate per user."
)
config = Resource("config", "The running configuration: a commit that waits for its confirmation.")
WORKED_OUT = "It is still being worked out; ask again."
NOT_ASKED = "It was not asked for."
CHANGE = "/candidate/changes/<string(maxlength=20):kind>/<string(maxlength=63):object_id>"


def mine() -> CandidateView:
    view = service().candidates.get(me())
    if view is None:
        raise NotFound("You have no candidate; stage a change or create one.", code="no-candidate")
    return view


@resource.operation("GET", "/candidate", scope=READ, answers=changes.CandidateAnswer)
def get_candidate() -> Response:
    """Show your candidate, or null"""
    view = service().candidates.get(me())
    return answer({"candidate": candidate_json(view) if view else None})


@resource.operation("POST", "/candidate", scope=SUPPORT, answers=changes.CandidateAnswer, status=201)
def create_candidate() -> Response:
    """Begin a candidate on the running revision

    One that exists stays as it is.
    """
    return answer({"candidate": candidate_json(service().candidates.open(me()))}, 201)


@resource.operation("DELETE", "/candidate", scope=SUPPORT, status=204)
def discard_candidate() -> Response:
    """Discard your candidate"""
    service().candidates.discard(me())
    return answer(None, 204)


@resource.operation(
    "PUT",
    "/candidate/changes",
    scope=SUPPORT,
    body=changes.ChangesInput,
    answers=changes.CandidateAnswer,
    max_body_bytes=LARGE_BODY_BYTES,
)
def stage_changes(body: dict[str, Any]) -> Response:
    """Stage changes of objects of any kind

    Each is the whole new object, or null to delete it. A change of the same object is replaced, unless its
    `base` says that it was made on another version: then nothing is staged (412, or 409 for `none`).
    """
    edits = []
    _give_places(body["changes"])
    for change in body["changes"]:
        kind = codec.parse_kind(change["kind"])
        object_id = change["id"]
        if object_id is None:
            object_id = service().config.new_id(me(), kind)
        new = change["new"]
        item = None if new is None else _read(kind, new, object_id)
        edits.append(Edit(kind, codec.check_id(kind, object_id), item, _expected(change["base"])))
    return answer({"candidate": candidate_json(service().candidates.stage(me(), edits))})


def _give_places(given: list[dict[str, Any]]) -> None:
    """Into what is new in an ordered kind and has no position, in the order of the request."""
    queues = [change["new"] for change in given if change["kind"] == "queue" and change["new"] is not None]
    for change in given:
        if change["kind"] == "queue" and change["id"] is not None and change["new"] is not None:
            change["new"].setdefault("id", change["id"])
    positions = bulk.Positions(queues, staged=True)
    for queue in queues:
        if "position" not in queue:
            queue["position"] = positions.of(queue.get("id"), queue.get("parent"))
    for kind in {change["kind"] for change in given}:
        if editing.is_ordered(kind):
            changes_ = [change for change in given if change["kind"] == kind and change["new"] is not None]
            for change in changes_:
                if change["id"] is not None:
                    change["new"].setdefault("id", change["id"])
            bulk.give_places(kind, [change["new"] for change in changes_], staged=True)


def _read(kind: Kind, new: dict[str, Any], object_id: str) -> ConfigObject:
    body = editing.writable(kind, new)
    if body.setdefault("id", object_id) != object_id:
        return codec.from_json(kind, body, object_id)  # which says that they do not agree
    return editing.read_new(kind, body, staged=True)


def _expected(base: str | None) -> str:
    if base is None:
        return ANYTHING
    return ABSENT if base in ("none", editing.BUILT_IN) else base


@resource.operation("DELETE", CHANGE, scope=SUPPORT, answers=changes.CandidateAnswer)
def unstage_change(kind: str, object_id: str) -> Response:
    """Take one object's change out of your candidate"""
    view = service().candidates.unstage(me(), codec.parse_kind(kind), object_id)
    return answer({"candidate": candidate_json(view)})


@resource.operation(
    "POST",
    "/candidate/unstage",
    scope=SUPPORT,
    body=changes.UnstageInput,
    answers=changes.CandidateAnswer,
    max_body_bytes=LARGE_BODY_BYTES,
)
def unstage_changes(body: dict[str, Any]) -> Response:
    """Take the changes of many objects out of your candidate, all or none

    With `base`, only if it is still the version that is staged (412).
    """
    edits = [
        Edit(codec.parse_kind(change["kind"]), change["id"], None, change["base"] or ANYTHING)
        for change in body["changes"]
    ]
    return answer({"candidate": candidate_json(service().candidates.unstage_all(me(), edits))})


@resource.operation(
    "GET", "/candidate/diff", scope=READ, query=changes.DiffQuery, answers=changes.CandidateDiff
)
def diff_candidate(query: dict[str, Any]) -> Response:
    """Compare your candidate with the running configuration

    Per object and field, and what the commit would do to the kernel's entries. With thousands of changes
    the findings and the effect take seconds: they are worked out once for all pages, and until they are
    there `complete` is false and nothing is said of either.
    """
    after = read_number(query["cursor"]) or 0
    found = service().candidates.diff(
        me(), after, query["limit"], query["wait_s"], with_effect=query["effect"]
    )
    effect = found.effect
    without = WORKED_OUT if query["effect"] else NOT_ASKED
    preview = None if effect is None else effect.preview
    return answer(
        {
            "base_revision": found.base_revision,
            "head_revision": found.head_revision,
            **diff_page(found.diff),
            "changes": [staged_diff_json(item, preview) for item in found.diff.objects],
            "complete": effect is not None,
            "kernel": kernel_json(effect.preview, effect.reason) if effect else kernel_json(None, without),
            "findings": findings_json(effect.findings) if effect else [],
            "your_way": your_way_json(effect.your_way) if effect else None,
        }
    )


@resource.operation(
    "GET", "/candidate/others", scope=READ, query=changes.OthersQuery, answers=changes.OthersAnswer
)
def list_others(query: dict[str, Any]) -> Response:
    """Who else has staged a change of an object

    Their changes are not shown, only whose they are, since when, and whether they remove the object.
    """
    kind = codec.parse_kind(query["kind"])
    found = service().candidates.others(me(), kind, query["id"])
    return answer({"items": [other_json(item) for item in found]})


@resource.operation("POST", "/candidate/validate", scope=READ, answers=changes.Validation)
def validate_candidate() -> Response:
    """Validate your candidate

    Also says what the commit would do to the kernel, what each object's change costs (`kernel.effects`), and
    whether you would still reach the router (`your_way`).
    """
    mine()
    effect = service().candidates.validate(me())
    valid = not any(finding.severity == "error" for finding in effect.findings)
    kernel = kernel_json(effect.preview, effect.reason)
    return answer(
        {
            "valid": valid,
            "findings": findings_json(effect.findings),
            "kernel": kernel,
            "your_way": your_way_json(effect.your_way),
        }
    )


@resource.operation(
    "POST",
    "/candidate/resolve",
    scope=SUPPORT,
    body=changes.ResolveInput,
    answers=changes.CandidateAnswer,
)
def resolve_candidate(body: dict[str, Any]) -> Response:
    """Settle conflicts with what others committed meanwhile, and go on from the running revision"""
    return answer({"candidate": candidate_json(service().candidates.resolve(me(), body["keep"]))})


@resource.operation(
    "POST", "/candidate/commit", scope=SUPPORT, body=changes.CommitInput, answers=changes.CommitAnswer
)
def commit_candidate(body: dict[str, Any]) -> Response:
    """Commit your candidate

    With `confirm_within_s` it rolls back by itself unless it is confirmed in time. Without it, what would cut
    off the caller's own way to the router is refused (409, `cuts-off-you`).
    """
    mine()
    committed = service().candidates.commit(me(), body["message"], body["confirm_within_s"])
    return answer(committed_json(committed), Server_Timing=editing.server_timing(committed.timing_ms))


@config.operation("GET", "/config/pending", scope=READ, answers=changes.PendingAnswer)
def get_pending() -> Response:
    """The commit that waits for its confirmation, or null, and the running revision"""
    return answer(pending_answer(service(), me()))


@config.operation(
    "POST", "/config/confirm", scope=SUPPORT, body=changes.ConfirmInput, answers=changes.PendingAnswer
)
def confirm_commit(body: dict[str, Any]) -> Response:
    """Keep the commit that waits for its confirmation"""
    service().config.confirm(me(), body["revision"], body["token"])
    return get_pending()


@config.operation("POST", "/config/revert", scope=SUPPORT, answers=changes.CommitAnswer)
def revert_commit() -> Response:
    """Roll the commit that waits for its confirmation back now"""
    return answer(committed_json(service().config.revert(me())))
