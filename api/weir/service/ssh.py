# SPDX-License-Identifier: Apache-2.0
"""Signing in by an SSH key: sshd has proved that somebody has it, and the agent says whose it is."""

from __future__ import annotations

from weir.accounts import audit, passwords
from weir.accounts.auth import make_token
from weir.accounts.users import MAX_TOKENS_PER_USER
from weir.model.problem import Conflict, Invalid, NotFound, Unauthenticated
from weir.service.own_way import name_of
from weir.store.account_rows import Token, User
from weir.store.account_writer import AccountWriter
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms
from weir.wire.client import AgentClient

SESSION_S = 24 * 3600
"""A session's token ends with it, or after this where the session could not end it."""


class SshService:
    def __init__(self, store: AccountStore, agent: AgentClient) -> None:
        self._store = store
        self._agent = agent

    def sign_in(self, ticket: str, source: str) -> tuple[Token, str]:
        """A token with the rights of the account whose key it is, and its secret. `source` is the far end's
        address, for the audit trail.

        Raises `Unauthenticated` (`bad-ticket`; `no-account`, also for one that is disabled or damaged, or
        whose password was set by somebody else), `Conflict` (`too-many` tokens), `Unavailable`.
        """
        try:
            found = self._agent.call("ssh_ticket", {"ticket": ticket})
        except Invalid as refused:
            raise Unauthenticated(refused.message, code="bad-ticket") from refused
        key, account = str(found["key"]), str(found["account"])
        with self._store.write() as writer:
            user, why = self._user(writer, account)
            if user is None or why:
                audit.write(writer, audit.entry(account, "ssh", source, "sign-in", account, "refused", why))
            else:
                if writer.count_tokens(user.id) >= MAX_TOKENS_PER_USER:
                    raise Conflict(
                        f"{account} already has {MAX_TOKENS_PER_USER} tokens: revoke some", code="too-many"
                    )
                token, secret = make_token(user, name_of(key, source), user.scope, SESSION_S)
                writer.add_token(token, passwords.hash_secret(secret))
                writer.signed_in(user.id, wall_ms())
                told = audit.entry(account, "ssh", source, "sign-in", account, detail=f"SSH key {key}")
                audit.write(writer, told)
                return token, secret
        raise Unauthenticated(f"{why}: an administrator can help", code="no-account")

    def _user(self, writer: AccountWriter, account: str) -> tuple[User | None, str]:
        """The account, and why it is not let in; "" where it is."""
        try:
            user = writer.user(account)
        except NotFound:
            return None, f"there is no account {account!r}"
        if not writer.is_intact(user.id):
            return user, f"what is stored of account {account!r} is damaged"
        if user.disabled:
            return user, f"account {account!r} is disabled"
        if user.must_change_password:
            return user, f"account {account!r} has a one-time password, which it must change in the browser"
        return user, ""
