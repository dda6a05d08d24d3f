# SPDX-License-Identifier: Apache-2.0
"""Validating what a change concerns finds exactly what validating everything would."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.model.strategies import anything, changes_to, patient
from weir.kinds import KINDS
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import View
from weir.model.rules import FlaggedObjects, affected, all_rules, findings_of, validate, validate_all

documents = st.lists(anything, max_size=10)


def by_rule(document: Document) -> dict[tuple[str, str], list[Finding]]:
    view = View(document)
    return {
        (rule.name, item.id): found
        for rule in all_rules()
        for item in document.of_kind(rule.kind).values()
        if (found := list(rule.check(view, item)))
    }


@patient
@given(documents, st.data())
def test_rules_reach_every_object_whose_findings_change(
    items: list[ConfigObject], data: st.DataObject
) -> None:
    document = Document(items)
    if data.draw(st.booleans()):
        document.targets()
    before = by_rule(document)
    changes = data.draw(changes_to(document))
    document.apply(changes)
    reached = {(rule.name, object_id) for rule, ids in affected(document, changes) for object_id in ids}
    deleted = {
        (rule.name, change.id)
        for change in changes
        for rule in all_rules()
        if rule.kind == change.kind and change.new is None
    }
    untouched = {key: found for key, found in before.items() if key not in reached and key not in deleted}
    after = by_rule(Document(document))
    assert untouched == {key: found for key, found in after.items() if key not in reached}


@patient
@given(documents, st.data())
def test_incremental_findings_are_those_of_the_whole_document(
    items: list[ConfigObject], data: st.DataObject
) -> None:
    document = Document(items)
    flagged = FlaggedObjects(document)
    changes = data.draw(changes_to(document))
    document.apply(changes)
    flagged.update(changes)
    everything = Counter(validate_all(document))
    found = Counter(item for item in validate(document, changes) if item.code != "still-referenced")
    assert found <= everything
    for kind in KINDS:
        assert flagged.ids(kind) == {item.id for item in everything if item.kind == kind}
        ids = list(document.of_kind(kind))
        assert set(flagged.among(kind, ids)) == flagged.ids(kind)
        for object_id in ids:
            own = Counter(item for item in everything if (item.kind, item.id) == (kind, object_id))
            assert Counter(findings_of(document, kind, object_id)) == own
    errors = [item for item in everything.elements() if item.severity == "error"]
    assert Counter(validate_all(document, errors_only=True)) == Counter(errors)


@patient
@given(documents, st.data())
def test_a_document_that_went_there_and_back_is_the_same(
    items: list[ConfigObject], data: st.DataObject
) -> None:
    document = Document(items)
    document.targets()
    before = Counter(validate_all(document))
    changes = data.draw(changes_to(document))
    document.apply(changes)
    document.revert(changes)
    assert Counter(validate_all(document)) == before
    assert sorted(document.targets()) == sorted(Document(document).targets())
    assert document._guaranteed_bps == Document(document)._guaranteed_bps
