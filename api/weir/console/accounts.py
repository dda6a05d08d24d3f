# SPDX-License-Identifier: Apache-2.0
"""The router's accounts, opened for one request: a damaged file must not keep the console from starting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.model.problem import Unavailable
from weir.store.accounts import AccountStore, accounts_path


@contextmanager
def opened_accounts(database: Path) -> Iterator[AccountStore]:
    """The API makes the file: one that root made would not be the API's to write. Raises `Unavailable`."""
    path = accounts_path(database)
    if not path.exists():
        raise Unavailable("the API has not started yet; there are no accounts", code="store-missing")
    accounts = AccountStore.open(path)
    try:
        yield accounts
    finally:
        accounts.close()
