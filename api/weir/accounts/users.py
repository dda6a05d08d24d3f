# SPDX-License-Identifier: Apache-2.0
"""Accounts and their API tokens, as administrators and owners manage them."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable

from weir.accounts import audit, passwords
from weir.accounts.auth import make_token
from weir.accounts.permissions import authorize, requires
from weir.accounts.principal import Principal
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound
from weir.model.scope import RANK, SCOPES, Scope
from weir.store.account_rows import Token, User
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms

USERNAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}", re.ASCII)
MAX_USERS = 1000
MAX_TOKENS_PER_USER = 100
MAX_TOKEN_NAME_CHARS = 64
MAX_TOKEN_LIFE_S = 10 * 366 * 24 * 3600


class UserService:
    def __init__(self, store: AccountStore, forget_candidate: Callable[[str], None]) -> None:
        self._store = store
        self._forget_candidate = forget_candidate

    @requires("users.manage")
    def list(self, _by: Principal) -> builtins.list[User]:
        """All accounts by name; at most `MAX_USERS`."""
        return self._store.users()

    @requires("self")
    def get(self, by: Principal, username: str) -> User:
        """One's own account, or as administrator anybody's. Raises `NotFound`, `Forbidden`."""
        if username.casefold() != by.username.casefold():
            authorize(by, "users.manage")
        found = self._store.user(username)
        if found is None:
            raise NotFound(f"there is no user {username[:64]!r}", path=f"users/{username[:64]}")
        return found

    @requires("users.manage")
    def create(
        self, by: Principal, username: str, scope: Scope, password: str | None = None
    ) -> tuple[User, str | None]:
        """The account, and its one-time password when none was given.

        Raises `Invalid` (`bad-username`, `weak-password`), `Conflict` (`exists`, `too-many`).
        """
        if not USERNAME.fullmatch(username):
            raise Invalid(
                "a user name is 1 to 32 characters of a-z, 0-9, '_', '.' or '-', the first a letter or digit",
                code="bad-username",
                path="username",
            )
        _check_scope(scope)
        one_time = passwords.random_password() if password is None else None
        if password is not None:
            passwords.check_rules(password, username)
        password_hash = passwords.hash_password(password or one_time or "")
        if len(self._store.users()) >= MAX_USERS:
            raise Conflict(f"there are already {MAX_USERS} users", code="too-many")
        with self._store.write() as writer:
            user = writer.add_user(username, password_hash, scope, one_time is not None, wall_ms())
            audit.write(writer, audit.entry_of(by, "user.create", username, detail=scope))
        return user, one_time

    @requires("users.manage")
    def update(
        self, by: Principal, username: str, scope: Scope | None = None, disabled: bool | None = None
    ) -> User:
        """Raises `NotFound`, `Conflict` (`last-admin`, or `user-damaged` unless both are given). A disabled
        user's sessions end."""
        if scope is not None:
            _check_scope(scope)
        with self._store.write() as writer:
            user = writer.user(username)
            if (scope is None or disabled is None) and not writer.is_intact(user.id):
                raise Conflict(
                    f"what is stored of user {user.username!r} is damaged: set both scope and disabled",
                    code="user-damaged",
                    path=f"users/{user.username}",
                )
            new_scope = user.scope if scope is None else scope
            new_disabled = user.disabled if disabled is None else disabled
            if (new_scope != "admin" or new_disabled) and not writer.other_admins(user.id):
                raise _last_admin(user)
            writer.set_role(user.id, new_scope, new_disabled)
            if new_disabled:
                writer.end_sessions(user.id)
            detail = f"{new_scope}{', disabled' if new_disabled else ''}"
            audit.write(writer, audit.entry_of(by, "user.update", user.username, detail=detail))
            return writer.user(username)

    @requires("users.manage")
    def reset_password(self, by: Principal, username: str) -> str:
        """A one-time password; the user's sessions end and tokens are revoked. Raises `NotFound`."""
        one_time = passwords.random_password()
        password_hash = passwords.hash_password(one_time)
        with self._store.write() as writer:
            user = writer.user(username)
            writer.set_password(user.id, password_hash, True, wall_ms())
            writer.end_sessions(user.id)
            writer.revoke_tokens(user.id)
            audit.write(writer, audit.entry_of(by, "password.reset", user.username))
        return one_time

    @requires("users.manage")
    def delete(self, by: Principal, username: str) -> None:
        """With sessions, tokens and candidate. Raises `NotFound`, `Conflict` (`last-admin`)."""
        with self._store.write() as writer:
            user = writer.user(username)
            if not writer.other_admins(user.id):
                raise _last_admin(user)
            writer.delete_user(user.id)
            audit.write(writer, audit.entry_of(by, "user.delete", user.username))
        self._forget_candidate(user.username)


