# SPDX-License-Identifier: Apache-2.0
"""What service tests talk to, and the shorthands they share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.service.fake_agent import FakeAgent
from weir.accounts.principal import Principal
from weir.model.objects import ConfigObject, Queue
from weir.service import ANYTHING, Committed, Edit, Listing, Scope, Service


def person(name: str = "anna", scope: Scope = "admin", **fields: Any) -> Principal:
    given = {"via": "session", "credential_id": "c1", "source": "192.0.2.9", "authenticated_at_ms": 0}
    return Principal(user_id=1, username=name, scope=scope, **{**given, **fields})


ANNA = person()


def queue(object_id: str, **fields: Any) -> Queue:
    number = int(object_id[1:])
    given = {"name": f"name of {object_id}", "target": (f"10.0.{number // 250}.{number % 250}/32",)}
    return Queue(id=object_id, **{**given, **fields})


@dataclass
class Router:
    service: Service
    agent: FakeAgent
    database: Path

    def put(self, *items: ConfigObject, expects: str = ANYTHING, **options: Any) -> Committed:
        edits = [Edit(item.kind, item.id, item, expects) for item in items]
        return self.service.config.commit(ANNA, edits, **options)

    def delete(self, *ids: str, expects: str = ANYTHING) -> Committed:
        return self.service.config.commit(ANNA, [Edit("queue", name, None, expects) for name in ids])

    @property
    def head(self) -> int:
        return self.service.config.revision(ANNA)

    @property
    def running(self) -> dict[tuple[str, str], ConfigObject]:
        with self.service.config.document(ANNA) as document:
            return {(item.kind, item.id): item for item in document}

    def agree(self) -> None:
        """Kernel, store and the document in memory hold the same, or do so before long."""
        wait_until(lambda: self.agent.revision == self.head, "the agent did not come to the store's head")
        stored = self.service.config.page(ANNA, Listing("queue", limit=1000)).items
        assert {("queue", item.id): item.object for item in stored} == self.running == self.agent.kernel


HANGS_S = 60
"""What takes so long has ceased, on a busy machine as well."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.005)


def together(*actions: Callable[[], object]) -> list[BaseException | object]:
    """Run at once; the results or exceptions in order."""
    results: list[BaseException | object] = [None] * len(actions)
    barrier = threading.Barrier(len(actions))

    def run(index: int, action: Callable[[], object]) -> None:
        barrier.wait()
        try:
            results[index] = action()
        except Exception as error:  # noqa: BLE001 - the test looks at whatever it was
            results[index] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
