# SPDX-License-Identifier: Apache-2.0
"""Is what a database holds one whole revision?"""

from __future__ import annotations

from pathlib import Path

from tests.crash.writer import COUNT, queue
from weir.model.objects import Queue
from weir.store import ConfigStore, Listing


def whole_revision(database: Path) -> int:
    """The head, after checking that content, history and indexes all belong to exactly that revision."""
    store = ConfigStore.open(database, create=True)
    try:
        store.check()
        head, document = store.load()
        found = {item.id: item for item in document if isinstance(item, Queue)}
        wanted = {f"q{number}": queue(number, head) for number in range(COUNT)} if head else {}
        assert found == wanted, f"revision {head} is a mixture"
        assert [revision.number for revision in store.revisions(limit=3)] == [*range(head, -1, -1)][:3]
        for back in range(max(head - 2, 1), head + 1):
            assert {item.comment for item in store.objects(back) if isinstance(item, Queue)} == {str(back)}
        if head:
            prefix = queue(3, head).target[0]
            assert [item.id for item in store.page(Listing("queue", text=prefix)).items] == ["q3"]
        with store.snapshot() as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            (targets,) = connection.execute("SELECT count(*) FROM target_now").fetchone()
            assert targets == len(wanted)
    finally:
        store.close()
    return head
