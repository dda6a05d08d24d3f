# SPDX-License-Identifier: Apache-2.0
"""The audit trail: who did what to what, from where and when. No secret ever goes in."""

from __future__ import annotations

import builtins
import logging
import threading
import time

from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.model.problem import Problem
from weir.store.account_rows import AuditEntry
from weir.store.account_writer import AccountWriter
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms

log = logging.getLogger("weir.audit")

MAX_TEXT_CHARS = 500
REFUSAL_S = 60.0
MOST_REFUSALS = 100
"""Different ones, in that time."""


class AuditService:
    def __init__(self, store: AccountStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._refused: dict[tuple[str, str, str], float] = {}
        """When this was noted (monotonic), by person, address and what it was."""

    @requires("audit.read")
    def list(
        self, _by: Principal, before: int | None = None, limit: int = 100, text: str = ""
    ) -> builtins.list[AuditEntry]:
        """Newest first, older than `before`; `text` is a piece of actor, action, subject or source."""
        return self._store.audit(before, limit, text)

    @requires("audit.write")
    def record(self, by: Principal, action: str, subject: str, outcome: str = "ok", detail: str = "") -> None:
        """Append an entry; what was done stays done when the disk refuses it, so that is only logged."""
        self.note(entry_of(by, action, subject, outcome, detail))

    @requires("audit.write")
    def refuse(self, by: Principal, subject: str, code: str, detail: str) -> None:
        """Note what somebody who is signed in may not do, the same once in `REFUSAL_S`: who tries it in a
        loop fills no disk."""
        now, known = time.monotonic(), (by.username, by.source, subject)
        with self._lock:
            if now - self._refused.get(known, -REFUSAL_S) < REFUSAL_S:
                return
            self._refused = {key: at for key, at in self._refused.items() if now - at < REFUSAL_S}
            if len(self._refused) >= MOST_REFUSALS:
                return
            self._refused[known] = now
        self.note(entry_of(by, "access.refuse", subject, code, detail))

    def note(self, entry: AuditEntry) -> None:
        """Append an entry in a transaction of its own; the revision it tells of is durable already."""
        log.info("%s", _line(entry))
        try:
            with self._store.write(durable=False, passing=True) as writer:
                writer.record(entry)
        except Problem as problem:
            log.error("audit entry not stored (%s): %s", problem, _line(entry))


def entry_of(by: Principal, action: str, subject: str, outcome: str = "ok", detail: str = "") -> AuditEntry:
    return entry(by.username, by.via, by.source, action, subject, outcome, detail)


def entry(
    actor: str, via: str, source: str, action: str, subject: str, outcome: str = "ok", detail: str = ""
) -> AuditEntry:
    """An entry of now; the store gives it its number."""
    texts = (_clean(text) for text in (actor, via, source, action, subject, outcome, detail))
    return AuditEntry(0, wall_ms(), *texts)


def write(writer: AccountWriter, made: AuditEntry) -> None:
    """Append within the transaction of what is being done."""
    log.info("%s", _line(made))
    writer.record(made)


def _clean(text: str) -> str:
    """One printable line of bounded length: anybody who tries to sign in can choose the name."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return shown[:MAX_TEXT_CHARS]


def _line(made: AuditEntry) -> str:
    return (
        f"{made.action} {made.subject or '-'} by {made.actor} ({made.via}) from {made.source or '-'}: "
        f"{made.outcome}{' ' + made.detail if made.detail else ''}"
    )
