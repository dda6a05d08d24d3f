# SPDX-License-Identifier: Apache-2.0
"""Which store may be obeyed: one that knows the revision which this router ran last, and its past."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from weir.agent.last_good import LastGood, Mark
from weir.agent.store_client import Transaction
from weir.memory import give_back_soon
from weir.model.document import Change, Document
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Conflict, Problem
from weir.store import Damage, Pending

log = logging.getLogger(__name__)

HELD = "store-held"
MANY_CHANGES = 5000
"""What the copy takes of so many is given back."""


class Store(Protocol):
    """What is asked of the configuration; `StoreClient` and `ConfigStore` both have it."""

    def look(self) -> tuple[int, bytes]: ...
    def digest(self, revision: int) -> bytes | None: ...
    def head(self) -> int: ...
    def load(self, damage: list[Damage]) -> tuple[int, Document]: ...
    def changes_between(self, a: int, b: int) -> list[Change]: ...
    def each_change(self, a: int, b: int) -> Iterator[Change]: ...
    def changes_since(self, revision: int) -> tuple[int, list[Change]]: ...
    def pending(self) -> Pending | None: ...
    def verify(self) -> list[Damage]: ...
    def write(self) -> AbstractContextManager[Transaction]: ...


class Following:
    """The store, why it is not followed, and what is damaged in it. Used under the configuration's lock; the
    attributes may be read without."""

    def __init__(self, store: Store, last_good: LastGood | None) -> None:
        self.store = store
        self.last_good = last_good
        self.reason = "the store was not opened yet"
        """Why the store is not followed; "" while it is."""
        self.found: Mark | None = None
        """The head of a store that is not followed because it does not know what ran."""
        self.damage: list[Damage] = []

    @property
    def is_held(self) -> bool:
        return bool(self.reason)

    @property
    def remembered(self) -> Mark | None:
        """What ran last, as the copy says."""
        return None if self.last_good is None else self.last_good.mark

    def judge(self, ran: Mark | None) -> Mark:
        """The store's head. Raises `Unavailable` when the store cannot be read, and `Conflict`
        (`store-held`) when it does not know what ran; from then on it is held."""
        try:
            self.found = None
            head = Mark(*self.store.look())
            _require_known(self.store, head, ran)
        except Problem as problem:
            if problem.code == HELD:
                self.found = head
            if problem.message != self.reason:
                log.warning("the configuration is not followed: %s", problem.message)
            self.reason = problem.message
            raise
        self.reason = ""
        return head

    def load(self) -> tuple[int, Document]:
        """The head's document; what is damaged in it is taken from the copy of what ran last."""
        damage: list[Damage] = []
        revision, document = self.store.load(damage)
        self.damage = damage
        if damage:
            log.error("the configuration is damaged: %s", "; ".join(item.message for item in damage[:10]))
            document = self._mended(revision, document)
        return revision, document

    def check(self) -> None:
        """Look through the whole store; what is found stays named until the next look."""
        try:
            self.damage = self.store.verify()
        except Problem as problem:
            self.damage = [Damage("", "", problem.message)]
        for item in self.damage[:10]:
            log.error("the configuration is damaged: %s", item.message)

    def lags(self, ran: Mark) -> bool:
        """Whether the copy is not of what runs."""
        return self.last_good is not None and self.last_good.mark != ran

    def keep(self, ran: Mark, document: Callable[[], Document | None]) -> None:
        """Bring the copy to what runs; `document` gives it whole, or None when it has moved on."""
        copy = self.last_good
        if copy is None or copy.mark == ran:
            return
        changes = self._changes_since(copy.mark, ran)
        if changes is None or not copy.follow(ran, changes):
            if (whole := document()) is None:
                return
            copy.replace(ran, whole)
        if changes is None or len(changes) > MANY_CHANGES:
            give_back_soon()

    def to_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "ok": not self.is_held,
            "reason": self.reason,
            "stored": None if found is None else {"revision": found.revision, "digest": found.digest.hex()},
            "damaged": [{"kind": item.kind, "id": item.id, "message": item.message} for item in self.damage],
            "copy_reason": "" if self.last_good is None else self.last_good.reason,
        }

    def _mended(self, revision: int, document: Document) -> Document:
        copy = self.last_good
        if copy is None or copy.mark is None:
            return document
        if copy.mark == Mark(revision, self.store.digest(revision) or b""):
            return copy.load() or document
        for item in self.damage:
            good = copy.get(item.kind, item.id)
            if good is not None:
                document.put(good)
        return document

    def _changes_since(self, since: Mark | None, ran: Mark) -> Sequence[Change] | None:
        """None when the copy is of another past, or what was between can no longer be read."""
        try:
            if since is None or since.revision > ran.revision:
                return None
            if self.store.digest(since.revision) != since.digest:
                return None
            return PackedChanges(self.store.each_change(since.revision, ran.revision))
        except Problem:
            return None


def _require_known(store: Store, head: Mark, ran: Mark | None) -> None:
    if ran is None or ran.revision == 0:
        return
    if head.revision < ran.revision:
        raise Conflict(
            f"the router ran revision {ran.revision}, and the database has only {head.revision}: "
            "it is an older one, or has lost its last changes",
            code=HELD,
        )
    if not ran.digest:
        return
    same = head if head.revision == ran.revision else Mark(ran.revision, store.digest(ran.revision) or b"")
    if same != ran:
        raise Conflict(
            f"revision {ran.revision} of the database is not the one that the router ran: it is another one",
            code=HELD,
        )
