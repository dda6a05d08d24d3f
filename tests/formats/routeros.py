# SPDX-License-Identifier: Apache-2.0
"""Imports of RouterOS' exports, and what is in every one of them: all that it proposes can be committed."""

from __future__ import annotations

from tests.formats.report_json import assert_every_line_is_accounted_for, assert_objects_are_valid
from weir.formats import ImportReport, read
from weir.model.codec import to_stored_json
from weir.model.document import Document
from weir.model.rules import validate_all

LISTS = (
    "/interface list\nadd name=LAN\nadd name=WAN\nadd name=GUESTS\n"
    "/interface list member\nadd interface=ether1 list=WAN\nadd interface=ether2 list=LAN\n"
    "add interface=ether3 list=GUESTS\nadd interface=ether4 list=GUESTS\n"
)


def import_of(text: str, existing: Document | None = None) -> ImportReport:
    report = read("routeros", {"export.rsc": text.encode()}, existing)
    assert_objects_are_valid(report)
    assert_every_line_is_accounted_for(report, {"export.rsc": text.encode()})
    document = existing.copy() if existing is not None else Document()
    for item in (*report.queue_types, *report.others, *report.queues):
        document.put(item)
    assert validate_all(document, errors_only=True) == []
    return report


def of_kind(report: ImportReport, kind: str) -> list[dict[str, object]]:
    return [to_stored_json(item) for item in report.others if item.kind == kind]


def only(report: ImportReport, kind: str) -> dict[str, object]:
    (found,) = of_kind(report, kind)
    return found
