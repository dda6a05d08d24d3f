# SPDX-License-Identifier: Apache-2.0
"""What may be done to accounts in one write transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from weir.model.problem import Conflict, NotFound
from weir.model.scope import Scope
from weir.store.account_rows import (
    KEY_COLUMNS,
    SESSION_COLUMNS,
    TOKEN_COLUMNS,
    AuditEntry,
    SecondFactor,
    SecurityKey,
    Session,
    Throttle,
    Token,
    User,
    second_factor_of,
    security_keys_of,
    user_of,
)
from weir.store.account_sums import is_intact, keep_sum

MAX_AUDIT_ENTRIES = 200_000
AUDIT_PRUNE_STEP = 1000
MAX_THROTTLE_SUBJECTS = 20_000


class AccountWriter:
    """What may be done in one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def users_exist(self) -> bool:
        return self._connection.execute("SELECT 1 FROM user LIMIT 1").fetchone() is not None

    def user(self, username: str) -> User:
        """Raises `NotFound`."""
        found = user_of(self._connection, "username = ?", username)
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

    def second_factor(self, user_id: int) -> SecondFactor | None:
        return second_factor_of(self._connection, user_id)

    def set_second_factor(
        self, user_id: int, secret: str | None, since_ms: int, step: int, recovery_codes: Sequence[bytes]
    ) -> None:
        """`recovery_codes` are hashes; without a secret there is no app."""
        self._connection.execute(
            "INSERT INTO second_factor (user_id, secret, since_ms, last_step) VALUES (?, ?, ?, ?)",
            (user_id, secret, since_ms, step),
        )
        self._connection.executemany(
            "INSERT INTO recovery_code (user_id, code_hash) VALUES (?, ?)",
            [(user_id, code) for code in recovery_codes],
        )
        keep_sum(self._connection, "second_factor", "user_id", user_id)

    def set_app(self, user_id: int, secret: str | None, step: int) -> None:
        """The app of a second factor that is there; None takes it away."""
        self._connection.execute(
            "UPDATE second_factor SET secret = ?, last_step = ? WHERE user_id = ?", (secret, step, user_id)
        )
        keep_sum(self._connection, "second_factor", "user_id", user_id)

    def use_step(self, user_id: int, step: int) -> None:
        """No code of this step or an earlier one is good any more."""
        self._connection.execute("UPDATE second_factor SET last_step = ? WHERE user_id = ?", (step, user_id))

    def take_recovery_code(self, user_id: int, code_hash: bytes) -> bool:
        """False when the user has no such code."""
        return (
            self._count("DELETE FROM recovery_code WHERE user_id = ? AND code_hash = ?", user_id, code_hash)
            == 1
        )

    def remove_second_factor(self, user_id: int) -> bool:
        """With security keys and recovery codes; False when there is none."""
        return self._count("DELETE FROM second_factor WHERE user_id = ?", user_id) == 1

    def security_keys(self, user_id: int) -> list[SecurityKey]:
        return security_keys_of(self._connection, user_id)

    def add_security_key(self, key: SecurityKey) -> None:
        """Its user has a second factor. Raises `Conflict` (`exists`) for a name that another key of the user
        has, and for a key that is anybody's already."""
        try:
            self._connection.execute(
                f"INSERT INTO security_key ({KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key.id,
                    key.user_id,
                    key.name,
                    key.credential_id,
                    key.public_key,
                    key.algorithm,
                    key.origin,
                    key.rp_id,
                    key.created_at_ms,
                    key.sign_count,
                    key.last_used_at_ms,
                ),
            )
        except sqlite3.IntegrityError as error:
            raise _taken(error, key.name) from error
        keep_sum(self._connection, "security_key", "public_id", key.id)

    def is_key_intact(self, public_id: str) -> bool:
        """Whether a security key is as written."""
        return is_intact(self._connection, "security_key", "public_id", public_id)

    def rename_security_key(self, user_id: int, public_id: str, name: str) -> bool:
        """False when the user has no such key. Raises `Conflict` (`exists`)."""
        statement = "UPDATE security_key SET name = ? WHERE user_id = ? AND public_id = ?"
        try:
            return self._count(statement, name, user_id, public_id) == 1
        except sqlite3.IntegrityError as error:
            raise _taken(error, name) from error

    def use_security_key(self, public_id: str, sign_count: int, at_ms: int) -> None:
        self._connection.execute(
            "UPDATE security_key SET sign_count = ?, last_used_at_ms = ? WHERE public_id = ?",
            (sign_count, at_ms, public_id),
        )

    def remove_security_key(self, user_id: int, public_id: str) -> bool:
        """False when the user has no such key."""
        statement = "DELETE FROM security_key WHERE user_id = ? AND public_id = ?"
        return self._count(statement, user_id, public_id) == 1

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


def _taken(error: sqlite3.IntegrityError, name: str) -> Conflict:
    if "credential_id" in str(error):
        return Conflict("this key is added already", code="exists", path="credential_id")
    return Conflict(f"you have a key {name!r} already", code="exists", path="name")
