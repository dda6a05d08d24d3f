# SPDX-License-Identifier: Apache-2.0
"""What was written to the accounts' stand-in, taken to the file when that can be written again.

Sessions that began and that ended, refused and accepted sign-ins, codes and security keys that were used,
known devices and the audit trail. Nothing else is written to a stand-in: users, passwords and tokens wait for
the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from weir.store.database import Database

_SESSION = (
    "secret_hash, user_id, public_id, created_at_ms, last_seen_at_ms, expires_at_ms, source, user_agent, sum"
)
_DEVICE = "secret_hash, user_id, last_used_at_ms"
_THROTTLE = "subject, failures, blocked_until_ms, updated_at_ms"
_AUDIT = "at_ms, actor, via, source, action, subject, outcome, detail"


def carry(copy: Database, file: Database) -> None:
    """Raises `Unavailable`; then the file is as it was."""
    with copy.reading() as source, file.writing() as target:
        users = dict(target.execute("SELECT id, password_changed_at_ms FROM user WHERE disabled = 0"))
        _end_sessions(source, target)
        for table, columns, at in (("session", _SESSION, 3), ("device", _DEVICE, 2)):
            rows = source.execute(f"SELECT {columns} FROM {table}").fetchall()
            # What is older than the password was ended with the one before, perhaps by the console.
            good = [row for row in rows if row[1] in users and row[at] >= users[row[1]]]
            _insert(target, table, columns, good)
        _use_codes(source, target)
        _use_keys(source, target)
        target.execute("DELETE FROM throttle")
        _insert(target, "throttle", _THROTTLE, source.execute(f"SELECT {_THROTTLE} FROM throttle").fetchall())
        (newest,) = target.execute("SELECT coalesce(max(id), 0) FROM audit").fetchone()
        trail = source.execute(f"SELECT {_AUDIT} FROM audit WHERE id > ? ORDER BY id", (newest,)).fetchall()
        _insert(target, "audit", _AUDIT, trail)


def _end_sessions(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Those of the file that the stand-in does not have ended there: it began with all of them."""
    kept = {row[0] for row in source.execute("SELECT secret_hash FROM session")}
    ended = [row for row in target.execute("SELECT secret_hash FROM session") if row[0] not in kept]
    target.executemany("DELETE FROM session WHERE secret_hash = ?", ended)


def _use_codes(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Codes of second factors that were used meanwhile, of those that are still the same."""
    used = source.execute("SELECT last_step, user_id, since_ms FROM second_factor").fetchall()
    target.executemany(
        "UPDATE second_factor SET last_step = max(last_step, ?) WHERE user_id = ? AND since_ms = ?", used
    )
    same = {(user_id, since) for _, user_id, since in used}
    left = set(source.execute("SELECT user_id, code_hash FROM recovery_code"))
    codes = "SELECT user_id, code_hash, since_ms FROM recovery_code JOIN second_factor USING (user_id)"
    gone = [
        (user_id, code)
        for user_id, code, since in target.execute(codes)
        if (user_id, since) in same and (user_id, code) not in left
    ]
    target.executemany("DELETE FROM recovery_code WHERE user_id = ? AND code_hash = ?", gone)


def _use_keys(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """How far security keys have counted meanwhile: an answer of before is none any more."""
    used = source.execute("SELECT sign_count, last_used_at_ms, public_id FROM security_key").fetchall()
    target.executemany(
        "UPDATE security_key SET sign_count = max(sign_count, ?1), last_used_at_ms = "
        "max(coalesce(last_used_at_ms, ?2), ?2) WHERE public_id = ?3 AND ?2 IS NOT NULL",
        used,
    )


def _insert(target: sqlite3.Connection, table: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    places = ", ".join("?" * len(columns.split(", ")))
    target.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})", rows)
