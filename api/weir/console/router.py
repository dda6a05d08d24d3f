# SPDX-License-Identifier: Apache-2.0
"""What the console can ask of the router: the services of the API and the agent, never a way of its own.

Whoever sits at the console can take the disk out, so the menu asks for no password; what it does is in the
audit trail like everything else. A shell is another matter: that takes an administrator's password.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from weir.model.problem import Forbidden, Problem, Unavailable
from weir.service import audit
from weir.service.agent_states import meaning
from weir.service.appliance import ApplianceService
from weir.service.auth import AuthService
from weir.service.facade import accounts_path
from weir.service.updates import UpdateService
from weir.service.users import UserService
from weir.service.values import Principal
from weir.store.accounts import AccountStore
from weir.wire.client import AgentClient

AT_CONSOLE = Principal(0, "console", "admin", "local", "console", "console", 0)
ADMIN = "admin"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What the menu's head shows; `wrong` are sentences about what is not well."""

    version: str
    addresses: tuple[str, ...]
    slot: str
    wrong: tuple[str, ...]
    needs_setup: bool


class Router:
    """Accounts are opened for each request: a damaged file must not keep the console from starting."""

    def __init__(self, database: Path, agent: AgentClient) -> None:
        self._database = database
        self._agent = agent

    def view(self) -> View:
        """Never raises: what cannot be found out is a sentence."""
        wrong: list[str] = []
        status = self._try("status", wrong)
        interfaces = self._try("interfaces", wrong).get("value", [])
        updates = self._try("updates", wrong)
        gravity, sentence = meaning(str(status.get("state", "ok")))
        if gravity != "ok":
            wrong.append(sentence)
        store = status.get("store") or {}
        if store.get("ok") is False:
            wrong.append(f"configuration: {store.get('reason')}")
        data = status.get("data") or {}
        if data.get("state", "ok") != "ok":
            wrong.append(str(data.get("message")))
        if not interfaces and not wrong:
            wrong.append("no network port was found: the kernel has no driver for one")
        needs_setup = self._unclaimed(wrong)
        return View(
            version=str(status.get("version", "?")),
            addresses=tuple(
                f"{item['name']} {address}" for item in interfaces for address in item.get("addresses", ())
            ),
            slot=_slot_words(updates) if updates.get("available") else "none",
            wrong=tuple(dict.fromkeys(wrong)),
            needs_setup=needs_setup,
        )

    def slots(self) -> list[Json]:
        found: list[Json] = self._agent.call("updates", timeout_s=60.0)["slots"]
        return found

    def choose_slot(self, name: str) -> None:
        with self._accounts() as accounts:
            self._updates(accounts).choose(AT_CONSOLE, name)

    def restart(self) -> None:
        with self._accounts() as accounts:
            self._updates(accounts).restart(AT_CONSOLE)

    def power_off(self) -> None:
        with self._accounts() as accounts:
            self._appliance(accounts).power_off(AT_CONSOLE)

    def factory_reset(self, mode: Literal["keep", "wipe"]) -> None:
        """Also without accounts: a damaged data partition or file has none, and this is its cure."""
        if self._accounts_are_damaged():
            self._agent.call("factory_reset", {"mode": mode}, timeout_s=150.0)
        else:
            with self._accounts() as accounts:
                self._appliance(accounts).factory_reset(AT_CONSOLE, mode)

    def reset_password(self) -> str:
        """A one-time password of `admin`, who is an enabled administrator afterwards."""
        with self._accounts() as accounts:
            users = UserService(accounts, lambda _name: None)
            one_time = users.reset_password(AT_CONSOLE, ADMIN)
            users.update(AT_CONSOLE, ADMIN, scope="admin", disabled=False)
        return one_time

    def admit(self, username: str, password: str, new_password: str | None = None) -> bool:
        """Let an administrator to the shell; False when a password of their own is needed first.

        Raises `Unauthenticated`, `Throttled`, `Forbidden`, `Invalid` (`weak-password`).
        """
        with self._accounts() as accounts:
            auth = AuthService(accounts)
            signed = auth.sign_in(username, password, "console", "weir-console")
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
            with self._accounts():
                return False
        except Unavailable:
            return True

    def _try(self, method: str, wrong: list[str]) -> Json:
        try:
            return self._agent.call(method)
        except Problem as problem:
            wrong.append(problem.message)
            return {}

    def _unclaimed(self, wrong: list[str]) -> bool:
        try:
            with self._accounts() as accounts:
                return AuthService(accounts).unclaimed()
        except Problem as problem:
            wrong.append(problem.message)
            return False

    @contextmanager
    def _accounts(self) -> Iterator[AccountStore]:
        """The API makes the file: one that root made would not be the API's to write."""
        path = accounts_path(self._database)
        if not path.exists():
            raise Unavailable("the API has not started yet; there are no accounts", code="store-missing")
        accounts = AccountStore.open(path)
        try:
            yield accounts
        finally:
            accounts.close()

    def _updates(self, accounts: AccountStore) -> UpdateService:
        return UpdateService(self._agent, audit.AuditService(accounts), self._database.parent / "uploads")

    def _appliance(self, accounts: AccountStore) -> ApplianceService:
        return ApplianceService(self._agent, audit.AuditService(accounts))


def _slot_words(updates: Json) -> str:
    """The third start of a slot that was not found well yet has the other one as the next."""
    booted, following = updates["booted"], updates["next"]
    if following is None:
        return f"{booted} runs, and no slot is good: the next start tries both"
    doubted = any(slot["booted"] and not slot["good"] for slot in updates["slots"])
    unless = f" unless {booted} is found well" if doubted and following != booted else ""
    return f"{booted} runs, {following} is next{unless}"
