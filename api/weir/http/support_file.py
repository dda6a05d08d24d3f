# SPDX-License-Identifier: Apache-2.0
"""What is in a support file: answers of this API, each as a file, and the ends of the router's logs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from weir.accounts.principal import Principal
from weir.diagnosis.figures import FIGURES
from weir.http.answers import moment
from weir.http.context import Context
from weir.http.health import system_json
from weir.http.rendering import (
    explanation_json,
    findings_answer,
    incident_answer,
    incidents_answer,
    object_diff_json,
    revision_json,
    state_json,
)
from weir.kinds import DECLARED
from weir.model.problem import Problem
from weir.service import Listing, ObjectDiff
from weir.service.support_file import Part

Json = Any
REVISIONS, WITH_CHANGES, CHANGES = 200, 20, 50
AUDIT_ENTRIES = 1000
OBJECTS = 100
"""Of each kind, whose state and whereabouts in the system are told."""
EXPLAIN_S = 10.0
INTERFACES, QUEUES = 64, 50
DROPS_MINUTES = 24 * 60
WITH_FIGURES = 4
CONFIGURATION_BYTES = 64 << 20
READ_BYTES = 65_536


def parts_of(context: Context, by: Principal) -> list[Part]:
    """What is most likely to be needed comes first."""
    service, stats = context.service, context.stats
    told: list[tuple[str, str, Callable[[], Json]]] = [
        ("system", "version, kernel, uptime, health", lambda: system_json(context, by)),
        ("findings", "what ails it now", lambda: findings_answer(service.diagnosis.findings(by))),
        ("revisions", "the last revisions and their changes", lambda: _revisions(context, by)),
        ("audit", "who did what", lambda: _audit(context, by)),
        ("states", "what is learnt about objects", lambda: _states(context, by)),
        ("explained", "what is in the system as configured", lambda: _explained(context, by)),
        ("drops", "packets dropped in 24 hours, by owner", lambda: stats.drops.since(DROPS_MINUTES)),
        ("incidents", "what began, the newest with its figures", lambda: _incidents(context)),
        ("load", "processors and memory", stats.router.system),
        ("interfaces", "counters and rates now", stats.router.interfaces),
        ("interfaces-past", "by second, minute and ten minutes", lambda: _past(context)),
        ("queues", "the busiest queues now", lambda: stats.top(QUEUES, "rate_total")),
        ("queues-drops", "the queues that drop most now", lambda: stats.top(QUEUES, "drops")),
        ("tuning", "settings of the kernel", lambda: service.tuning.settings(by)),
        ("store", "the database", lambda: service.stored.state(by)),
        ("updates", "the system's slots", lambda: service.updates.status(by)),
    ]
    return [
        *(Part(f"{name}.json", about, _written(make)) for name, about, make in told),
        *(
            Part(f"log-{name}.txt", f"log of the {name}, newest first", _log(context, name))
            for name in ("product", "kernel")
        ),
        Part("figures.json", "the system's own figures, 24 hours by the minute", lambda: _figures(context)),
        Part(
            "configuration.backup",
            "a backup without secrets, to be restored on another router",
            lambda: service.backup.pieces(by, context.hostname),
            CONFIGURATION_BYTES,
        ),
    ]


def _written(make: Callable[[], Json]) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield json.dumps(make(), indent=1, ensure_ascii=False).encode(errors="replace")

    return pieces


def _log(context: Context, name: str) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        answer, (descriptor,) = context.service.agent.call_for_fds("log_tail", {"log": name}, timeout_s=30.0)
        with os.fdopen(descriptor, "rb") as file:
            if not os.fstat(descriptor).st_size:
                yield b"(the journal gave no line of it)\n"
            file.seek(0)
            while data := file.read(READ_BYTES):
                yield data
        if answer["is_cut"]:
            yield b"(older lines were left out)\n"

    return pieces


def _revisions(context: Context, by: Principal) -> Json:
    service = context.service
    head, pending = service.config.revision(by), service.config.pending(by)
    found = [revision_json(item, head, pending) for item in service.revisions.list(by, limit=REVISIONS)]
    for item in found[:WITH_CHANGES]:
        number = item["revision"]
        diff = service.revisions.diff(by, max(number - 1, 0), number, limit=CHANGES)
        item["changes"] = [_change(change) for change in diff.objects]
    return found


def _change(diff: ObjectDiff) -> Json:
    """By field; whole objects of 1,000 changes would be more than a part may have."""
    kept = object_diff_json(diff)
    del kept["old"], kept["new"]
    return kept


def _audit(context: Context, by: Principal) -> Json:
    names = ("id", "actor", "via", "source", "action", "subject", "outcome", "detail")
    return [
        {"at": moment(entry.at_ms), **{name: getattr(entry, name) for name in names}}
        for entry in context.service.audit.list(by, limit=AUDIT_ENTRIES)
    ]


def _ids(context: Context, by: Principal, kind: str) -> tuple[list[str], int]:
    """The first objects of a kind, and how many there are."""
    page = context.service.config.page(by, Listing(kind, limit=OBJECTS, sort="id"))
    return [item.id for item in page.items], page.total or 0


def _states(context: Context, by: Principal) -> Json:
    found = {}
    for kind, declaration in DECLARED.items():
        if declaration.state:
            ids, total = _ids(context, by, kind)
            items = [state_json(item) for item in context.service.states.of(by, kind, ids)]
            found[kind] = {"total": total, "items": items}
    return found


def _explained(context: Context, by: Principal) -> Json:
    """Of each kind how many agree with the system, and all about those that do not."""
    deadline = time.monotonic() + EXPLAIN_S
    found: dict[str, Json] = {}
    for kind in DECLARED:
        if kind == "queue":
            continue  # by the hundred thousand, and each with a shape of its own
        ids, total = _ids(context, by, kind)
        told: Json = {"total": total, "looked_at": 0, "agree": 0, "others": []}
        found[kind] = told
        for object_id in ids:
            if time.monotonic() > deadline:
                break
            told["looked_at"] += 1
            explained = _explanation(context, by, kind, object_id)
            if explained.get("agrees"):
                told["agree"] += 1
            else:
                told["others"].append(explained)
    return found


def _explanation(context: Context, by: Principal, kind: str, object_id: str) -> dict[str, Json]:
    try:
        return explanation_json(object_id, context.service.config.explain(by, kind, object_id))
    except Problem as problem:
        return {"id": object_id, "problem": problem.message}


def _incidents(context: Context) -> Json:
    """All that are kept; of the newest ones, as far as they can be read, by the second."""
    incidents = context.stats.incidents
    listed = incidents_answer(incidents.listed())
    told = []
    for item in listed["items"][:WITH_FIGURES]:
        try:
            told.append(incident_answer(incidents.one(item["id"])))
        except Problem as problem:
            told.append({"id": item["id"], "problem": problem.message})
    return {**listed, "with_figures": told}


def _figures(context: Context) -> Iterator[bytes]:
    """All that are kept, a line each; the most in a minute of those that have one line in all."""
    found = context.stats.figures.answer(list(FIGURES), DROPS_MINUTES)
    items = found.pop("items")
    yield json.dumps(found).removesuffix("}").encode() + b', "items": ['
    for number, item in enumerate(items):
        if item["subject"] is not None:
            del item["most"]
        yield (b",\n" if number else b"\n") + json.dumps(item, separators=(",", ":")).encode()
    yield b"\n]}"


def _past(context: Context) -> Json:
    """Of the busiest interfaces: the columns are those of `stats/interfaces/{id}/history`."""
    router = context.stats.router
    names = router.busiest(INTERFACES)
    return [router.interface_history(name, window) for name in names for window in ("2m", "1h", "24h")]
