# SPDX-License-Identifier: Apache-2.0
"""What is kept of accounts: rows as records, and the columns that they are read from.

Times are wall-clock milliseconds.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from weir.model.scope import Scope

USER_COLUMNS = (
    "id, username, password_hash, scope, must_change_password, disabled, created_at_ms, "
    "password_changed_at_ms, last_sign_in_at_ms, "
    "(SELECT since_ms FROM second_factor WHERE user_id = user.id), "
    "(SELECT count(*) FROM security_key WHERE user_id = user.id)"
)
SESSION_COLUMNS = (
    "public_id, user_id, created_at_ms, last_seen_at_ms, expires_at_ms, source, user_agent, secret_hash"
)
TOKEN_COLUMNS = (
    "public_id, user_id, name, scope, created_at_ms, expires_at_ms, last_used_at_ms, last_used_from"
)
TOKEN_AND_OWNER = f"{TOKEN_COLUMNS}, (SELECT username FROM user WHERE user.id = token.user_id)"
KEY_COLUMNS = (
    "public_id, user_id, name, credential_id, public_key, algorithm, origin, rp_id, created_at_ms, "
    "sign_count, last_used_at_ms"
)
AUDIT_COLUMNS = "id, at_ms, actor, via, source, action, subject, outcome, detail"
AUDIT_TEXT = "lower(actor || ' ' || action || ' ' || subject || ' ' || source || ' ' || outcome)"


@dataclass(frozen=True, slots=True)
class User:
    id: int
    username: str
    password_hash: str
    scope: Scope
    must_change_password: bool
    disabled: bool
    created_at_ms: int
    password_changed_at_ms: int
    last_sign_in_at_ms: int | None
    second_factor_since_ms: int | None = None
    security_keys: int = 0


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """`secret` is the app's; None: there are security keys only. `last_step` is the step of the newest code
    that was used; `recovery_codes` are those left."""

    secret: str | None
    since_ms: int
    last_step: int
    recovery_codes: int


@dataclass(frozen=True, slots=True)
class SecurityKey:
    """`credential_id` is the key's own name for itself, `public_key` a SubjectPublicKeyInfo, `algorithm`
    COSE's number. It answers at `origin` only, for the name `rp_id`."""

    id: str
    user_id: int
    name: str
    credential_id: bytes
    public_key: bytes
    algorithm: int
    origin: str
    rp_id: str
    created_at_ms: int
    sign_count: int
    last_used_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    user_id: int
    created_at_ms: int
    last_seen_at_ms: int
    expires_at_ms: int
    source: str
    user_agent: str
    secret_hash: bytes


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    user_id: int
    name: str
    scope: Scope
    created_at_ms: int
    expires_at_ms: int | None
    last_used_at_ms: int | None
    last_used_from: str
    owner: str


@dataclass(frozen=True, slots=True)
class Throttle:
    failures: int
    blocked_until_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at_ms: int
    actor: str
    via: str
    source: str
    action: str
    subject: str
    outcome: str
    detail: str


def user_of(connection: sqlite3.Connection, condition: str, value: str | int) -> User | None:
    row = connection.execute(f"SELECT {USER_COLUMNS} FROM user WHERE {condition}", (value,)).fetchone()
    return None if row is None else to_user(row)


def second_factor_of(connection: sqlite3.Connection, user_id: int) -> SecondFactor | None:
    row = connection.execute(
        "SELECT secret, since_ms, last_step, (SELECT count(*) FROM recovery_code WHERE user_id = ?1) "
        "FROM second_factor WHERE user_id = ?1",
        (user_id,),
    ).fetchone()
    return None if row is None else SecondFactor(*row)


def security_keys_of(connection: sqlite3.Connection, user_id: int) -> list[SecurityKey]:
    """The oldest first."""
    rows = connection.execute(
        f"SELECT {KEY_COLUMNS} FROM security_key WHERE user_id = ? ORDER BY created_at_ms, name", (user_id,)
    ).fetchall()
    return [SecurityKey(*row) for row in rows]


def to_user(row: tuple[object, ...]) -> User:
    user_id, username, password_hash, scope, must_change, disabled, *times = row
    return User(user_id, username, password_hash, scope, bool(must_change), bool(disabled), *times)  # type: ignore[arg-type]


def owner_of(connection: sqlite3.Connection, user_id: int) -> User:
    user = user_of(connection, "id = ?", user_id)
    assert user is not None, "foreign keys keep the owner"
    return user
