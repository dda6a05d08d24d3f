# SPDX-License-Identifier: Apache-2.0
"""What the agent's rollback timer did, in the audit trail."""

from __future__ import annotations

from dataclasses import replace

from weir.accounts.audit import AuditService, entry
from weir.store.configuration import ConfigStore
from weir.store.transaction import ROLLBACK_TIMER

MOST_FOLLOWED = 100
"""Of what others wrote between two looks; the agent writes one revision at a time."""


def note_timer(store: ConfigStore, audit: AuditService, after: int, until: int) -> None:
    """Note what the agent's rollback timer wrote in (after, until]: the agent has no accounts to write to."""
    for revision in store.revisions(until + 1, min(until - after, MOST_FOLLOWED)):
        if revision.kind != "rollback" or revision.author != ROLLBACK_TIMER or revision.number <= after:
            continue
        subject = f"revision {revision.number}"
        made = entry(ROLLBACK_TIMER, "agent", "", "config.rollback", subject, detail=revision.message)
        audit.note(replace(made, at_ms=revision.created_at_ms))
