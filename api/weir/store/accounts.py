# SPDX-License-Identifier: Apache-2.0
"""Users, sessions, tokens, the sign-in throttle and the audit trail, in a file beside the configuration.

Nothing here knows a secret: callers pass hashes. Times are wall-clock milliseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weir.model.problem import Conflict, NotFound, Unavailable
from weir.store.account_sums import are_intact, is_intact, keep_sum
from weir.store.carried import carry
from weir.store.database import ACCOUNTS, DEFAULT_WAIT_S, Database
from weir.store.steady import SteadyDatabase

Scope = Literal["read", "write", "admin"]

USER_COLUMNS = (
    "id, username, password_hash, scope, must_change_password, disabled, created_at_ms, "
    "password_changed_at_ms, last_sign_in_at_ms"
)
SESSION_COLUMNS = (
    "public_id, user_id, created_at_ms, last_seen_at_ms, expires_at_ms, source, user_agent, secret_hash"
)
TOKEN_COLUMNS = (
    "public_id, user_id, name, scope, created_at_ms, expires_at_ms, last_used_at_ms, last_used_from"
)
TOKEN_AND_OWNER = f"{TOKEN_COLUMNS}, (SELECT username FROM user WHERE user.id = token.user_id)"
AUDIT_COLUMNS = "id, at_ms, actor, via, source, action, subject, outcome, detail"
AUDIT_TEXT = "lower(actor || ' ' || action || ' ' || subject || ' ' || source || ' ' || outcome)"
MAX_AUDIT_ENTRIES = 200_000
AUDIT_PRUNE_STEP = 1000
MAX_THROTTLE_SUBJECTS = 20_000


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


class AccountStore:
    """Thread-safe; each method is one transaction unless it takes a connection of `write()`."""

    def __init__(self, database: Database | SteadyDatabase) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> AccountStore:
        """Open or create. Raises `Unavailable` as `ConfigStore.open` does."""
        return cls(Database(path, ACCOUNTS, create=True))

    @classmethod
    def steady(cls, path: Path) -> AccountStore:
        """As `open`, and never raises: a copy in memory stands in for a file that cannot be used."""
        return cls(SteadyDatabase(path, ACCOUNTS, carry=carry))

    def close(self) -> None:
        self._database.close()

    def look_again(self) -> None:
        """See `SteadyDatabase.look_again`."""
        self._database.look_again()

    @property
    def refused(self) -> Unavailable | None:
        """Why nothing lasting can be written."""
        return self._database.refused

    @contextmanager
    def write(
        self, timeout_s: float = DEFAULT_WAIT_S, *, durable: bool = True, passing: bool = False
    ) -> Iterator[AccountWriter]:
        """As `Database.writing`. What is `passing` (sessions, throttle, audit trail) goes on in memory while
        the file cannot be written; users, passwords and tokens are refused then."""
        with self._database.writing(timeout_s, durable=durable, passing=passing) as connection:
            yield AccountWriter(connection)

    def user(self, username: str) -> User | None:
        with self._database.reading() as connection:
            return _user(connection, "username = ?", username)

    def is_intact(self, user_id: int) -> bool:
        """Whether a user is as written. Of one that is not, neither password, session nor token is taken
        until somebody sets scope and `disabled` again."""
        with self._database.reading() as connection:
            return is_intact(connection, "user", "id", user_id)

    def user_by_id(self, user_id: int) -> User | None:
        with self._database.reading() as connection:
            return _user(connection, "id = ?", user_id)

    def users(self) -> list[User]:
        with self._database.reading() as connection:
            rows = connection.execute(f"SELECT {USER_COLUMNS} FROM user ORDER BY username").fetchall()
        return [_to_user(row) for row in rows]

    def session(self, secret_hash: bytes) -> tuple[Session, User] | None:
        return self._session_where("secret_hash = ?", secret_hash)

    def session_by_id(self, public_id: str) -> tuple[Session, User] | None:
        return self._session_where("public_id = ?", public_id)

    def _session_where(self, condition: str, value: bytes | str) -> tuple[Session, User] | None:
        with self._database.reading() as connection:
            row = connection.execute(
                f"SELECT {SESSION_COLUMNS} FROM session WHERE {condition}", (value,)
            ).fetchone()
            if row is None:
                return None
            session = Session(*row)
            if not are_intact(connection, "session", session.id, session.user_id):
                return None
            return session, _owner(connection, session.user_id)

    def sessions(self, user_id: int) -> list[Session]:
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {SESSION_COLUMNS} FROM session WHERE user_id = ? ORDER BY created_at_ms DESC",
                (user_id,),
            ).fetchall()
        return [Session(*row) for row in rows]

    def token(self, secret_hash: bytes) -> tuple[Token, User] | None:
        return self._token_where("secret_hash = ?", secret_hash)

    def token_by_id(self, public_id: str) -> tuple[Token, User] | None:
        return self._token_where("public_id = ?", public_id)

    def _token_where(self, condition: str, value: bytes | str) -> tuple[Token, User] | None:
        with self._database.reading() as connection:
            row = connection.execute(
                f"SELECT {TOKEN_AND_OWNER} FROM token WHERE {condition}", (value,)
            ).fetchone()
            if row is None:
                return None
            token = Token(*row)
            if not are_intact(connection, "token", token.id, token.user_id):
                return None
            return token, _owner(connection, token.user_id)

    def tokens(self, user_id: int | None = None) -> list[Token]:
        """Those of one user, or all."""
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {TOKEN_AND_OWNER} FROM token WHERE ?1 IS NULL OR user_id = ?1 "
                "ORDER BY created_at_ms",
                (user_id,),
            ).fetchall()
        return [Token(*row) for row in rows]

    def audit(self, before: int | None, limit: int, text: str = "") -> list[AuditEntry]:
        """Newest first, ids below `before`; `text` is a piece of actor, action, subject or source."""
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {AUDIT_COLUMNS} FROM audit WHERE (?1 IS NULL OR id < ?1) AND (?3 = '' "
                f"OR instr({AUDIT_TEXT}, ?3)) ORDER BY id DESC LIMIT ?2",
                (None if before is None else min(max(before, 0), 1 << 62), limit, text.lower()),
            ).fetchall()
        return [AuditEntry(*row) for row in rows]


class AccountWriter:
    """What may be done in one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def users_exist(self) -> bool:
        return self._connection.execute("SELECT 1 FROM user LIMIT 1").fetchone() is not None

    def user(self, username: str) -> User:
        """Raises `NotFound`."""
        found = _user(self._connection, "username = ?", username)
        if found is None:
            raise NotFound(f"there is no user {username[:64]!r}", path=f"users/{username[:64]}")
        return found

    def other_admins(self, user_id: int) -> int:
        """How many enabled administrators there are beside this one."""
        (count,) = self._connection.execute(
            "SELECT count(*) FROM user WHERE scope = 'admin' AND disabled = 0 AND id <> ?", (user_id,)
        ).fetchone()
        return int(count)

    def add_user(
        self, username: str, password_hash: str, scope: Scope, must_change: bool, at_ms: int
    ) -> User:
        """Raises `Conflict` (`exists`) when the name is taken, whatever its case."""
        try:
            self._connection.execute(
                "INSERT INTO user (username, password_hash, scope, must_change_password, disabled, "
                "created_at_ms, password_changed_at_ms) VALUES (?, ?, ?, ?, 0, ?, ?)",
                (username, password_hash, scope, int(must_change), at_ms, at_ms),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"there is already a user {username!r}", code="exists") from error
        user = self.user(username)
        keep_sum(self._connection, "user", "id", user.id)
        return user

    def set_password(self, user_id: int, password_hash: str, must_change: bool, at_ms: int) -> None:
        """Devices that knew the old one are strange again. A damaged user stays damaged."""
        self.forget_devices(user_id)
        was_intact = self.is_intact(user_id)
        self._connection.execute(
            "UPDATE user SET password_hash = ?, must_change_password = ?, password_changed_at_ms = ? "
            "WHERE id = ?",
            (password_hash, int(must_change), at_ms, user_id),
        )
        if was_intact:
            keep_sum(self._connection, "user", "id", user_id)

    def is_intact(self, user_id: int) -> bool:
        """As `AccountStore.is_intact`."""
        return is_intact(self._connection, "user", "id", user_id)

    def replace_hash(self, user_id: int, old_hash: str, new_hash: str) -> None:
        """The same password under newer parameters, unless the password changed meanwhile."""
        if not self.is_intact(user_id):
            return
        self._connection.execute(
            "UPDATE user SET password_hash = ? WHERE id = ? AND password_hash = ?",
            (new_hash, user_id, old_hash),
        )
        keep_sum(self._connection, "user", "id", user_id)

    def set_role(self, user_id: int, scope: Scope, disabled: bool) -> None:
        """What is stored of the user is right from now on."""
        self._connection.execute(
            "UPDATE user SET scope = ?, disabled = ? WHERE id = ?", (scope, int(disabled), user_id)
        )
        keep_sum(self._connection, "user", "id", user_id)

    def signed_in(self, user_id: int, at_ms: int) -> None:
        self._connection.execute("UPDATE user SET last_sign_in_at_ms = ? WHERE id = ?", (at_ms, user_id))

    def delete_user(self, user_id: int) -> None:
        """Sessions and tokens go with the user."""
        self._connection.execute("DELETE FROM user WHERE id = ?", (user_id,))

    def add_session(self, session: Session) -> None:
        self._connection.execute(
            f"INSERT INTO session ({SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.id,
                session.user_id,
                session.created_at_ms,
                session.last_seen_at_ms,
                session.expires_at_ms,
                session.source,
                session.user_agent,
                session.secret_hash,
            ),
        )
        keep_sum(self._connection, "session", "public_id", session.id)

    def touch_session(self, secret_hash: bytes, at_ms: int) -> None:
        self._connection.execute(
            "UPDATE session SET last_seen_at_ms = ? WHERE secret_hash = ?", (at_ms, secret_hash)
        )

    def end_session(self, user_id: int, public_id: str) -> bool:
        """False when the user has no such session."""
        return self._count("DELETE FROM session WHERE user_id = ? AND public_id = ?", user_id, public_id) == 1

    def end_sessions(self, user_id: int, but: str = "") -> None:
        """All sessions of a user, except the one with public id `but`."""
        self._count("DELETE FROM session WHERE user_id = ? AND public_id <> ?", user_id, but)

    def drop_old_sessions(self, now_ms: int, idle_since_ms: int) -> None:
        self._count(
            "DELETE FROM session WHERE expires_at_ms <= ? OR last_seen_at_ms < ?", now_ms, idle_since_ms
        )

    def keep_newest_sessions(self, user_id: int, keep: int) -> None:
        self._count(
            "DELETE FROM session WHERE user_id = ?1 AND public_id NOT IN (SELECT public_id FROM session "
            "WHERE user_id = ?1 ORDER BY created_at_ms DESC LIMIT ?2)",
            user_id,
            keep,
        )

    def use_device(self, secret_hash: bytes, user_id: int, at_ms: int, keep: int) -> None:
        """Remember a device, or that it was used; the user's oldest beyond `keep` are forgotten."""
        self._connection.execute(
            "INSERT OR REPLACE INTO device (secret_hash, user_id, last_used_at_ms) VALUES (?, ?, ?)",
            (secret_hash, user_id, at_ms),
        )
        self._count(
            "DELETE FROM device WHERE user_id = ?1 AND secret_hash NOT IN (SELECT secret_hash FROM device "
            "WHERE user_id = ?1 ORDER BY last_used_at_ms DESC LIMIT ?2)",
            user_id,
            keep,
        )

    def is_device_of(self, secret_hash: bytes, username: str, since_ms: int) -> bool:
        """Whether this user has signed in with the device since then."""
        found = self._connection.execute(
            "SELECT 1 FROM device JOIN user ON user.id = device.user_id "
            "WHERE secret_hash = ? AND username = ? AND last_used_at_ms >= ?",
            (secret_hash, username, since_ms),
        ).fetchone()
        return found is not None

    def forget_devices(self, user_id: int) -> None:
        self._count("DELETE FROM device WHERE user_id = ?", user_id)

    def add_token(self, token: Token, secret_hash: bytes) -> None:
        self._connection.execute(
            f"INSERT INTO token ({TOKEN_COLUMNS}, secret_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token.id,
                token.user_id,
                token.name,
                token.scope,
                token.created_at_ms,
                token.expires_at_ms,
                token.last_used_at_ms,
                token.last_used_from,
                secret_hash,
            ),
        )
        keep_sum(self._connection, "token", "public_id", token.id)

    def touch_token(self, public_id: str, at_ms: int, source: str) -> None:
        self._connection.execute(
            "UPDATE token SET last_used_at_ms = ?, last_used_from = ? WHERE public_id = ?",
            (at_ms, source, public_id),
        )

    def count_tokens(self, user_id: int) -> int:
        (count,) = self._connection.execute(
            "SELECT count(*) FROM token WHERE user_id = ?", (user_id,)
        ).fetchone()
        return int(count)

    def revoke_token(self, public_id: str, user_id: int | None) -> bool:
        """False when there is no such token (of this user, unless None)."""
        return (
            self._count(
                "DELETE FROM token WHERE public_id = ?1 AND (?2 IS NULL OR user_id = ?2)", public_id, user_id
            )
            == 1
        )

    def revoke_tokens(self, user_id: int) -> None:
        self._count("DELETE FROM token WHERE user_id = ?", user_id)

    def throttle(self, subject: str) -> Throttle | None:
        row = self._connection.execute(
            "SELECT failures, blocked_until_ms, updated_at_ms FROM throttle WHERE subject = ?", (subject,)
        ).fetchone()
        return None if row is None else Throttle(*row)

    def set_throttle(self, subject: str, state: Throttle) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO throttle VALUES (?, ?, ?, ?)",
            (subject, state.failures, state.blocked_until_ms, state.updated_at_ms),
        )

    def clear_throttle(self, subject: str) -> None:
        self._count("DELETE FROM throttle WHERE subject = ?", subject)

    def drop_old_throttles(self, before_ms: int) -> None:
        """Forget what is older than `before_ms`, and the oldest beyond `MAX_THROTTLE_SUBJECTS`."""
        self._count("DELETE FROM throttle WHERE updated_at_ms < ?", before_ms)
        self._count(
            "DELETE FROM throttle WHERE subject IN (SELECT subject FROM throttle "
            "ORDER BY updated_at_ms DESC LIMIT -1 OFFSET ?)",
            MAX_THROTTLE_SUBJECTS,
        )

    def record(self, entry: AuditEntry) -> None:
        """Append (the entry's id is assigned here); the oldest entries make room."""
        cursor = self._connection.execute(
            "INSERT INTO audit (at_ms, actor, via, source, action, subject, outcome, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.at_ms,
                entry.actor,
                entry.via,
                entry.source,
                entry.action,
                entry.subject,
                entry.outcome,
                entry.detail,
            ),
        )
        newest = cursor.lastrowid or 0
        if newest % AUDIT_PRUNE_STEP == 0:
            self._count("DELETE FROM audit WHERE id <= ?", newest - MAX_AUDIT_ENTRIES)

    def _count(self, statement: str, *values: object) -> int:
        return self._connection.execute(statement, values).rowcount


def _user(connection: sqlite3.Connection, condition: str, value: str | int) -> User | None:
    row = connection.execute(f"SELECT {USER_COLUMNS} FROM user WHERE {condition}", (value,)).fetchone()
    return None if row is None else _to_user(row)


def _to_user(row: tuple[object, ...]) -> User:
    user_id, username, password_hash, scope, must_change, disabled, *times = row
    return User(user_id, username, password_hash, scope, bool(must_change), bool(disabled), *times)  # type: ignore[arg-type]


def _owner(connection: sqlite3.Connection, user_id: int) -> User:
    user = _user(connection, "id = ?", user_id)
    assert user is not None, "foreign keys keep the owner"
    return user


def accounts_path(database: Path) -> Path:
    """`weir.db` -> `weir-accounts.db` in the same folder."""
    return database.with_name(f"{database.stem}-accounts{database.suffix}")
