# SPDX-License-Identifier: Apache-2.0
"""Who may do what, in one table. What is not in it is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, Literal, ParamSpec, TypeVar

from weir.accounts.principal import Principal
from weir.model.problem import Forbidden
from weir.model.scope import RANK, Scope

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

Action = Literal[
    "self",
    "tokens.own",
    "config.read",
    "plans.write",
    "tools.run",
    "log.read",
    "config.write",
    "system.manage",
    "users.manage",
    "audit.read",
    "audit.write",
]

NEEDED: dict[str, Scope] = {
    "self": "read",
    "tokens.own": "read",
    "config.read": "read",
    "plans.write": "support",
    "tools.run": "support",
    "log.read": "support",
    "config.write": "write",
    "system.manage": "admin",
    "users.manage": "admin",
    "audit.read": "admin",
    "audit.write": "read",
}
WITH_OLD_PASSWORD = frozenset({"self"})
"""What somebody may do who must change the password first."""


def authorize(by: Principal, action: str) -> None:
    """Raises `Forbidden` unless the table allows it; an unknown action or scope is refused."""
    needed = NEEDED.get(action)
    if needed is None:
        raise Forbidden(f"nobody may do {action!r}", code="unknown-action")
    if by.must_change_password and action not in WITH_OLD_PASSWORD:
        raise Forbidden("change your password first", code="password-change-required")
    if not 0 < RANK[needed] <= RANK.get(by.scope, 0):
        raise Forbidden(f"this needs the scope {needed!r}; yours is {by.scope!r}", code="forbidden")


def requires(
    action: Action,
) -> Callable[[Callable[Concatenate[S, Principal, P], R]], Callable[Concatenate[S, Principal, P], R]]:
    """The method's first argument is a principal who must be allowed `action`."""

    def decorate(
        method: Callable[Concatenate[S, Principal, P], R],
    ) -> Callable[Concatenate[S, Principal, P], R]:
        @functools.wraps(method)
        def checked(self: S, by: Principal, /, *args: P.args, **kwargs: P.kwargs) -> R:
            authorize(by, action)
            return method(self, by, *args, **kwargs)

        checked.required_action = action  # type: ignore[attr-defined]
        return checked

    return decorate
