# SPDX-License-Identifier: Apache-2.0
"""Users, sessions, tokens, the sign-in throttle and the audit trail, in a file beside the configuration.

Nothing here knows a secret: callers pass hashes. Times are wall-clock milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from weir.model.problem import Unavailable
from weir.store.account_rows import (
    AUDIT_COLUMNS,
    AUDIT_TEXT,
    SESSION_COLUMNS,
    TOKEN_AND_OWNER,
    USER_COLUMNS,
    AuditEntry,
    SecondFactor,
    SecurityKey,
    Session,
    Token,
    User,
    owner_of,
    second_factor_of,
    security_keys_of,
    to_user,
    user_of,
)
from weir.store.account_sums import are_intact, damage, is_user_intact
from weir.store.account_writer import AccountWriter
from weir.store.carried import carry
from weir.store.database import ACCOUNTS, DEFAULT_WAIT_S, Database
from weir.store.rows import MAX_DAMAGE, Damage
from weir.store.steady import SteadyDatabase


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

    def verify(self) -> list[Damage]:
        """Look at all that decides who may do what, and at the file."""
        with self._database.reading() as connection:
            return list(islice(damage(connection), MAX_DAMAGE))

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
            return user_of(connection, "username = ?", username)

    def is_intact(self, user_id: int) -> bool:
        """Whether a user is as written. Of one that is not, neither password, session nor token is taken
        until somebody sets scope and `disabled` again."""
        with self._database.reading() as connection:
            return is_user_intact(connection, user_id)

    def second_factor(self, user_id: int) -> SecondFactor | None:
        with self._database.reading() as connection:
            return second_factor_of(connection, user_id)

    def security_keys(self, user_id: int) -> list[SecurityKey]:
        """Of one user, the oldest first."""
        with self._database.reading() as connection:
            return security_keys_of(connection, user_id)

    def user_by_id(self, user_id: int) -> User | None:
        with self._database.reading() as connection:
            return user_of(connection, "id = ?", user_id)

    def users(self) -> list[User]:
        with self._database.reading() as connection:
            rows = connection.execute(f"SELECT {USER_COLUMNS} FROM user ORDER BY username").fetchall()
        return [to_user(row) for row in rows]

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
            return session, owner_of(connection, session.user_id)

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
            return token, owner_of(connection, token.user_id)

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


def accounts_path(database: Path) -> Path:
    """`weir.db` -> `weir-accounts.db` in the same folder."""
    return database.with_name(f"{database.stem}-accounts{database.suffix}")
