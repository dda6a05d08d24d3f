# SPDX-License-Identifier: Apache-2.0
"""What not everybody may change who may change something: customers' plans, and who acts as whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from weir.accounts.permissions import NEEDED
from weir.accounts.principal import Principal
from weir.model.document import Change
from weir.model.objects import Kind, Queue
from weir.model.packed_changes import without_new_queues
from weir.model.problem import Forbidden
from weir.model.scope import RANK

PLAN_KIND: Kind = "queue"
PLAN = frozenset(
    {
        *("max_limit_bps", "limit_at_bps", "burst_limit_bps", "burst_threshold_bps", "burst_time_ms"),
        *("total", "comment", "disabled"),
    }
)
"""Fields of a queue: how fast its customer is, whether at all, and what is noted about him."""

ADMIN_KINDS: frozenset[Kind] = frozenset({"ssh-key", "ssh-server", "management", "job"})
"""Who may act as whom, and from where, and what restarts the machine: more than `config.write` is."""


def only_plans(by: Principal) -> bool:
    """Whether there is anything in the configuration that somebody who changes plans may not change."""
    return RANK.get(by.scope, 0) < RANK[NEEDED["config.write"]]


def require_own(by: Principal, author: str) -> None:
    """Raises `Forbidden` (`plans-only`) for a pending change of somebody else, unless all may be changed."""
    if only_plans(by) and author != by.username:
        text = f"the pending change is {author!r}'s; the scope {by.scope!r} confirms or reverts its own only"
        raise Forbidden(text, code="plans-only")


def require_plans(by: Principal, changes: Sequence[Change]) -> None:
    """Raises `Forbidden` (`plans-only`), which names the first change that is not of a customer's plan; never
    for who may change all of the configuration."""
    for change in changes if only_plans(by) else ():
        why = _why_not(change)
        if why is not None:
            text = f"{why}; the scope {by.scope!r} may change limits and state of customers' queues"
            raise Forbidden(text, code="plans-only", path=f"{change.kind}/{change.id}")


def require_admin(by: Principal, changes: Sequence[Change]) -> None:
    """Raises `Forbidden` (`admin-only`), which names the first change of `ADMIN_KINDS`, unless an
    administrator makes it: who could add a key to somebody's account could do all that he may."""
    if RANK.get(by.scope, 0) >= RANK["admin"]:
        return
    for change in without_new_queues(changes):
        if change.kind in ADMIN_KINDS:
            text = (
                f"{change.kind} {change.id!r} is changed by administrators only; your scope is {by.scope!r}"
            )
            raise Forbidden(text, code="admin-only", path=f"{change.kind}/{change.id}")


def _why_not(change: Change) -> str | None:
    name = f"{change.kind.replace('-', ' ')} {change.id!r}"
    if change.kind != PLAN_KIND:
        return f"{name} is no queue"
    if change.new is None:
        return f"{name} would be deleted"
    if change.old is None:
        return f"{name} would be new"
    others = [
        each.name
        for each in fields(Queue)
        if each.name not in PLAN and getattr(change.old, each.name) != getattr(change.new, each.name)
    ]
    return f"{', '.join(others)} of {name} would change" if others else None
