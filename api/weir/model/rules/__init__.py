# SPDX-License-Identifier: Apache-2.0
"""Validation of a whole document: small rules, run over what a change can concern.

An `error` stops a commit; a `warning` or `notice` is shown and does not. A finding depends on one object
and what it refers to, so a change of one queue among 100,000 runs each rule on a handful of objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from weir.kinds import DECLARED
from weir.kinds.references import rules_of
from weir.model.document import Change, Document, changes_by_kind
from weir.model.objects import Kind
from weir.model.packed_changes import kinds_of, without_new_queues
from weir.model.problem import Finding
from weir.model.rule import Rule, View
from weir.model.rules import (
    devices,
    hierarchy,
    members,
    network,
    rates,
    sessions,
    targets,
    tunnels,
    vlans,
    vrfs,
)
from weir.model.rules.naming import NAMED, naming_findings
from weir.model.rules.removal import kinds_that_are_named, removal_findings

_WRITTEN: tuple[Rule, ...] = (
    *hierarchy.RULES,
    *rates.RULES,
    *targets.RULES,
    *network.RULES,
    *vlans.RULES,
    *vrfs.RULES,
    *devices.RULES,
    *members.RULES,
    *sessions.RULES,
    *tunnels.RULES,
)
"""Those that look at a whole hierarchy, or at several kinds, and so are not in a declaration."""

_FEW_CHANGES = 1000

Flags = Mapping[tuple[Kind, str], Collection[str]]
"""By rule, the objects that it has something to say about."""


def all_rules() -> tuple[Rule, ...]:
    """The rules of all kinds, in the order in which findings are listed."""
    return (*_WRITTEN, *(rule for declaration in DECLARED.values() for rule in rules_of(declaration)))


def validate(
    document_after: Document, changes: Sequence[Change], *, errors_only: bool = False
) -> list[Finding]:
    """What the rules say about every object that the changes (already applied) can concern.

    With `errors_only` rules that only warn are left out: what the agent needs before it applies. So are
    names, which are refused to who asks for them and not to a rollback.
    """
    findings = _of_changes(document_after, changes, names=not errors_only)
    if is_much(document_after, changes):
        findings += _by_object(document_after, _concerned(kinds_of(changes), errors_only=errors_only))[0]
    else:
        view = View(document_after)
        for rule, ids in affected(document_after, changes, errors_only=errors_only):
            findings.extend(_check(view, rule, ids))
    return [item for item in findings if item.severity == "error"] if errors_only else findings


def validate_many(
    document_after: Document, changes: Sequence[Change]
) -> tuple[list[Finding], FlaggedObjects]:
    """As `validate` for changes of much of a document, with what there is to say about all of it."""
    findings = _of_changes(document_after, changes)
    return findings, FlaggedObjects(document_after, findings)


def validate_and_flag(
    document_after: Document, changes: Sequence[Change]
) -> tuple[list[Finding], Flags | None]:
    """As `validate`, with what the rules that the changes concern say about all objects; None where they
    looked at some."""
    if not is_much(document_after, changes):
        return validate(document_after, changes), None
    found, flags = _by_object(document_after, _concerned(kinds_of(changes), errors_only=False))
    return [*_of_changes(document_after, changes), *found], flags


def validate_all(document: Document, *, errors_only: bool = False) -> list[Finding]:
    """What the rules say about the whole document."""
    found, _ = _by_object(document, [rule for rule in all_rules() if rule.gives_errors or not errors_only])
    return [item for item in found if item.severity == "error"] if errors_only else found


def _concerned(kinds: Collection[Kind], *, errors_only: bool) -> list[Rule]:
    """The rules that changes of these kinds can make say something else."""
    return [
        rule
        for rule in all_rules()
        if not rule.reach.kinds.isdisjoint(kinds) and (rule.gives_errors or not errors_only)
    ]


def _by_object(document: Document, rules: Sequence[Rule]) -> tuple[list[Finding], Flags]:
    """What these rules say about every object, in their order, and which objects each has something to say
    about."""
    findings: dict[tuple[Kind, str], list[Finding]] = {rule.key: [] for rule in rules}
    flags: dict[tuple[Kind, str], set[str]] = {rule.key: set() for rule in rules}
    for rule, object_id, said in _said(document, rules):
        findings[rule.key].append(said)
        flags[rule.key].add(object_id)
    return [item for rule in rules for item in findings[rule.key]], flags


def findings_of(document: Document, kind: Kind, object_id: str) -> list[Finding]:
    """What the rules say about one object: the `warnings` of an API answer."""
    return findings_by_id(document, kind, (object_id,))[object_id]


def findings_by_id(document: Document, kind: Kind, ids: Iterable[str]) -> dict[str, list[Finding]]:
    """`findings_of` each; what several of them need is worked out once."""
    view, objects = View(document), document.of_kind(kind)
    rules = [rule for rule in all_rules() if rule.kind == kind]
    items = {object_id: objects.get(object_id) for object_id in ids}
    return {
        object_id: [] if item is None else [found for rule in rules for found in rule.check(view, item)]
        for object_id, item in items.items()
    }


def affected(
    document: Document, changes: Sequence[Change], *, errors_only: bool = False
) -> Iterable[tuple[Rule, Iterable[str]]]:
    """Every rule with the ids of the objects that it must look at again."""
    by_kind = changes_by_kind(changes)
    for rule in _concerned(by_kind, errors_only=errors_only):
        concerned = (change for kind in by_kind if kind in rule.reach.kinds for change in by_kind[kind])
        view = View(document)
        yield rule, dict.fromkeys(item for change in concerned for item in rule.reach(view, change))


def is_much(document: Document, changes: Sequence[Change]) -> bool:
    """So many changes that looking at every object is faster than asking what each one concerns."""
    return len(changes) > max(_FEW_CHANGES, len(document) // 4)


def rewrites_queues(document: Document, changes: Sequence[Change]) -> bool:
    """Whether the document after the changes is better made again than changed. Where no queue changes, what
    there is of queues stays as it is, however many objects change."""
    return is_much(document, changes) and "queue" in kinds_of(changes)


def _of_changes(document: Document, changes: Sequence[Change], *, names: bool = True) -> list[Finding]:
    """What is said about a change rather than an object: nothing of a queue that comes or changes."""
    findings: list[Finding] = []
    named = kinds_that_are_named()
    for change in without_new_queues(changes):
        if change.new is None:
            if change.kind not in named:
                continue
            findings += removal_findings(document, change)
        elif names and change.kind == NAMED:
            findings += naming_findings(change)
    return findings


def _check(view: View, rule: Rule, ids: Iterable[str]) -> Iterable[Finding]:
    objects = view.document.of_kind(rule.kind)
    for object_id in ids:
        item = objects.get(object_id)
        if item is not None:
            yield from rule.check(view, item)


def _said(document: Document, every: Sequence[Rule]) -> Iterator[tuple[Rule, str, Finding]]:
    """What these rules say about every object. By object: a packed one is made again to be looked at."""
    view = View(document)
    for kind in DECLARED:
        checks = [(rule, rule.check) for rule in every if rule.kind == kind]
        for item in document.of_kind(kind).values() if checks else ():
            for rule, check in checks:
                for said in check(view, item):
                    yield rule, item.id, said


class FlaggedObjects:
    """Which objects have findings, kept up to date from change to change; the texts are made when asked."""

    def __init__(self, document: Document, findings: list[Finding] | None = None) -> None:
        """Looks at every object; what it finds is also added to `findings`."""
        self._document = document
        self._ids: dict[tuple[Kind, str], set[str]] = {rule.key: set() for rule in all_rules()}
        collected: dict[tuple[Kind, str], list[Finding]] = {rule.key: [] for rule in all_rules()}
        for rule, object_id, said in _said(document, all_rules()):
            self._ids[rule.key].add(object_id)
            if findings is not None:
                collected[rule.key].append(said)
        if findings is not None:
            findings += (item for rule in all_rules() for item in collected[rule.key])

    def update(self, changes: Sequence[Change], known: Flags | None = None) -> None:
        """After the changes were applied to the document. `known` is what `validate_and_flag` found in this
        very state of it: then nothing is looked at once more."""
        view = View(self._document)
        gone = defaultdict[Kind, list[str]](list)
        for change in changes:
            if change.new is None:
                gone[change.kind].append(change.id)
        for rule in all_rules() if gone else ():
            self._ids[rule.key].difference_update(gone.get(rule.kind, ()))
        if known is not None:
            self._ids |= {key: set(ids) for key, ids in known.items()}
            return
        for rule, ids in affected(self._document, changes):
            self._look(view, rule, ids)

    def move_to(self, document: Document) -> None:
        """Go on with another document that holds the same objects."""
        self._document = document

    def ids(self, kind: Kind) -> set[str]:
        """The objects of a kind that at least one rule has something to say about."""
        return set().union(*(self._ids[rule.key] for rule in all_rules() if rule.kind == kind))

    def among(self, kind: Kind, ids: Iterable[str]) -> list[str]:
        """Those of the ids that `ids` holds."""
        flagged = [found for rule in all_rules() if rule.kind == kind and (found := self._ids[rule.key])]
        return [object_id for object_id in ids if any(object_id in found for found in flagged)]

    def _look(self, view: View, rule: Rule, ids: Iterable[str]) -> None:
        flagged = self._ids[rule.key]
        objects = view.document.of_kind(rule.kind)
        for object_id in ids:
            item = objects.get(object_id)
            if item is not None and any(True for _ in rule.check(view, item)):
                flagged.add(object_id)
            else:
                flagged.discard(object_id)
