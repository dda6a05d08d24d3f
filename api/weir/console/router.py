# SPDX-License-Identifier: Apache-2.0
"""What the console can ask of the router: the services of the API and the agent, never a way of its own.

A person at the console can take the disk out, so the menu asks for no password; what it does is in the
audit trail like everything else. A shell is another matter: that takes an administrator's password.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir.model.problem import Problem
from weir.wire.agent_states import meaning
from weir.wire.client import AgentClient

if TYPE_CHECKING:
    from weir.console.actions import Actions

Json = dict[str, Any]
SILENT = "not known: the agent does not answer"


@dataclass(frozen=True, slots=True)
class View:
    """What the menu's head shows; `wrong` are sentences about what is not well."""

    version: str
    addresses: tuple[str, ...]
    slot: str
    wrong: tuple[str, ...]
    needs_setup: bool
    name: str
    banner: str


class Router:
    """A damaged file of accounts must not keep the console from starting."""

    def __init__(self, database: Path, agent: AgentClient) -> None:
        self._database = database
        self._agent = agent

    def view(self) -> View:
        """Never raises: what cannot be found out is a sentence."""
        wrong: list[str] = []
        status = self._try("status", wrong)
        ports = self._try("interfaces", wrong)
        interfaces = ports.get("value", [])
        updates = self._try("updates", wrong)
        system = self._try("system", wrong)
        gravity, sentence = meaning(str(status.get("state", "ok")))
        if gravity != "ok":
            wrong.append(sentence)
        store = status.get("store") or {}
        if store.get("ok") is False:
            wrong.append(f"configuration: {store.get('reason')}")
        data = status.get("data") or {}
        if data.get("state", "ok") not in ("ok", "reset"):
            wrong.append(str(data.get("message")))
        if not interfaces and not wrong:
            wrong.append("no network port was found: the kernel has no driver for one")
        needs_setup = self._unclaimed(wrong)
        return View(
            version=str(status.get("version", "?")),
            addresses=_addresses(interfaces) if ports else (SILENT,),
            slot=_slot_words(updates) if updates else SILENT,
            wrong=tuple(dict.fromkeys(wrong)),
            needs_setup=needs_setup,
            name=str(system.get("hostname") or ""),
            banner=str(system.get("login_banner") or ""),
        )

    @property
    def actions(self) -> Actions:
        """Imported when somebody has answered what is asked before: each Enter starts this program."""
        from weir.console.actions import Actions

        return Actions(self._database, self._agent)

    def slots(self) -> list[Json]:
        found: list[Json] = self._agent.call("updates", timeout_s=60.0)["slots"]
        return found

    def _try(self, method: str, wrong: list[str]) -> Json:
        """Empty when there was no answer; no answer is empty by itself."""
        try:
            return self._agent.call(method)
        except Problem as problem:
            wrong.append(problem.message)
            return {}

    def _unclaimed(self, wrong: list[str]) -> bool:
        from weir.console.accounts import opened_accounts

        try:
            with opened_accounts(self._database) as accounts:
                return not accounts.users()
        except Problem as problem:
            wrong.append(problem.message)
            return False


def _addresses(interfaces: list[Json]) -> tuple[str, ...]:
    return tuple(f"{item['name']} {address}" for item in interfaces for address in item.get("addresses", ()))


def _slot_words(updates: Json) -> str:
    """The third start of a slot that was not found well yet has the other one as the next."""
    if not updates.get("available"):
        return "none"
    booted, following = updates["booted"], updates["next"]
    if following is None:
        return f"{booted} runs, and no slot is good: the next start tries both"
    doubted = any(slot["booted"] and not slot["good"] for slot in updates["slots"])
    unless = f" unless {booted} is found well" if doubted and following != booted else ""
    return f"{booted} runs, {following} is next{unless}"
