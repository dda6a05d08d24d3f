# SPDX-License-Identifier: Apache-2.0
"""The running document in memory: follows the store, and lets changes be tried on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from weir.memory import give_back_memory, give_back_soon
from weir.model.document import Change, Document
from weir.model.objects import Kind
from weir.model.packed_changes import kinds_of
from weir.model.problem import Finding, Invalid, Unavailable
from weir.model.rules import (
    FlaggedObjects,
    Flags,
    findings_by_id,
    findings_of,
    rewrites_queues,
    validate,
    validate_and_flag,
    validate_many,
)
from weir.store import ConfigStore, Damage

MANY = 2000
"""More changes than this are looked at on a copy of the document."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Changes and what validation says about them; of many also the document that they lead to."""

    changes: Sequence[Change]
    findings: list[Finding]
    revision: int
    """Of the document on which they were tried."""
    successor: Document | None = None
    replaces: bool = True
    """Whether the successor takes the place of the document. Where no queue changes, the document takes the
    changes itself: all that it knows of queues stays as it is."""
    flagged: FlaggedObjects | None = None
    """Of the successor, where it takes the place of the document."""
    flags: Flags | None = None
    """Where the document takes the changes: what the rules that they concern say about all objects."""

    def make_ready(self) -> None:
        """What would hold up who asks the document first is done now."""
        if self.successor is not None and self.replaces:
            self.successor.targets()
            self.successor.pack()


