# SPDX-License-Identifier: Apache-2.0
"""What a person decides when the database is damaged, or is not what the router ran last (docs/adr/0105)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.document import Change
from weir.model.objects import ConfigObject
from weir.model.problem import Unavailable
from weir.service.commit import Committer
from weir.service.daily import DailyCheck
from weir.service.known import TIMEOUT_S, running_objects
from weir.service.request import Request
from weir.service.running_document import Running
from weir.service.types import Committed, Diff, ObjectDiff
from weir.store import ConfigStore, Damage
from weir.store.accounts import AccountStore
from weir.store.rows import ChangeCounts
from weir.wire.client import AgentClient


class StoredService:
    def __init__(
        self,
        stores: tuple[ConfigStore, AccountStore],
        daily: DailyCheck,
        running: Running,
        committer: Committer,
        agent: AgentClient,
        audit: AuditService,
    ) -> None:
        self._stores = stores
        self._daily = daily
        self._running = running
        self._committer = committer
        self._agent = agent
        self._audit = audit

    @requires("config.read")
    def refused(self, _by: Principal) -> list[str]:
        """Why changes are refused, each reason once; nothing while they are not."""
        reasons = [store.refused for store in self._stores if store.refused is not None]
        return list({reason.code: reason.message for reason in reversed(reasons)}.values())[::-1]

    @requires("config.read")
    def damaged(self, _by: Principal) -> list[Damage]:
        """What could not be read, and what else the last look through all revisions found; each once."""
        return list(dict.fromkeys([*self._running.damage, *(self._daily.damage or ())]))

    @requires("config.read")
    def lacks(self, _by: Principal) -> bool:
        """Whether objects of the newest revision could not be read: `restore` is for them only."""
        return bool(self._running.damage)

    @requires("config.read")
    def state(self, by: Principal) -> dict[str, Any]:
        """Whether the router follows the database, why not, and what is damaged in it. What only the agent
        knows is None while it does not answer."""
        try:
            status = self._agent.call("status")
        except Unavailable as problem:
            unknown: dict[str, Any] = {"ok": None, "reason": problem.message, "stored": None, "damaged": []}
            status = {"revision": None, "store": unknown}
        store = status["store"]
        own = [asdict(item) for item in self.damaged(by)]
        damaged = [*store["damaged"], *(item for item in own if item not in store["damaged"])]
        return {
            "refused": self.refused(by),
            "followed": store["ok"],
            "reason": store["reason"],
            "running_revision": status["revision"],
            "stored": store["stored"],
            "damaged": damaged,
        }

    @requires("system.manage")
    def accept(self, by: Principal, revision: int, digest: str) -> dict[str, Any]:
        """The router runs what the database has: this revision, named by its digest, as `state` gave it.

        Raises `Conflict` (`outdated`), `Unavailable`.
        """
        answer = self._agent.call("adopt", {"revision": revision, "digest": digest}, timeout_s=TIMEOUT_S)
        self._audit.note(entry_of(by, "config.accept", f"revision {revision}"))
        return answer

    @requires("config.read")
    def lost(self, _by: Principal, start: int = 0, limit: int = 1000) -> Diff:
        """What `restore` would write now, from index `start` on. Raises `Unavailable`."""
        changes = self._lost(running_objects(self._agent)[1])
        following = start + limit if start + limit < len(changes) else None
        page = [ObjectDiff(change) for change in changes[start : start + limit]]
        return Diff(ChangeCounts(len(changes), 0, 0), page, following)

    @requires("system.manage")
    def restore(self, by: Principal) -> Committed:
        """Write what the router runs in the place of what is damaged, as a revision. Raises as a commit."""
        _, objects = running_objects(self._agent)
        done = self._committer.run(
            by,
            Request(lambda _: self._lost(objects), message="restore what is damaged"),
        )
        self._running.damage, self._daily.damage = [], None
        self._daily.soon()
        return done

    def _lost(self, objects: Sequence[ConfigObject]) -> list[Change]:
        with self._running.document() as document:
            return [
                Change(item.kind, item.id, None, item)
                for item in objects
                if document.get(item.kind, item.id) is None
            ]
