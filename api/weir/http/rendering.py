# SPDX-License-Identifier: Apache-2.0
"""What the service returns, as the JSON that the schemas document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weir.accounts.principal import Principal
from weir.diagnosis.judged import Fix
from weir.diagnosis.measured import Uplink
from weir.diagnosis.shown import number_json
from weir.http.answers import findings_json, moment
from weir.http.context import me, service
from weir.model import codec
from weir.model.document import Change
from weir.parts.effect import SEVERITIES, Effect
from weir.service import (
    CandidateView,
    Committed,
    Diff,
    FieldChange,
    ObjectDiff,
    PendingView,
    Revision,
    Service,
    Stored,
)
from weir.service.states import State
from weir.service.way_in import YourWay
from weir.service.why import Why
from weir.store.candidates import Other, Overtaken

MAX_STEPS = 1000
MAX_EFFECTS = 1000


def counts_json(changes: Iterable[Change]) -> dict[str, int]:
    """How many objects are added, changed and removed."""
    counts = {"added": 0, "changed": 0, "removed": 0}
    for change in changes:
        action = "added" if change.old is None else "removed" if change.new is None else "changed"
        counts[action] += 1
    return counts


def kernel_json(effect: Mapping[str, Any] | None, reason: str | None = None) -> dict[str, Any]:
    """The agent's answer to apply or preview; None when it was not asked or did not answer."""
    found: Mapping[str, Any] = effect or {}
    counts = found.get("counts", {})
    return {
        "available": effect is not None,
        "reason": None if effect is not None else reason or "The agent does not answer.",
        "effect": _worst(found),
        "effects": [dict(item) for item in found.get("effects") or ()],
        "counts": {name: int(counts.get(name, 0)) for name in ("added", "changed", "removed")},
        "steps": [
            {"backend": str(step["backend"]), "action": str(step["action"]), "what": str(step["what"])}
            for step in found.get("steps", ())[:MAX_STEPS]
        ],
        "apply_ms": found.get("apply_ms"),
        "verify_ms": found.get("verify_ms"),
    }


def _worst(preview: Mapping[str, Any]) -> str | None:
    effects = preview.get("effects")
    if effects is None:
        return None
    return max((item["effect"] for item in effects), key=SEVERITIES.index, default="hitless")


