# SPDX-License-Identifier: Apache-2.0
"""docs/security.md promises only what a test holds: every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_promise_names_tests_that_exist() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    promises = [row for row in rows if TEST.search(row)]
    assert promises
    for row in promises:
        for file, name in TEST.findall(row):
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name}(" in source, f"{file} has no {name}"


def test_every_promise_has_a_test() -> None:
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[2:]:
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
        assert rows, section
        for row in rows:
            assert TEST.search(row), f"no test is named: {row}"
