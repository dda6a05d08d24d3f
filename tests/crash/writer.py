# SPDX-License-Identifier: Apache-2.0
"""A process that commits without end, to be killed at any instant. Run as `writer.py DATABASE SOCKET|-`.

Revision n sets the comment of every one of COUNT queues to "n": a mixture of two revisions is then
visible in the content. Before each commit it prints `try n`, after it `done n`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from weir.accounts.principal import Principal
from weir.model.document import Change
from weir.model.objects import Queue
from weir.service import Edit, Service
from weir.store import ConfigStore

COUNT = 20


def queue(number: int, revision: int) -> Queue:
    return Queue(
        id=f"q{number}",
        name=f"q{number}",
        target=(f"10.{revision % 250}.0.{number}/32",),
        comment=str(revision),
    )


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def commit(store: ConfigStore, tell: Callable[[str], None]) -> None:
    """One more revision; `tell` hears of it before and after."""
    head, document = store.load()
    olds = [document.get("queue", f"q{number}") for number in range(COUNT)]
    news = [queue(number, head + 1) for number in range(COUNT)]
    changes = [Change("queue", new.id, old, new) for old, new in zip(olds, news, strict=True)]
    tell(f"try {head + 1}")
    with store.write() as transaction:
        transaction.append(kind="commit", author="writer", message=str(head + 1), changes=changes)
    tell(f"done {head + 1}")


def write_to_store(database: Path) -> None:
    store = ConfigStore.open(database, create=True)
    while True:
        commit(store, say)


def write_to_service(database: Path, socket: Path) -> None:
    service = Service.open(database, socket)
    by = Principal(1, "writer", "admin", "local", "-", "", 0)
    while True:
        number = service.config.revision(by) + 1
        say(f"try {number}")
        done = service.config.commit(by, [Edit("queue", f"q{n}", queue(n, number)) for n in range(COUNT)])
        say(f"done {done.revision}")


if __name__ == "__main__":
    if sys.argv[2] == "-":
        write_to_store(Path(sys.argv[1]))
    else:
        write_to_service(Path(sys.argv[1]), Path(sys.argv[2]))
