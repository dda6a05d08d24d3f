# SPDX-License-Identifier: Apache-2.0
"""What Weir writes it reads back as the same objects, whatever names, comments and values hold."""

from __future__ import annotations

import csv as stdlib_csv

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.report_json import assert_every_line_is_accounted_for, assert_objects_are_valid
from tests.formats.strategies import documents
from weir.formats import csv, read, routeros
from weir.model.document import Document
from weir.model.objects import Queue


def queues_by_id(document: Document) -> dict[str, Queue]:
    return {queue.id: queue for queue in document.queues()}


@given(documents())
def test_routeros_export_imports_into_its_document_without_a_change(document: Document) -> None:
    files = {"weir.rsc": routeros.write(document).encode()}
    report = read("routeros", files, document)
    assert {queue.id: queue for queue in report.queues} == queues_by_id(document)
    assert {item.id: item for item in report.queue_types} == document.of_kind("queue-type")
    assert_every_line_is_accounted_for(report, files)


@given(documents())
def test_routeros_export_into_an_empty_router_keeps_everything_but_ids(document: Document) -> None:
    report = read("routeros", {"weir.rsc": routeros.write(document).encode()})
    assert_objects_are_valid(report)
    names = {queue.id: queue.name for queue in report.queues}
    originals = {queue.name: queue for queue in document.queues()}
    own_names = {queue.id: queue.name for queue in document.queues()}
    for queue in report.queues:
        original = originals[queue.name]
        parent = own_names[original.parent] if original.parent is not None else None
        assert (names[queue.parent] if queue.parent is not None else None) == parent
        assert (queue.target, queue.dst, queue.time) == (original.target, original.dst, original.time)
        assert (queue.max_limit_bps, queue.total) == (original.max_limit_bps, original.total)
        assert (queue.comment, queue.priority) == (original.comment, original.priority)
    again = read(
        "routeros", {"weir.rsc": routeros.write(Document(report.queues)).encode()}, Document(report.queues)
    )
    assert {queue.id for queue in again.queues} == {queue.id for queue in report.queues}


def test_a_destination_that_is_any_is_said_to_be_left_off() -> None:
    report = read("routeros", {"a.rsc": b"/queue simple\nadd dst=0.0.0.0/0 name=a target=10.0.0.1/32\n"})
    assert report.queues[0].dst is None
    assert [(line.fate, line.code) for line in report.lines] == [("changed", "any-destination")]
    old = b"/queue simple\nadd dst-address=0.0.0.0/0 name=a target-addresses=10.0.0.1/32\n"
    assert [line.fate for line in read("routeros", {"a.rsc": old}).lines] == ["imported"]


@given(documents())
def test_routeros_export_is_plain_ascii_with_one_command_on_a_line(document: Document) -> None:
    text = routeros.write(document)
    assert text.isascii()
    commands = [line for line in text.splitlines() if line.startswith("add ")]
    assert len(commands) == len(queues_by_id(document)) + 2


@given(documents())
def test_csv_imports_into_its_document_without_a_change(document: Document) -> None:
    files = {"queues.csv": csv.write(document).encode()}
    report = read("csv", files, document)
    assert {queue.id: queue for queue in report.queues} == queues_by_id(document)
    assert_every_line_is_accounted_for(report, files)


@given(documents())
def test_csv_imports_into_an_empty_router_with_the_same_ids(document: Document) -> None:
    types = Document(document.of_kind("queue-type").values())
    report = read("csv", {"queues.csv": csv.write(document).encode()}, types)
    assert {queue.id: queue for queue in report.queues} == queues_by_id(document)


@given(documents())
def test_no_cell_of_the_csv_is_a_formula(document: Document) -> None:
    rows = list(stdlib_csv.reader(csv.write(document).split("\r\n"), strict=True))
    for row in rows:
        for cell in row:
            assert cell[:1] not in csv.FORMULA or cell == ""


@given(st.text())
def test_guarded_cells_come_back_as_they_were(cell: str) -> None:
    assert csv.unguard(csv.guard(cell)) == cell


@given(st.text(st.sampled_from("'=+-@\ta")))
def test_guarded_cells_of_awkward_characters_come_back_as_they_were(cell: str) -> None:
    guarded = csv.guard(cell)
    assert csv.unguard(guarded) == cell
    assert not guarded or guarded[0] not in csv.FORMULA
