# SPDX-License-Identifier: Apache-2.0
"""Imports: read a file, report what it would do, and commit exactly that as one revision.

A report belongs to the user who made it and to the revision it was made on. It lives in memory for an
hour; after a restart, or when the configuration moved on, the file is read again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from weir import formats
from weir.accounts.principal import Principal
from weir.formats import ImportReport, Line
from weir.kinds import DECLARED
from weir.memory import give_back_soon
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.problem import Conflict, Finding, Invalid, NotFound, Unavailable
from weir.service import Service
from weir.service.packed_edits import PackedEdits
from weir.service.types import ABSENT, ANYTHING, CandidateView, Committed, Edit

LIFETIME_S = 3600
MAX_REPORTS = 8
MAX_WEIGHT = 250_000
"""Lines and edits of all reports together; the newest one is always kept."""
MAX_FINDINGS = 1000
MANY = 2000
"""A report of more lines and edits leaves memory behind that is worth giving back."""
PIECE_LINES = 400
ACTIONS = ("added", "changed", "removed")
Json = dict[str, Any]
Counts = dict[str, dict[str, int]]
"""By kind how many objects are added, changed and removed."""


@dataclass(frozen=True, slots=True)
class Report:
    """What an import would do. `edits` are the differences from the running configuration; `counts` are
    their numbers, and `kinds` the same by kind."""

    id: str
    owner: str
    format: str
    file_names: tuple[str, ...]
    created_at_ms: int
    expires_at_ms: int
    base_revision: int
    summary: Mapping[str, int]
    counts: Mapping[str, int]
    kinds: Mapping[str, Mapping[str, int]]
    lines: Sequence[Line]
    edits: Sequence[Edit]
    findings: Sequence[Finding]
    preview: Json | None
    preview_reason: str | None

    @property
    def weight(self) -> int:
        """How much it holds: lines and edits."""
        return len(self.lines) + len(self.edits)

    @property
    def can_commit(self) -> bool:
        """False when it would change nothing or when validation found an error."""
        return bool(self.edits) and not any(found.severity == "error" for found in self.findings)

    def page(
        self, limit: int, cursor: str | None, fate: str | None = None, text: str | None = None
    ) -> tuple[list[Json], str | None, int]:
        """Lines from an index on that have a fate and hold a text; how many there are in all."""
        start = _index(cursor)
        if fate is None and not text:
            chosen: Sequence[Line] = self.lines
        else:
            chosen = list(self._matching(fate, (text or "").casefold()))
        shown = [_line_json(line) for line in chosen[start : start + limit]]
        more = start + limit < len(chosen)
        return shown, str(start + limit) if more else None, len(chosen)

    def _matching(self, fate: str | None, text: str) -> Iterator[Line]:
        for line in self.lines:
            if fate is not None and line.fate.replace("-", "_") != fate:
                continue
            if not text or text in line.source.casefold() or text in line.reason.casefold():
                yield line


class ImportService:
    """Reports by their id. Thread-safe."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._reports: dict[str, Report] = {}

    def read(
        self,
        by: Principal,
        format_name: str,
        files: Mapping[str, bytes],
        *,
        replace_all: bool = False,
        preview: bool = True,
    ) -> Report:
        """Make a report; nothing is changed. Raises Invalid when the files are not of that format."""
        revision, document = self._snapshot(by)
        edits, lines, summary, of_files, kinds = _read(format_name, files, document, replace_all)
        checked, effect, reason = self._judged(by, edits, preview=preview)
        findings = [*of_files, *checked]
        now_ms = int(time.time() * 1000)
        report = Report(
            id=secrets.token_urlsafe(12),
            owner=by.username,
            format=format_name,
            file_names=tuple(files),
            created_at_ms=now_ms,
            expires_at_ms=now_ms + LIFETIME_S * 1000,
            base_revision=revision,
            summary=summary,
            counts=_sum(kinds),
            kinds=kinds,
            lines=lines,
            edits=edits,
            findings=findings[:MAX_FINDINGS],
            preview=effect,
            preview_reason=reason,
        )
        self._keep(report)
        return report

    def _snapshot(self, by: Principal) -> tuple[int, Document]:
        """The running revision and a copy of its document: reading a file takes long, a lock must not."""
        with self._service.config.at_head(by) as (revision, running):
            return revision, running.copy()

    def _judged(
        self, by: Principal, edits: Sequence[Edit], *, preview: bool
    ) -> tuple[list[Finding], Json | None, str | None]:
        """What validation says, errors first, and what the import would do to the kernel, or None and why
        that is not known. The agent works that out while it is validated here (docs/adr/0259)."""
        asked: list[Future[tuple[Json | None, str | None]]] = []
        with ThreadPoolExecutor(1, thread_name_prefix="preview") as helper:

            def ask() -> None:
                asked.append(helper.submit(self._effect, by, edits))

            checked = self._service.config.check(by, edits, ask if preview else lambda: None) if edits else []
            checked.sort(key=lambda finding: finding.severity != "error")
            if not preview:
                return checked, None, "It was not asked for."
            if not edits:
                return checked, {}, None
            return checked, *(asked[0].result() if asked else (None, checked[0].message))

    def _effect(self, by: Principal, edits: Sequence[Edit]) -> tuple[Json | None, str | None]:
        """What the edits would do to the kernel, or None and why that is not known."""
        try:
            return self._service.config.preview(by, edits), None
        except (Unavailable, Invalid) as problem:
            return None, problem.message

    def _keep(self, report: Report) -> None:
        with self._lock:
            self._expire()
            kept = sorted(self._reports.values(), key=lambda found: found.owner == report.owner, reverse=True)
            while kept and (
                len(kept) >= MAX_REPORTS or sum(found.weight for found in kept) + report.weight > MAX_WEIGHT
            ):
                del self._reports[kept.pop(0).id]
            self._reports[report.id] = report
        if report.weight > MANY:
            give_back_soon()

    def _expire(self) -> None:
        now_ms = time.time() * 1000
        for report in [found for found in self._reports.values() if found.expires_at_ms <= now_ms]:
            del self._reports[report.id]

    def get(self, by: Principal, report_id: str) -> Report:
        """Raises NotFound for one that expired, was committed, or is somebody else's."""
        with self._lock:
            self._expire()
            report = self._reports.get(report_id)
        if report is None or report.owner != by.username:
            message = f"There is no import report {report_id!r}; read the file again."
            raise NotFound(message, path=f"import/{report_id}")
        return report

    def discard(self, by: Principal, report_id: str) -> None:
        self.get(by, report_id)
        with self._lock:
            gone = self._reports.pop(report_id, None)
        if gone is not None and gone.weight > MANY:
            give_back_soon()

    def commit(self, by: Principal, report_id: str, message: str, confirm_within_s: int | None) -> Committed:
        """One revision. Raises Conflict when the configuration changed since the report was made."""
        report = self._ready(by, report_id)
        committed = self._service.config.commit(
            by,
            report.edits,
            message or _message(report),
            confirm_within_s,
            expected_head=report.base_revision,
            audited_as="import",
        )
        self.discard(by, report_id)
        return committed

    def stage(self, by: Principal, report_id: str) -> CandidateView:
        """Put the report's changes into the caller's candidate."""
        report = self._ready(by, report_id)
        view = self._service.candidates.stage(by, report.edits)
        self.discard(by, report_id)
        return view

    def _ready(self, by: Principal, report_id: str) -> Report:
        report = self.get(by, report_id)
        if not report.edits:
            raise Conflict("The import would change nothing.", code="nothing-to-commit")
        head = self._service.config.revision(by)
        if head != report.base_revision:
            raise Conflict(
                f"The report was made on revision {report.base_revision}, and revision {head} runs now; "
                "read the file again.",
                code="report-outdated",
            )
        return report

    def export(self, by: Principal, format_name: str) -> Iterator[str]:
        """Text of a format that can be written, in pieces: all queues (`csv`), or the configuration as far as
        the format has words for it (`routeros`). The audit trail says who took it."""
        revision, document = self._snapshot(by)
        # Imported when they are used: the API starts without them.
        if format_name == "csv":
            from weir.formats import csv

            lines = csv.written(document)
        elif format_name == "routeros":
            from weir.formats import routeros

            lines = routeros.written(document)
        else:
            raise Invalid(f"{format_name!r} cannot be exported.", code="unknown-format")
        self._service.audit.record(by, "config.export", f"revision {revision}", detail=format_name)
        return _pieces(lines)


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Lines in pieces of some 64 KB; what a long text leaves behind is given back."""
    count = 0
    while piece := "".join(islice(lines, PIECE_LINES)):
        yield piece
        count += PIECE_LINES
    if count > MANY:
        give_back_soon()


def _read(
    format_name: str, files: Mapping[str, bytes], document: Document, replace_all: bool
) -> tuple[PackedEdits, Sequence[Line], Mapping[str, int], Sequence[Finding], Counts]:
    """Edits, lines, summary, what is said of whole files, and the edits' counts; nothing else of a reader
    outlives this."""
    found = formats.read(format_name, files, document)
    counts: Counts = {}
    edits = PackedEdits(_counted(_edits(document, found, replace_all), counts))
    kinds = {kind: counts[kind] for kind in DECLARED if kind in counts}
    return edits, found.lines, found.summary, found.findings, kinds


def _edits(document: Document, found: ImportReport, replace_all: bool) -> Iterator[Edit]:
    """What turns the document's objects into those found; with `replace_all` other queues go."""
    for item in chain[ConfigObject](found.queue_types, found.others, found.queues):
        present = document.get(item.kind, item.id)
        if present != item:
            yield Edit(item.kind, item.id, item, ABSENT if present is None else ANYTHING)
    if replace_all:
        kept = {queue.id for queue in found.queues}
        for queue_id in list(document.of_kind("queue")):
            if queue_id not in kept:
                yield Edit("queue", queue_id, None, ANYTHING)


def _counted(edits: Iterable[Edit], counts: Counts) -> Iterator[Edit]:
    """The same, counted on their way: thousands are made again whenever they are looked at."""
    for edit in edits:
        of_kind = counts.get(edit.kind) or counts.setdefault(edit.kind, dict.fromkeys(ACTIONS, 0))
        of_kind["removed" if edit.new is None else "added" if edit.expects == ABSENT else "changed"] += 1
        yield edit


def _sum(kinds: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {action: sum(counts[action] for counts in kinds.values()) for action in ACTIONS}


def _message(report: Report) -> str:
    names = ", ".join(islice(report.file_names, 3))
    return f"import {report.format}: {names}"


def _line_json(line: Line) -> Json:
    return {
        "line": line.number,
        "end_line": line.end,
        "file": line.file,
        "source": line.source,
        "fate": line.fate.replace("-", "_"),
        "code": line.code,
        "reason": line.reason or None,
        "object_id": line.object_id,
    }


def _index(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise Invalid(f"{cursor!r} is not a cursor of this list.", code="bad-cursor", path="cursor")
    return int(cursor)
