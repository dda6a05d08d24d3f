# SPDX-License-Identifier: Apache-2.0
"""docs/reference/model.md knows every field, whether it is enforced, and every code of validation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from weir.model.document import Document
from weir.model.enforcement import ENFORCEMENT, FieldEnforcement, enforcement_of, not_enforced
from weir.model.objects import Firewall, Interface, Pair, Queue, QueueType, StaticRoute, Tuning

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "model.md").read_text()


@pytest.mark.parametrize("kind", [Queue, QueueType, Interface, StaticRoute, Firewall, Tuning])
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
    assert enforcement_of(plain, Document()) == []
    asking = Queue("q", "q", ("lan0",), dst="::/0", queue_type=Pair("wireless-default", "default-small"))
    assert not_enforced(asking, Document()) == ["queue_type"]
    assert enforcement_of(asking, Document())[-1].to_json()["field"] == "target"


@pytest.mark.parametrize(
    ("shapers", "kind", "enforced", "note"),
    [
        (("auto", "auto"), "bfifo", True, "a time at the queue's rate"),
        (("auto", "auto"), "cake", False, "on no interface: packets wait for departure times"),
        (("htb", "auto"), "sfq", False, "only on lan0: elsewhere packets wait"),
        (("auto", "auto"), "pcq", True, "one sub-queue for each address"),
        (("htb", "auto"), "pcq", False, "below HTB, where all share one queue"),
        (("htb", "htb"), "sfq", True, "as a qdisc below HTB"),
    ],
)
def test_a_queue_says_where_its_type_is_kept(
    shapers: tuple[Any, Any], kind: str, enforced: bool, note: str
) -> None:
    ports = [Interface(name, shaper=shaper) for name, shaper in zip(("lan0", "wan0"), shapers, strict=True)]
    document = Document([*ports, QueueType("mine", kind)])
    asking = Queue("q", "q", ("10.0.0.1/32",), queue_type=Pair("default-small", "mine"))
    (said,) = enforcement_of(asking, document)
    assert (said.field, said.enforced) == ("queue_type", enforced)
    assert note in said.note