def object_effect(diff: ObjectDiff, preview: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Of one staged object; None when it is not known."""
    effects = (preview or {}).get("effects")
    if effects is None or len(effects) >= MAX_EFFECTS:
        return next((dict(item) for item in effects or () if _is_of(item, diff)), None)
    found = next((item for item in effects if _is_of(item, diff)), None)
    return dict(found) if found else Effect(diff.kind, diff.id, "hitless", "").to_json()


def _is_of(item: Mapping[str, Any], diff: ObjectDiff) -> bool:
    return bool(item["kind"] == diff.kind and item["id"] == diff.id)


def pending_json(pending: PendingView | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    return {
        "revision": pending.revision,
        "base_revision": pending.base_revision,
        "author": pending.author,
        "message": pending.message,
        "started_at": moment(pending.created_at_ms),
        "deadline_at": moment(pending.deadline_at_ms),
        "window_s": pending.window_s,
        "seconds_left": round(pending.seconds_left, 3),
        "token": None,
    }


def pending_answer(services: Service, by: Principal) -> dict[str, Any]:
    """The commit that waits for its confirmation, or null, and the running revision."""
    return {
        "pending": pending_json(services.config.pending(by)),
        "revision": services.config.revision(by),
    }


def committed_json(committed: Committed) -> dict[str, Any]:
    pending = pending_json(service().config.pending(me())) if committed.confirm else None
    if pending is not None and committed.confirm is not None:
        pending["token"] = committed.confirm.token
    return {
        "revision": committed.revision,
        "base_revision": committed.revision - (1 if committed.changes else 0),
        "counts": counts_json(committed.changes),
        "kernel": kernel_json(committed.applied),
        "findings": findings_json(committed.findings),
        "pending": pending,
    }


def findings_answer(found: dict[str, Any]) -> dict[str, Any]:
    """What the agent says of its findings, with times as the API writes them."""
    findings = [_timed(item, since="since_ms", seen="seen_ms") for item in found["findings"]]
    kept = ("period_s", "cpu_ms_per_sample", "looked_at", "not_looked_at")
    return {
        "at": moment(found["at_ms"]),
        **{name: found[name] for name in kept},
        "findings": findings,
        "trials": [trial_answer(item) for item in found["trials"]],
    }


def incidents_answer(found: dict[str, Any]) -> dict[str, Any]:
    """The list of incidents, with times as the API writes them."""
    return {**found, "since": _at(found["since"]), "items": [_incident_head(item) for item in found["items"]]}


def marks_answer(found: dict[str, Any]) -> dict[str, Any]:
    """Marks of graphs, with times as the API writes them."""
    items = [{"at": moment(item["at_ms"]), **item} for item in found["items"]]
    for item in items:
        del item["at_ms"]
    return {"whole_since": moment(found["whole_since_ms"]), "items": items}


def incident_answer(found: dict[str, Any]) -> dict[str, Any]:
    """One incident with its figures."""
    names = found["names"]
    return {
        **_incident_head(found),
        "start": found["start"],
        "cores": found["cores"],
        "interfaces": [{"id": item["id"], **item["ways"]} for item in found["interfaces"]],
        "queues": [
            {"id": item["id"], "name": names.get(item["id"]), **item["ways"]} for item in found["queues"]
        ],
        "events": [
            {"at": _at(item["at"]), **{name: item[name] for name in _OF_EVENT}} for item in found["events"]
        ],
        "left_out": found["left_out"],
    }


_OF_EVENT = ("code", "subject", "severity", "sentence", "begins")


def _incident_head(item: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "code", "subject", "severity", "sentence", "times", "state")
    times = {name: _at(item[name]) for name in ("at", "last_at", "recorded_until")}
    return {**{name: item[name] for name in kept}, **times}


def _at(seconds: float) -> str | None:
    """Unix seconds as RFC 3339 text."""
    return moment(round(seconds * 1000))


def why_answer(found: Why, at_ms: int) -> dict[str, Any]:
    """One customer's line, with the words and numbers of the diagnosis."""
    judged = found.answer
    queue = None if found.queue_id is None else {"id": found.queue_id, "name": found.queue_name}
    return {
        "at": moment(at_ms),
        "queue": queue,
        "address": found.address,
        "towards": found.towards,
        "uplink": None if found.uplink is None else _uplink_json(found.uplink),
        "sentence": judged.sentence,
        "culprit": None if judged.culprit is None else judged.line.index(judged.culprit),
        "line": [
            {
                **{name: getattr(item, name) for name in ("place", "subject", "state", "sentence")},
                "code": item.code or None,
                "numbers": [number_json(number) for number in item.numbers],
                "fixes": [_fix_json(fix) for fix in item.fixes],
                "not_known": list(item.unknown),
            }
            for item in judged.line
        ],
        "losses": [
            {
                "way": loss.way,
                "where": loss.where,
                "known": bool(loss.numbers),
                "sentence": loss.sentence,
                "numbers": [number_json(number) for number in loss.numbers],
            }
            for loss in judged.losses
        ],
    }


def _uplink_json(uplink: Uplink) -> dict[str, Any]:
    return {"id": uplink.id, "status": uplink.status, "answers": uplink.answers or None}


def _fix_json(fix: Fix) -> dict[str, Any]:
    subject = {"kind": fix.kind, "id": fix.object} if fix.kind else None
    return {"id": fix.id, "text": fix.text, "subject": subject, "command": fix.command or None}


def trial_answer(trial: dict[str, Any]) -> dict[str, Any]:
    return _timed(trial, at="at_ms")


def _timed(item: dict[str, Any], **times: str) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if name not in times.values()}
    return {**kept, **{name: moment(item[source]) for name, source in times.items()}}


