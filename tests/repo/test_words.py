# SPDX-License-Identifier: Apache-2.0
"""Words that CONTRIBUTING.md asks not to write: riddles to a reader whose English is from school."""

from __future__ import annotations

import re

from tests.repo.test_sources import ROOT, text_files

GUIDE = ROOT / "CONTRIBUTING.md"
ROW = re.compile(r"^\| ([a-z ]+) \| .+ \|$", re.MULTILINE)
HISTORY = ("docs/adr/", "LICENSE")
"""Decision records are of their day, licences are others'."""


def forbidden() -> list[str]:
    return ROW.findall(GUIDE.read_text().split("### Words")[1])[1:]


def test_nobody_writes_them() -> None:
    words = forbidden()
    assert len(words) > 3, "the table was not found"
    choice = "|".join(word.replace(" ", r"[\s_]") for word in words)
    pattern = re.compile(rf"(?<![a-z0-9-])({choice})(?![a-z0-9-])", re.IGNORECASE)
    found = []
    for path in text_files():
        name = str(path.relative_to(ROOT))
        if path != GUIDE and not name.startswith(HISTORY):
            lines = path.read_text(errors="replace").splitlines()
            found += [f"{name}:{number}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    assert found == []
