# SPDX-License-Identifier: Apache-2.0
"""One table says who may do what, every public method asks it, and what is not in it is refused."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

from tests.service.router import Router, person
from weir.accounts.permissions import NEEDED, Action, authorize, requires
from weir.accounts.principal import Principal
from weir.model.problem import Forbidden
from weir.model.scope import SCOPES

OPEN_TO_ALL = {
    "auth": {
        "bootstrap",
        "unclaimed",
        "claim",
        "issue_local_token",
        "sign_in",
        "ask_key",
        "authenticate_session",
        "authenticate_token",
        "csrf_token",
        "check_csrf",
        "is_good",
        "still_good",
    },
    "config": {"changes"},
    "candidates": {"forget"},
    "audit": {"note"},
    "raises": {"start", "stop"},
}
"""Methods that prove who somebody is, or that no request reaches."""


def test_every_public_method_asks_the_table(router: Router) -> None:
    parts = (
        "config",
        "candidates",
        "revisions",
        "raises",
        "auth",
        "second_factor",
        "keys",
        "users",
        "tokens",
    )
    for part in (*parts, "audit"):
        service = getattr(router.service, part)
        for name, method in inspect.getmembers(type(service), inspect.isfunction):
            if name.startswith("_") or name in OPEN_TO_ALL.get(part, ()):
                continue
            assert getattr(method, "required_action", None) in NEEDED, f"{part}.{name} asks nobody"


def test_the_table_is_complete() -> None:
    assert set(NEEDED) == set(get_args(Action))


@pytest.mark.parametrize("scope", SCOPES)
def test_scopes_include_the_lower_ones(scope: str) -> None:
    for action, needed in NEEDED.items():
        who = person(scope=scope)  # type: ignore[arg-type]
        if SCOPES.index(scope) >= SCOPES.index(needed):
            authorize(who, action)
        else:
            with pytest.raises(Forbidden):
                authorize(who, action)


@pytest.mark.parametrize("scope", ["", "root", "ADMIN", None, "admin "])
def test_an_unknown_scope_may_nothing(scope: str | None) -> None:
    for action in NEEDED:
        with pytest.raises(Forbidden):
            authorize(person(scope=scope), action)  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ["", "config", "config.*", "everything"])
def test_an_unknown_action_is_refused_even_to_an_administrator(action: str) -> None:
    with pytest.raises(Forbidden):
        authorize(person(), action)


def test_a_user_who_must_change_the_password_may_only_look_after_the_account() -> None:
    who = person(must_change_password=True)
    authorize(who, "self")
    for action in set(NEEDED) - {"self"}:
        with pytest.raises(Forbidden) as caught:
            authorize(who, action)
        assert caught.value.code == "password-change-required"


def test_a_refused_method_is_not_entered() -> None:
    class Part:
        entered = False

        @requires("config.write")
        def write(self, _by: Principal) -> None:
            self.entered = True

    part = Part()
    with pytest.raises(Forbidden):
        part.write(person(scope="read"))
    assert not part.entered
    part.write(person(scope="write"))
    assert part.entered