def log_answer(found: dict[str, Any]) -> dict[str, Any]:
    from_us = found["from_us"]
    lines = [
        {"at": moment(line["at_us"] // 1000)}
        | {name: value for name, value in line.items() if name != "at_us"}
        for line in found["lines"]
    ]
    kept = {name: found[name] for name in ("cursor", "more", "looked_at", "sources")}
    return {"items": lines, "looked_from": None if from_us is None else moment(from_us // 1000), **kept}


def candidate_json(view: CandidateView) -> dict[str, Any]:
    summary = view.summary
    return {
        "author": view.owner,
        "base_revision": view.base_revision,
        "head_revision": service().config.revision(me()),
        "created_at": moment(view.created_at_ms),
        "change_count": view.change_count,
        "conflict_count": summary.conflict_count,
        "conflicts": [overtaken_json(item) for item in summary.conflicts],
        "kinds": dict(summary.kinds),
    }


def overtaken_json(item: Overtaken) -> dict[str, Any]:
    return {"kind": item.kind, "id": item.id, "author": item.author, "changed_at": moment(item.at_ms)}


def other_json(item: Other) -> dict[str, Any]:
    return {
        "author": item.owner,
        "staged_at": moment(item.staged_at_ms or None),
        "action": "remove" if item.deletes else "change",
    }


def staged_json(view: CandidateView, kind: str, ids: Sequence[str]) -> dict[str, Any]:
    return {"candidate": candidate_json(view), "kind": kind, "ids": list(ids)}


def field_change_json(change: FieldChange) -> dict[str, Any]:
    return {"field": change.field, "old": change.old, "new": change.new}


def object_diff_json(diff: ObjectDiff) -> dict[str, Any]:
    return {
        "kind": diff.kind,
        "id": diff.id,
        "name": diff.name,
        "action": diff.action,
        "fields": [field_change_json(item) for item in diff.fields],
        "old": diff.old,
        "new": diff.new,
    }


def staged_diff_json(diff: ObjectDiff, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        **object_diff_json(diff),
        "etag": diff.etag,
        "staged_at": moment(diff.staged_at_ms),
        "effect": object_effect(diff, preview),
    }


def diff_page(diff: Diff) -> dict[str, Any]:
    counts = diff.counts
    return {
        "total": counts.total,
        "counts": {"added": counts.added, "changed": counts.changed, "removed": counts.removed},
        "changes": [object_diff_json(item) for item in diff.objects],
        "next_cursor": None if diff.after is None else str(diff.after),
    }


def revision_json(revision: Revision, head: int, pending: PendingView | None) -> dict[str, Any]:
    state = "running" if revision.number == head else "past"
    if pending is not None and pending.revision == revision.number:
        state = "pending"
    return {
        "revision": revision.number,
        "kind": revision.kind,
        "created_at": moment(revision.created_at_ms),
        "author": revision.author,
        "message": revision.message,
        "change_count": revision.changes,
        "state": state,
        "restores": revision.restores,
    }


def object_json(stored: Stored) -> dict[str, Any]:
    """An object of any kind with its etag; the kinds' own resources add what is read-only."""
    return {**codec.to_json(stored.object), "etag": stored.etag}


def state_json(state: State) -> dict[str, Any]:
    """What is learnt about an object; while the agent is away it is what it said last."""
    at = moment(state.at_ms)
    stale = state.stale_reason is not None
    return {
        "id": state.id,
        "at": at,
        "stale_since": at if stale else None,
        "stale_reason": state.stale_reason,
        "fields": state.fields,
    }


def explanation_json(object_id: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the agent says of one object in the system."""
    told = {name: found[name] for name in ("revision", "agrees", "asked", "lines")}
    drift = [drift_json(item) for item in found["drift"]]
    return {"id": object_id, "at": moment(found["at_ms"]), **told, "drift": drift}


def drift_json(item: Mapping[str, Any]) -> dict[str, Any]:
    """One thing that was, or still is, different from the configuration."""
    return {
        "at": moment(item.get("at_ms")),
        "part": str(item.get("part", "")),
        "what": str(item.get("text", "")),
        "repaired": bool(item.get("repaired")),
    }


def your_way_json(found: YourWay | None) -> dict[str, Any] | None:
    """What becomes of the caller's own way to the router."""
    if found is None:
        return None
    return {
        "fate": found.fate,
        "text": found.text,
        "address": found.address or None,
        "kind": found.kind,
        "id": found.id,
    }
