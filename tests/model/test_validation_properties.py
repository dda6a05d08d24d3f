# SPDX-License-Identifier: Apache-2.0
"""Validating what a change concerns finds exactly what validating everything would."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.model.declared import objects_of
from tests.model.strategies import anything, changes_to, interfaces, patient
from weir.kinds import DECLARED
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import View
from weir.model.rules import FlaggedObjects, affected, all_rules, findings_of, validate, validate_all

BY_KIND = {kind: objects_of(one) for kind, one in DECLARED.items()} | {"interface": interfaces}


def around(kind: str) -> st.SearchStrategy[ConfigObject]:
    """Objects of a kind, and of those that it refers to."""
    named = {field.kind for field in DECLARED[kind].references.values()} & BY_KIND.keys()
    return st.one_of(*(BY_KIND[one] for one in (kind, *sorted(named - {kind}))))


OBJECTS = {**{kind: around(kind) for kind in BY_KIND}, "queue": anything}


def documents(objects: st.SearchStrategy[ConfigObject], most: int) -> st.SearchStrategy[Document]:
    """No object is there twice."""
    some = st.lists(objects, max_size=most, unique_by=lambda item: (item.kind, item.id))
    return some.map(Document)


@st.composite
def scenes(draw: st.DrawFn, objects: st.SearchStrategy[ConfigObject]) -> tuple[Document, list[Change]]:
    """A document, and changes to it."""
    document = draw(documents(objects, 10))
    return document, draw(changes_to(document, objects))


EITHER_SIDE = {("set", "holds-what-fits"), ("set-entry", "fits-its-set")}
"""They say the same from either side: who changes a set of 100,000 entries is told of one that does not fit,
and who changes an entry is not told of the set. So each looks at what was changed only."""

anywhere = st.sampled_from(sorted(OBJECTS.keys() - {"set-entry"})).flatmap(lambda kind: scenes(OBJECTS[kind]))


def by_rule(document: Document) -> dict[tuple[str, str, str], list[Finding]]:
    view = View(document)
    return {
        (*rule.key, item.id): found
        for rule in all_rules()
        if rule.key not in EITHER_SIDE
        for item in document.of_kind(rule.kind).values()
        if (found := list(rule.check(view, item)))
    }


def test_a_rule_in_which_error_is_written_is_declared_to_give_errors() -> None:
    """The others are passed over where only errors are asked for."""
    silent = [rule for rule in all_rules() if not rule.gives_errors]
    assert len(silent) > 10
    for rule in silent:
        assert not re.search(r"\berror\(", inspect.getsource(rule.check)), rule.key


@pytest.mark.parametrize("kind", OBJECTS)
@patient
@given(data=st.data())
def test_rules_reach_every_object_whose_findings_change(kind: str, data: st.DataObject) -> None:
    document, changes = data.draw(scenes(OBJECTS[kind]))
    if data.draw(st.booleans()):
        document.targets()
    before = by_rule(document)
    document.apply(changes)
    reached = {(*rule.key, object_id) for rule, ids in affected(document, changes) for object_id in ids}
    deleted = {
        (*rule.key, change.id)
        for change in changes
        for rule in all_rules()
        if rule.kind == change.kind and change.new is None
    }
    untouched = {key: found for key, found in before.items() if key not in reached and key not in deleted}
    after = by_rule(Document(document))
    assert untouched == {key: found for key, found in after.items() if key not in reached}


def errors_of(findings: list[Finding]) -> bool:
    """Whether one says that the document is invalid, not only that a disabled object needs another."""
    return any(item.severity == "error" and item.code != "still-referenced" for item in findings)


@pytest.mark.parametrize("kind", OBJECTS)
@patient
@given(data=st.data())
def test_a_change_that_makes_a_document_invalid_is_refused(kind: str, data: st.DataObject) -> None:
    document = data.draw(documents(OBJECTS[kind], 3))
    assume(not errors_of(validate_all(document)))
    changes = data.draw(changes_to(document, OBJECTS[kind], max_changes=2))
    document.apply(changes)
    assert errors_of(validate(document, changes)) == errors_of(validate_all(document))


@patient
@given(anywhere)
def test_incremental_findings_are_those_of_the_whole_document(scene: tuple[Document, list[Change]]) -> None:
    document, changes = scene
    flagged = FlaggedObjects(document)
    document.apply(changes)
    flagged.update(changes)
    everything = Counter(validate_all(document))
    found = Counter(item for item in validate(document, changes) if item.code != "still-referenced")
    assert found <= everything
    for kind in DECLARED:
        assert flagged.ids(kind) == {item.id for item in everything if item.kind == kind}
        ids = list(document.of_kind(kind))
        assert set(flagged.among(kind, ids)) == flagged.ids(kind)
        for object_id in ids:
            own = Counter(item for item in everything if (item.kind, item.id) == (kind, object_id))
            assert Counter(findings_of(document, kind, object_id)) == own
    errors = [item for item in everything.elements() if item.severity == "error"]
    assert Counter(validate_all(document, errors_only=True)) == Counter(errors)


@patient
@given(anywhere)
def test_a_document_that_went_there_and_back_is_the_same(scene: tuple[Document, list[Change]]) -> None:
    document, changes = scene
    document.targets()
    before = Counter(validate_all(document))
    document.apply(changes)
    document.revert(changes)
    assert Counter(validate_all(document)) == before
    assert sorted(document.targets()) == sorted(Document(document).targets())
    assert document._guaranteed_bps == Document(document)._guaranteed_bps