class Running:
    """One document, many threads: a thread that looks at it or tries something on it holds its lock.

    The store is the truth and other processes write to it too (the agent's rollback timer), so every
    look first catches up with the store's head; that costs one small query when nothing happened.
    """

    def __init__(self, store: ConfigStore, followed: Callable[[int, int], None] | None = None) -> None:
        """`followed` hears of the revisions after the first and up to the second that others wrote."""
        self._store = store
        self._followed = followed
        self._lock = threading.RLock()
        self._flagging = threading.Lock()
        self.damage: list[Damage] = []
        """What could not be read when all was, and is not in the document."""
        self._revision, self._document, self._epoch = 0, Document(), -1
        self._flagged: FlaggedObjects | None = None
        self._expected: tuple[int, int, int, Trial] | None = None
        """Of the commit that is being made: the epoch, the base, the revision and what was tried."""
        self.prepare()

    def prepare(self) -> None:
        """Read the document now, if there is one to read, so that nobody who asks waits for it."""
        with suppress(Unavailable), self.document() as document:
            document.targets()

    @contextmanager
    def document(self) -> Iterator[Document]:
        """The document at the store's head. Callers change nothing and leave with nothing mutable."""
        with self._lock:
            self._follow()
            yield self._document

    @contextmanager
    def at_head(self) -> Iterator[tuple[int, Document]]:
        """As `document`, with its revision."""
        with self._lock:
            self._follow()
            yield self._revision, self._document

    @contextmanager
    def document_for(self, count: int) -> Iterator[Document]:
        """As `document`, to look for so many objects in it. For many it is a copy: that takes seconds, and
        nobody else waits for it."""
        with self.document() as document:
            if count <= MANY:
                yield document
                return
            twin = document.copy()
        yield twin

    def try_changes(self, make: Callable[[Document], Sequence[Change]]) -> Trial:
        """What validation says about the document after the changes that `make` returns for it; the
        document stays as it is.

        Many changes are tried on a copy: that takes seconds, and nobody else waits for it.
        """
        with self.at_head() as (revision, document):
            changes = make(document)
            if len(changes) <= MANY:
                document.apply(changes)
                try:
                    return Trial(changes, validate(document, changes), revision)
                finally:
                    document.revert(changes)
            twin = document.copy()
        if rewrites_queues(twin, changes):
            successor = twin.after(changes, with_targets=True)
            findings, flagged = validate_many(successor, changes)
            return Trial(changes, findings, revision, successor, flagged=flagged)
        twin.apply(changes)
        findings, flags = validate_and_flag(twin, changes)
        return Trial(changes, findings, revision, twin, "queue" in kinds_of(changes), flags=flags)

    @contextmanager
    def expecting(self) -> Iterator[Callable[[int, int, Trial], None]]:
        """For a commit, around it: what is returned takes the base, the revision and what was tried.

        It is called before the revision is in the store. The first who then finds it there takes the trial's
        changes, and does not read thousands from the store; that is this context at the latest. A commit that
        fails leaves nothing behind.
        """
        try:
            yield self._expect
            with self._lock:
                if self._expected is not None:
                    self._take_expected(self._expected[2])
        finally:
            self._expected = None

    def _expect(self, base: int, revision: int, trial: Trial) -> None:
        """After many changes the trial's document takes the place of this one: it has all indexes already. It
        is packed now, so that nothing is left to do that would hold up who comes next."""
        if revision == base:
            return
        trial.make_ready()
        self._expected = (self._store.epoch, base, revision, trial)

    def _take_expected(self, head: int) -> bool:
        """Whether the store's head is what was expected, and the document therefore up to date."""
        expected = self._expected
        if expected is None or expected[:3] != (self._epoch, self._revision, head):
            return False
        trial, self._expected = expected[3], None
        if trial.successor is None or not trial.replaces:
            self._apply(head, trial.changes, trial.flags if trial.revision == self._revision else None)
        else:
            self._document, self._flagged, self._revision = trial.successor, trial.flagged, head
            give_back_soon()
        return True

    def findings(self, kind: Kind, object_id: str) -> tuple[Finding, ...]:
        with self.document() as document:
            return tuple(findings_of(document, kind, object_id))

    def findings_by_id(self, kind: Kind, ids: Sequence[str]) -> dict[str, list[Finding]]:
        """The findings of each; where it is known which objects have any, no rule looks at the others."""
        with self.document() as document:
            flagged = ids if self._flagged is None else self._flagged.among(kind, ids)
            return {**{object_id: [] for object_id in ids}, **findings_by_id(document, kind, flagged)}

    def flagged_ids(self, kind: Kind) -> frozenset[str]:
        """Ids of the objects with findings; the first call, and one after many changes, looks at all."""
        while True:
            with self.document():
                if self._flagged is not None:
                    return frozenset(self._flagged.ids(kind))
            with self._flagging:
                self._flag_all()

    def _flag_all(self) -> None:
        """Look at every object of a copy, without holding up anybody, and catch up with what came since."""
        with self.at_head() as (revision, document):
            if self._flagged is not None:
                return
            twin = document.copy()
        flagged = FlaggedObjects(twin)
        with self.at_head() as (head, document):
            flagged.move_to(document)
            flagged.update(self._store.changes_between(revision, head))
            self._flagged = flagged

    def _follow(self) -> None:
        if self._store.epoch != self._epoch:
            self._load()
        elif (head := self._store.head()) != self._revision and not self._take_expected(head):
            before = self._revision
            head, changes = self._store.changes_since(before)
            self._apply(head, changes)
            if self._followed is not None:
                self._followed(before, head)

    def _load(self) -> None:
        """All of it, from a database that was not looked at before. Raises `Unavailable`."""
        epoch, damage = self._store.epoch, list[Damage]()
        self._revision, self._document = self._store.load(damage)
        self._epoch, self.damage, self._flagged = epoch, damage, None
        if len(self._document) > MANY:
            give_back_memory()

    def _apply(self, revision: int, changes: Sequence[Change], flags: Flags | None = None) -> None:
        self._document.apply(changes)
        self._revision = revision
        if len(changes) > MANY and "queue" in kinds_of(changes):
            self._flagged = None
        elif self._flagged is not None:
            self._flagged.update(changes, flags)


def require_valid(findings: Sequence[Finding], changes: Sequence[Change]) -> None:
    """Raises `Invalid` with all findings when one is an error; first come those of what was changed."""
    errors = [item for item in findings if item.severity == "error"]
    if errors:
        changed = {(change.kind, change.id) for change in changes}
        ordered = sorted(findings, key=lambda item: (item.kind, item.id) not in changed)
        first = next(item for item in ordered if item.severity == "error")
        count = len(errors) - 1
        more = f" (and {count} more error{'s' if count > 1 else ''})" if count else ""
        raise Invalid(f"{first.message}{more}", code=first.code, path=first.path, findings=ordered)
