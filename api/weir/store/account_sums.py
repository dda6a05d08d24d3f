# SPDX-License-Identifier: Apache-2.0
"""Sums of what decides who may do what: a scope or a date that changed on the disk is not obeyed. Against
accidents, as `weir.store.sums`."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator

from weir.store.rows import Damage
from weir.store.sums import row_sum

log = logging.getLogger(__name__)

SUMMED = {
    "user": "id, username, password_hash, scope, must_change_password, disabled, created_at_ms, "
    "password_changed_at_ms",
    "session": "public_id, user_id, created_at_ms, expires_at_ms, hex(secret_hash)",
    "token": "public_id, user_id, name, scope, created_at_ms, expires_at_ms, hex(secret_hash)",
    "second_factor": "user_id, secret, since_ms",
    "security_key": "public_id, user_id, hex(credential_id), hex(public_key), algorithm, origin, rp_id, "
    "created_at_ms",
}
"""By table, what decides who may do what; not when it was used last, which is written often."""

TOLD = {
    "user": "'account ' || username || ' is damaged on the disk: nobody signs in to it until an "
    "administrator sets its password again'",
    "session": "'a session of account ' || coalesce((SELECT username FROM user WHERE id = user_id), user_id) "
    "|| ' is damaged on the disk: it has ended'",
    "token": "'token ' || name || ' is damaged on the disk: it is refused; revoke it and make another'",
    "second_factor": "'the second factor of account ' || coalesce((SELECT username FROM user WHERE id = "
    "user_id), user_id) || ' is damaged on the disk: nobody signs in to it until it is removed'",
    "security_key": "'security key ' || name || ' of account ' || coalesce((SELECT username FROM user WHERE "
    "id = user_id), user_id) || ' is damaged on the disk: it is refused; remove it and add it again'",
}
"""By table, what is said of a damaged row, in SQL."""


def fill(connection: sqlite3.Connection) -> None:
    """For accounts that were written without sums: take what is there for right."""
    connection.create_function("weir_sum", -1, row_sum, deterministic=True)
    for table in ("user", "session", "token"):
        summed = SUMMED[table]
        connection.execute(f"UPDATE {table} SET sum = weir_sum({summed})")


def keep_sum(connection: sqlite3.Connection, table: str, key: str, value: str | int) -> None:
    """Of a row that was just written."""
    row = connection.execute(f"SELECT {SUMMED[table]} FROM {table} WHERE {key} = ?", (value,)).fetchone()
    if row is not None:
        connection.execute(f"UPDATE {table} SET sum = ? WHERE {key} = ?", (row_sum(*row), value))


def is_intact(connection: sqlite3.Connection, table: str, key: str, value: str | int) -> bool:
    found = connection.execute(
        f"SELECT sum, {SUMMED[table]} FROM {table} WHERE {key} = ?", (value,)
    ).fetchone()
    return found is not None and row_sum(*found[1:]) == found[0]


def is_user_intact(connection: sqlite3.Connection, user_id: int) -> bool:
    """With the second factor, where there is one."""
    has = connection.execute("SELECT 1 FROM second_factor WHERE user_id = ?", (user_id,)).fetchone()
    return is_intact(connection, "user", "id", user_id) and (
        has is None or is_intact(connection, "second_factor", "user_id", user_id)
    )


def are_intact(connection: sqlite3.Connection, table: str, public_id: str, user_id: int) -> bool:
    """Whether a credential and its owner are as written. Says in the log which is not."""
    for name, key, value in ((table, "public_id", public_id), ("user", "id", user_id)):
        if not is_intact(connection, name, key, value):
            log.error("what is stored of %s %s is damaged: it is not taken", name, value)
            return False
    return True


def damage(connection: sqlite3.Connection) -> Iterator[Damage]:
    """Rows that are not as they were written, and what is wrong with the file. None of them is an object."""
    for table, summed in SUMMED.items():
        for said, kept, *row in connection.execute(f"SELECT {TOLD[table]}, sum, {summed} FROM {table}"):
            if row_sum(*row) != kept:
                yield Damage("", "", said if isinstance(said, str) else f"a {table} is damaged on the disk")
    for (verdict,) in connection.execute("PRAGMA integrity_check(10)"):
        if verdict != "ok":
            yield Damage("", "", f"the accounts' file is damaged: {verdict}")
