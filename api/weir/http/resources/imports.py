# SPDX-License-Identifier: Apache-2.0
"""Importing other systems' files with a what-if report, and exporting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response

from weir.http import editing, uploads
from weir.http.answers import findings_json, moment
from weir.http.context import context, me
from weir.http.endpoint import LARGE_BODY_BYTES, READ, WRITE, Resource, answer
from weir.http.rendering import candidate_json, committed_json, kernel_json
from weir.http.schemas import changes, imports
from weir.service.imports import Report

resource = Resource(
    "import", "Import RouterOS exports, LibreQoS files and CSV; nothing is dropped in silence."
)
exports = Resource("export", "Export queues as CSV, or the configuration as a RouterOS script.")
REPORT = "/import/reports/<string(maxlength=64):report_id>"
FIRST_LINES = 100
TEXT = {"type": "string", "format": "binary"}


@resource.operation(
    "POST",
    "/import/<any(routeros, libreqos, csv):format_name>",
    scope=WRITE,
    query=imports.ImportQuery,
    upload={
        "text/plain": TEXT,
        "text/csv": TEXT,
        "application/octet-stream": TEXT,
        "multipart/form-data": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "One part per file; LibreQoS: ShapedDevices.csv and network.json.",
        },
    },
    answers=imports.ImportReport,
    status=201,
    max_body_bytes=LARGE_BODY_BYTES,
)
def import_file(query: dict[str, Any], format_name: str) -> Response:
    """Read a file and report what an import would do

    Nothing is changed. The report is kept for an hour; commit it, or stage it in your candidate.
    """
    files = uploads.read_files(format_name)
    report = context().imports.read(
        me(), format_name, files, replace_all=query["replace"], preview=query["preview"]
    )
    return answer(report_json(report), 201)


def report_json(report: Report) -> dict[str, Any]:
    lines, next_cursor, total = report.page(FIRST_LINES, None)
    return {
        "id": report.id,
        "format": report.format,
        "file_names": list(report.file_names),
        "created_at": moment(report.created_at_ms),
        "expires_at": moment(report.expires_at_ms),
        "base_revision": report.base_revision,
        "summary": report.summary,
        "counts": report.counts,
        "kinds": [{"kind": kind, **counts} for kind, counts in report.kinds.items()],
        "can_commit": report.can_commit,
        "lines": lines,
        "total_lines": total,
        "next_cursor": next_cursor,
        "findings": findings_json(report.findings),
        "kernel": kernel_json(report.preview, report.preview_reason),
    }


@resource.operation("GET", REPORT, scope=READ, answers=imports.ImportReport)
def get_report(report_id: str) -> Response:
    """Show a report"""
    return answer(report_json(context().imports.get(me(), report_id)))


@resource.operation(
    "GET", REPORT + "/lines", scope=READ, query=imports.ImportLinesQuery, answers=imports.ImportLinesAnswer
)
def list_report_lines(query: dict[str, Any], report_id: str) -> Response:
    """The lines of a report with their fate, filtered"""
    report = context().imports.get(me(), report_id)
    items, next_cursor, total = report.page(query["limit"], query["cursor"], query["fate"], query["q"])
    return answer({"items": items, "next_cursor": next_cursor, "total": total})


@resource.operation("DELETE", REPORT, scope=WRITE, status=204)
def discard_report(report_id: str) -> Response:
    """Discard a report"""
    context().imports.discard(me(), report_id)
    return answer(None, 204)


@resource.operation(
    "POST",
    REPORT + "/commit",
    scope=WRITE,
    body=imports.ImportCommitInput,
    answers=changes.CommitAnswer,
    also={202: ("Staged in your candidate", changes.CandidateAnswer)},
)
def commit_report(body: dict[str, Any], report_id: str) -> Response:
    """Commit what a report describes as one revision, or stage it in your candidate

    Refused (409) when the configuration has changed since: read the file again.
    """
    found = context().imports
    if body["candidate"]:
        return answer({"candidate": candidate_json(found.stage(me(), report_id))}, 202)
    committed = found.commit(me(), report_id, body["message"], body["confirm_within_s"])
    return answer(committed_json(committed), Server_Timing=editing.server_timing(committed.timing_ms))


@exports.operation("GET", "/export/csv", scope=READ, media={"text/csv": TEXT})
def export_csv() -> Response:
    """All queues as CSV"""
    return download(context().imports.export(me(), "csv"), "text/csv", "weir-queues.csv")


@exports.operation("GET", "/export/routeros", scope=READ, media={"text/plain": TEXT})
def export_routeros() -> Response:
    """The configuration as a RouterOS script, in which what RouterOS has no words for is named"""
    return download(context().imports.export(me(), "routeros"), "text/plain", "weir.rsc")


def download(text: Iterator[str], mimetype: str, name: str) -> Response:
    response = Response(text, mimetype=mimetype)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
