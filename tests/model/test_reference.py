# SPDX-License-Identifier: Apache-2.0
"""docs/reference/model.md knows every field, whether it is enforced, and every code of validation."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weir.http import forms
from weir.http.reference import rewritten, table
from weir.kinds import DECLARED
from weir.model.document import Document
from weir.model.enforcement import (
    ENFORCEMENT,
    FieldEnforcement,
    enforcement_of,
    enforcement_of_type,
    not_enforced,
)
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue, QueueType, Total
from weir.model.problem import NotFound

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "model.md").read_text()


def section(kind: str) -> str:
    """What the reference says of one kind, and of no other."""
    return re.split(r"^## ", REFERENCE.split(f"\n## `{kind}`", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def documented(text: str) -> set[str]:
    """The fields that have a row of their own in a table."""
    cells = re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z0-9_]+)`", cell)}


@pytest.mark.parametrize("kind", DECLARED)
def test_every_field_is_explained_at_its_kind(kind: str) -> None:
    fields = {item.name for item in dataclasses.fields(DECLARED[kind].of)} - {"id"}
    assert fields - documented(section(kind)) == set()


@pytest.mark.parametrize("kind", DECLARED)
def test_a_declared_field_has_its_help(kind: str) -> None:
    assert [item.name for item in DECLARED[kind].members if not item.field.help] == []


def test_the_tables_are_as_declared() -> None:
    assert rewritten(REFERENCE) == REFERENCE, "run make openapi"
    for kind, declaration in DECLARED.items():
        assert table(declaration) in section(kind)
    with pytest.raises(NotFound, match="static-route"):
        rewritten(REFERENCE.replace("<!-- fields of static-route -->", ""))


def test_the_web_interface_knows_the_kinds_as_declared() -> None:
    found = {name: (forms.FOLDER / name).read_text() for name in forms.files()}
    assert found == forms.files(), "run make openapi"


def test_the_table_has_every_field_of_a_queue() -> None:
    assert sorted(entry.field for entry in ENFORCEMENT) == sorted(set(Queue.__slots__) - {"id"})
    assert all(entry.note for entry in ENFORCEMENT if not entry.enforced)


@pytest.mark.parametrize("entry", ENFORCEMENT, ids=lambda entry: entry.field)
def test_the_reference_says_what_is_enforced(entry: FieldEnforcement) -> None:
    rows = [line for line in REFERENCE.splitlines() if re.match(rf"\|[^|]*`{entry.field}`", line)]
    of_a_queue = next(line for line in rows if line.count("|") == 5)
    assert ("**not yet**" in of_a_queue) is not entry.enforced
    assert entry.note in of_a_queue


def test_every_finding_code_is_listed() -> None:
    weir = ROOT / "api" / "weir"
    sources = (*(weir / "model" / "rules").glob("*.py"), *(weir / "kinds").glob("*.py"))
    texts = [source.read_text() for source in sources]
    codes = {
        code
        for text in texts
        for code in re.findall(r'(?<!\.)\b(?:error|warning|notice)\(\s*"([a-z0-9-]+)",', text)
    }
    codes |= {code for text in texts for code in re.findall(r'Finding\(\s*"[a-z]+",\s*"([a-z0-9-]+)"', text)}
    codes |= {
        f"unknown-{ref.role.lower().replace(' ', '-')}"
        for declaration in DECLARED.values()
        for ref in declaration.references.values()
    }
    assert len(codes) > 100
    rows = re.findall(r"^\| ((?:`[a-z0-9-]+`(?:, )?)+) \| (?:error|warning|notice)", REFERENCE, re.MULTILINE)
    assert codes - {code for row in rows for code in re.findall(r"[a-z0-9-]+", row)} == set()


def test_a_queue_names_what_it_asks_for_and_does_not_get() -> None:
    plain = Queue("q", "q", ("10.0.0.1/32",), max_limit_bps=Pair(1, 1), bucket_size_ms=Pair(5, 5))
    assert enforcement_of(plain, Document()) == []
    below = replace(plain, parent="p", limit_at_bps=Pair(1, 1), priority=Pair(1, 2))
    assert enforcement_of(below, Document()) == []
    asking = Queue("q", "q", ("lan0",), dst="::/0", queue_type=Pair("wireless-default", "default-small"))
    assert not_enforced(asking, Document()) == ["queue_type"]
    assert enforcement_of(asking, Document())[-1].to_json()["field"] == "target"


def test_a_pcq_beside_another_kind_is_kept_all_the_same() -> None:
    document = Document([CAKE])
    asking = Queue("q", "q", ("10.0.0.1/32",), queue_type=Pair("mine", "pcq-download-default"))
    said = {item.note.partition(" ")[0]: item.enforced for item in enforcement_of(asking, document)}
    assert said == {"cake": False, "one": True}
    both = enforcement_of(replace(asking, queue_type=Pair("mine", "wireless-default")), document)
    assert [item.note.partition(",")[0] for item in both] == ["cake and sfq are qdiscs below HTB"]


LIMITED = Pair(1_000_000, 1_000_000)
CAKE = QueueType("mine", "cake")


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        (Queue("q", "q", limit_at_bps=Pair(1, 0)), {"limit_at_bps": False}),
        (Queue("q", "q", priority=Pair(1, 8)), {"priority": False}),
        (Queue("q", "q", burst_threshold_bps=Pair(1, 0)), {"burst_threshold_bps": False}),
        (
            Queue("q", "q", burst_time_ms=Pair(9, 9), max_limit_bps=LIMITED, burst_limit_bps=Pair(0, 10**7)),
            {"burst_time_ms": True},
        ),
        (Queue("q", "q", bucket_size_ms=Pair(5, 5)), {"bucket_size_ms": False}),
        (Queue("q", "q", total=Total(queue_type="mine", priority=1)), {"total": False}),
        (Queue("q", "q", total=Total(limit_at_bps=1, bucket_size_ms=5)), {"total.bucket_size_ms": False}),
        (Queue("q", "q", total=Total(max_limit_bps=1, burst_time_ms=5)), {"total.burst_time_ms": False}),
        (Queue("q", "q", total=Total(max_limit_bps=1, queue_type="mine")), {"total.queue_type": False}),
        (Queue("q", "q", total=Total(max_limit_bps=1, queue_type="default")), {"total.queue_type": True}),
    ],
)
def test_a_queue_names_its_settings_without_effect(queue: Queue, said: dict[str, bool]) -> None:
    found = enforcement_of(queue, Document([CAKE]))
    assert {item.field: item.enforced for item in found} == said
    assert all(item.note for item in found)


@pytest.mark.parametrize(
    ("shapers", "kind", "enforced", "note"),
    [
        (("auto", "auto"), "bfifo", True, "by departure times: its length is a time at the queue's rate"),
        (("auto", "auto"), "mq-pfifo", True, "not tied to a card's transmit queues"),
        (("auto", "auto"), "none", True, "nothing waits, what is above the rate and the bucket is dropped"),
        (("htb", "auto"), "none", True, "on lan0 pfifo below HTB"),
        (("htb", "htb"), "bfifo", True, "on lan0, wan0 bfifo below HTB"),
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
    (of_type,) = enforcement_of_type(QueueType("mine", kind), document)
    assert (of_type.field, of_type.enforced, of_type.note) == ("type", enforced, said.note)