class TokenService:
    def __init__(self, store: AccountStore) -> None:
        self._store = store

    @requires("tokens.own")
    def list(self, by: Principal) -> builtins.list[Token]:
        """An administrator sees everybody's, others their own."""
        return self._store.tokens(None if by.scope == "admin" else by.user_id)

    @requires("tokens.own")
    def create(
        self, by: Principal, name: str, scope: Scope, expires_in_s: int | None = None
    ) -> tuple[Token, str]:
        """A token of the caller and its secret. Raises `Invalid`, `Forbidden` (above one's own scope, or
        lasting longer than the token that asks)."""
        _check_scope(scope)
        if RANK[scope] > RANK[by.scope]:
            raise Forbidden(f"your own scope is {by.scope!r}, less than {scope!r}", path="scope")
        if not name.strip() or len(name) > MAX_TOKEN_NAME_CHARS or not name.isprintable():
            raise Invalid(f"a token's name is 1 to {MAX_TOKEN_NAME_CHARS} printable characters", path="name")
        if expires_in_s is not None and not 0 < expires_in_s <= MAX_TOKEN_LIFE_S:
            raise Invalid(f"expires_in_s must be 1 to {MAX_TOKEN_LIFE_S}", path="expires_in_s")
        self._must_not_outlive(by, expires_in_s)
        with self._store.write() as writer:
            if writer.count_tokens(by.user_id) >= MAX_TOKENS_PER_USER:
                raise Conflict(f"you already have {MAX_TOKENS_PER_USER} tokens", code="too-many")
            token, secret = make_token(writer.user(by.username), name, scope, expires_in_s)
            writer.add_token(token, passwords.hash_secret(secret))
            audit.write(writer, audit.entry_of(by, "token.create", token.id, detail=f"{name} ({scope})"))
        return token, secret

    @requires("tokens.own")
    def revoke(self, by: Principal, token_id: str) -> None:
        """One's own of at most the caller's scope, or as administrator anybody's. Raises `NotFound`,
        `Forbidden`: what may only read cannot put an end to what may write."""
        path = f"tokens/{token_id[:64]}"
        with self._store.write() as writer:
            token = next((found for found in self.list(by) if found.id == token_id), None)
            if token is not None and RANK[token.scope] > RANK[by.scope]:
                raise Forbidden(f"this token's scope {token.scope!r} is above yours, {by.scope!r}", path=path)
            if not writer.revoke_token(token_id, None if by.scope == "admin" else by.user_id):
                raise NotFound("there is no such token", path=path)
            audit.write(writer, audit.entry_of(by, "token.revoke", token_id))

    def _must_not_outlive(self, by: Principal, expires_in_s: int | None) -> None:
        """A token that ends cannot make one that goes on. Raises `Forbidden`."""
        if by.via != "token":
            return
        own = next((found for found in self.list(by) if found.id == by.credential_id), None)
        if own is None or own.expires_at_ms is None:
            return
        left_s = (own.expires_at_ms - wall_ms()) // 1000
        if expires_in_s is None or expires_in_s > left_s:
            raise Forbidden(
                f"the token that asks ends in {left_s} s; one that it makes must end no later",
                path="expires_within_s",
            )


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        raise Invalid(f"the scope must be one of {', '.join(SCOPES)}", path="scope")


def _last_admin(user: User) -> Conflict:
    return Conflict(
        f"{user.username!r} is the only administrator left", code="last-admin", path=f"users/{user.username}"
    )
