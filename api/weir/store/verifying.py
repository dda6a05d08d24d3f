# SPDX-License-Identifier: Apache-2.0
"""Looking through a whole store for what is not as it was written."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from weir.model.problem import Problem
from weir.store import decoding, raises, reading
from weir.store.bodies import columns
from weir.store.retention import complete_from
from weir.store.rows import MAX_DAMAGE, Damage
from weir.store.sums import DIGESTED, revision_contents, revision_digest

COPIES = "name, parent, position, disabled, max_limit_upload_bps, max_limit_download_bps, search"


def verify(connection: sqlite3.Connection) -> list[Damage]:
    """The first `MAX_DAMAGE` things that are damaged."""
    return list(islice(_damage(connection), MAX_DAMAGE))


def _damage(connection: sqlite3.Connection) -> Iterator[Damage]:
    yield from _versions(connection)
    yield from _revisions(connection)
    for (verdict,) in connection.execute("PRAGMA integrity_check(10)"):
        if verdict != "ok":
            yield Damage("", "", f"the database file is damaged: {verdict}")
    for look in (reading.pending, raises.every):
        try:
            look(connection)
        except Problem as problem:
            yield Damage("", "", problem.message)


def _versions(connection: sqlite3.Connection) -> Iterator[Damage]:
    """Rows that are not what their sum says, and copies for the indexes that differ from the object."""
    rows = connection.execute(
        f"SELECT kind, id, from_revision, body, sum, to_revision, {COPIES} FROM object_version NOT INDEXED"
    )
    for *row, until, name, parent, position, disabled, upload, download, search in rows:
        kind, object_id = row[:2]
        try:
            item = decoding.checked(*row)
        except Problem as problem:
            yield Damage(*reading.named(kind, object_id), problem.message)
        else:
            copies = (name, parent, position, disabled, upload, download, search)
            if until is None and columns(item) != copies:
                yield Damage(kind, object_id, f"what lists show of {kind} {object_id} is damaged on the disk")


def _revisions(connection: sqlite3.Connection) -> Iterator[Damage]:
    """The chain of digests, and the content of every revision that can be read."""
    contents, oldest = revision_contents(connection), complete_from(connection)
    before, expected = b"", 0
    for *row, digest in connection.execute(f"SELECT {DIGESTED}, digest FROM revision ORDER BY number"):
        number, content = row[0], row[-1]
        if number != expected or revision_digest(before, tuple(row)) != digest:
            yield Damage("", "", f"what is noted of revision {expected} is damaged on the disk")
        elif number >= oldest and contents.get(number) != content:
            yield Damage("", "", f"revision {number} is not whole: an object is missing, or one too many")
        before, expected = digest, number + 1


def main(argv: Sequence[str]) -> int:
    """`DATABASE`: what is damaged in it and in the accounts beside it, as JSON on standard output; 1 when one
    of them cannot be read."""
    from weir.store.accounts import AccountStore, accounts_path
    from weir.store.configuration import ConfigStore

    database = Path(argv[0])
    try:
        found = []
        with closing(ConfigStore.open(database)) as store:
            found += store.verify()
        if accounts_path(database).exists():
            with closing(AccountStore.open(accounts_path(database))) as accounts:
                found += accounts.verify()
        print(json.dumps([asdict(item) for item in found]))
    except Problem as problem:
        print(problem.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
