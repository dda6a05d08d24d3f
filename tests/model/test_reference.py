# SPDX-License-Identifier: Apache-2.0
"""docs/reference/model.md knows every field, whether it is enforced, and every code of validation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weir.model.enforcement import ENFORCEMENT, FieldEnforcement, enforcement_of, not_enforced
from weir.model.objects import Firewall, Interface, Pair, Queue, QueueType, StaticRoute

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "model.md").read_text()


@pytest.mark.parametrize("kind", [Queue, QueueType, Interface, StaticRoute, Firewall])
def test_every_field_is_explained(kind: type) -> None:
    fields = set(kind.__slots__) - {"id"}  # type: ignore[attr-defined]
    assert fields <= set(re.findall(r"`([a-z_]+)`", REFERENCE)), kind.__name__


def test_the_table_has_every_field_of_a_queue() -> None:
    assert sorted(entry.field for entry in ENFORCEMENT) == sorted(set(Queue.__slots__) - {"id"})
    assert all(entry.note for entry in ENFORCEMENT if not entry.enforced)


@pytest.mark.parametrize("entry", ENFORCEMENT, ids=lambda entry: entry.field)
def test_the_reference_says_what_is_enforced(entry: FieldEnforcement) -> None:
    rows = [line for line in REFERENCE.splitlines() if re.match(rf"\|[^|]*`{entry.field}`", line)]
    of_a_queue = next(line for line in rows if line.count("|") == 5)
    assert ("**not yet**" in of_a_queue) is not entry.enforced


def test_every_finding_code_is_listed() -> None:
    sources = (ROOT / "api" / "weir" / "model" / "rules").glob("*.py")
    codes = {
        code
        for source in sources
        for code in re.findall(
            r'(?:error|warning)\(\s*"([a-z-]+)"|"(?:error|warning|notice)",\s*"([a-z-]+)"', source.read_text()
        )
        for code in code
        if code
    }
    assert len(codes) > 25
    assert codes <= set(re.findall(r"`([a-z-]+)`", REFERENCE))


def test_a_queue_names_what_it_asks_for_and_does_not_get() -> None:
    plain = Queue("q", "q", ("10.0.0.1/32",), max_limit_bps=Pair(1, 1), bucket_size_ms=Pair(5, 5))
    assert enforcement_of(plain) == []
    asking = Queue("q", "q", ("lan0",), dst="::/0", queue_type=Pair("default", "default"))
    assert not_enforced(asking) == ["dst", "queue_type"]
    assert enforcement_of(asking)[-1].to_json()["field"] == "target"
