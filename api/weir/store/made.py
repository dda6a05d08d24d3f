# SPDX-License-Identifier: Apache-2.0
"""A database made of objects that are known from somewhere else than a database: what the router runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weir.model.document import Change
from weir.model.objects import ConfigObject
from weir.store import retention
from weir.store.configuration import ConfigStore

AUTHOR = "weir"


def make(path: Path, revision: int, objects: Iterable[ConfigObject], message: str) -> None:
    """A new database at `path` whose newest revision has this number and holds these objects; none is before
    it but the empty one. Raises `Unavailable`."""
    store = ConfigStore.open(path, create=True)
    try:
        changes = [Change(item.kind, item.id, None, item) for item in objects]
        if revision > 0:
            with store.write() as transaction:
                transaction.head = revision - 1
                transaction.append(kind="commit", author=AUTHOR, message=message, changes=changes)
                retention.begin(transaction.connection, revision)
    finally:
        store.close()
