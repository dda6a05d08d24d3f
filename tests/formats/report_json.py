# SPDX-License-Identifier: Apache-2.0
"""A report as the JSON that the fixtures hold."""

from __future__ import annotations

from dataclasses import asdict

from weir.formats import ImportReport
from weir.model.codec import from_json, to_json, to_stored_json
from weir.model.objects import ConfigObject


def report_to_json(report: ImportReport) -> dict[str, object]:
    told = {"findings": [finding.to_json() for finding in report.findings]} if report.findings else {}
    return {
        **told,
        "summary": report.summary,
        "silent_lines": report.silent_lines,
        "lines": [_without_defaults(asdict(line)) for line in report.lines],
        "queue_types": [to_stored_json(item) for item in report.queue_types],
        "queues": [to_stored_json(item) for item in report.queues],
        **(
            {"others": [{"kind": item.kind, **to_stored_json(item)} for item in report.others]}
            if report.others
            else {}
        ),
    }


def _without_defaults(line: dict[str, object]) -> dict[str, object]:
    if line["commands"] == 1:
        del line["commands"]
    if line["end"] == line["number"]:
        del line["end"]
    return {key: value for key, value in line.items() if value not in (None, "")}


def assert_objects_are_valid(report: ImportReport) -> None:
    """The codec is the strictest reader of objects there is: what an import makes must pass it unchanged."""
    items: list[ConfigObject] = [*report.queues, *report.queue_types]
    for item in items:
        assert from_json(item.kind, to_json(item)) == item
    for item in report.others:
        assert from_json(item.kind, to_stored_json(item), is_stored=True) == item
    assert len({(item.kind, item.id) for item in report.others}) == len(report.others)
    assert len({queue.id for queue in report.queues}) == len(report.queues)
    assert len({queue.name for queue in report.queues}) == len(report.queues)


def assert_every_line_is_accounted_for(report: ImportReport, files: dict[str, bytes]) -> None:
    """Each physical line of a RouterOS or CSV file is silent or inside the span of a line of the report."""
    physical = covered = 0
    for name, data in files.items():
        physical += physical_lines(data)
        spans: set[int] = set()
        for line in report.lines:
            if line.file == name:
                assert 1 <= line.number <= line.end
                spans.update(range(line.number, line.end + 1))
        covered += len(spans)
    assert covered + report.silent_lines == physical


def physical_lines(data: bytes) -> int:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            data = data[2:].decode(encoding, "replace").encode("utf-8")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return len(lines) - (lines[-1] == b"")
