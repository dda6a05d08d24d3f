# SPDX-License-Identifier: Apache-2.0
"""What the console changes: by the services of the API and the agent, never by a way of its own."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

from weir.accounts import audit
from weir.accounts.auth import AuthService
from weir.accounts.principal import Principal
from weir.accounts.second_factor import SecondFactorService
from weir.accounts.throttle import CONSOLE
from weir.accounts.users import UserService
from weir.console.accounts import opened_accounts
from weir.model.problem import Forbidden, NotFound, Unavailable
from weir.service.appliance import ApplianceService
from weir.service.updates import UpdateService
from weir.store.accounts import AccountStore
from weir.wire.client import AgentClient

AT_CONSOLE = Principal(0, "console", "admin", "local", "console", CONSOLE, 0)
ADMIN = "admin"


class Actions:
    """Each opens the accounts again and says in the audit trail that it was the console."""

    def __init__(self, database: Path, agent: AgentClient) -> None:
        self._database = database
        self._agent = agent

    def choose_slot(self, name: str) -> None:
        with opened_accounts(self._database) as accounts:
            self._updates(accounts).choose(AT_CONSOLE, name)

    def restart(self) -> None:
        with opened_accounts(self._database) as accounts:
            self._updates(accounts).restart(AT_CONSOLE)

    def power_off(self) -> None:
        with opened_accounts(self._database) as accounts:
            self._appliance(accounts).power_off(AT_CONSOLE)

    def factory_reset(self, mode: Literal["keep", "wipe"]) -> None:
        """Also without accounts: a damaged data partition or file has none, and this is its cure."""
        if self._accounts_are_damaged():
            self._agent.call("factory_reset", {"mode": mode}, timeout_s=150.0)
        else:
            with opened_accounts(self._database) as accounts:
                self._appliance(accounts).factory_reset(AT_CONSOLE, mode)

    def reset_password(self) -> str:
        """A one-time password of `admin`, who is an enabled administrator without a second factor then."""
        with opened_accounts(self._database) as accounts:
            users = UserService(accounts, lambda _name: None)
            one_time = users.reset_password(AT_CONSOLE, ADMIN)
            users.update(AT_CONSOLE, ADMIN, scope="admin", disabled=False)
            with suppress(NotFound):
                SecondFactorService(accounts).remove_of(AT_CONSOLE, ADMIN)
        return one_time

    def admit(self, username: str, password: str, new_password: str | None = None) -> bool:
        """Let an administrator to the shell; False when a password of their own is needed first.

        Raises `Unauthenticated`, `Throttled`, `Forbidden`, `Invalid` (`weak-password`).
        """
        with opened_accounts(self._database) as accounts:
            auth = AuthService(accounts)
            signed = auth.sign_in(username, password, CONSOLE, "weir-console")
            who = signed.principal
            try:
                if who.scope != "admin":
                    raise Forbidden("a shell is for administrators", code="forbidden")
                if signed.must_change_password and new_password is None:
                    return False
                if new_password is not None:
                    auth.change_password(who, password, new_password)
                with accounts.write() as writer:
                    audit.write(writer, audit.entry_of(who, "console.shell", who.username))
                return True
            finally:
                auth.sign_out(who)

    def _accounts_are_damaged(self) -> bool:
        try:
            with opened_accounts(self._database):
                return False
        except Unavailable:
            return True

    def _updates(self, accounts: AccountStore) -> UpdateService:
        return UpdateService(self._agent, audit.AuditService(accounts), self._database.parent / "uploads")

    def _appliance(self, accounts: AccountStore) -> ApplianceService:
        return ApplianceService(self._agent, audit.AuditService(accounts))
