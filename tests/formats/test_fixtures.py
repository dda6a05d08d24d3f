# SPDX-License-Identifier: Apache-2.0
"""Every folder below fixtures/<format> is a test: its files are one import, `expected.json` its report.

`existing.json`, a list of objects with their kind, is the document the import meets. After a change that is
meant, `WEIR_WRITE_EXPECTED=1 pytest tests/formats/test_fixtures.py` rewrites the reports: read the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.formats.report_json import (
    assert_every_line_is_accounted_for,
    assert_objects_are_valid,
    report_to_json,
)
from weir.formats import ImportReport, read
from weir.model.codec import from_json, parse_kind
from weir.model.document import Document
from weir.model.rules import validate_all

FIXTURES = Path(__file__).parent / "fixtures"
CASES = sorted(path for path in FIXTURES.glob("*/*") if path.is_dir())
OWN_FILES = {"expected.json", "existing.json"}


def existing_document(case: Path) -> Document:
    path = case / "existing.json"
    if not path.exists():
        return Document()
    items = json.loads(path.read_text(encoding="utf-8"))
    return Document(from_json(parse_kind(item.pop("kind")), item) for item in items)


def assert_no_rule_is_broken(document: Document, report: ImportReport) -> None:
    """What an import proposes can be committed as it is."""
    for item in (*report.queue_types, *report.others, *report.queues):
        document.put(item)
    assert validate_all(document, errors_only=True) == []


@pytest.mark.parametrize("case", CASES, ids=[f"{case.parent.name}-{case.name}" for case in CASES])
def test_report_of_a_fixture_is_the_expected_one(case: Path) -> None:
    files = {path.name: path.read_bytes() for path in sorted(case.iterdir()) if path.name not in OWN_FILES}
    document = existing_document(case)
    report = read(case.parent.name, files, document)
    assert_objects_are_valid(report)
    assert_no_rule_is_broken(document, report)
    if case.parent.name != "libreqos":
        assert_every_line_is_accounted_for(report, files)
    found = report_to_json(report)
    expected = case / "expected.json"
    if os.environ.get("WEIR_WRITE_EXPECTED"):
        expected.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(expected.read_text(encoding="utf-8"))
