# SPDX-License-Identifier: Apache-2.0
"""What somebody needs to sign in, opened before the configuration is."""

from __future__ import annotations

from pathlib import Path

from weir.accounts.audit import AuditService
from weir.accounts.auth import AuthService
from weir.accounts.challenges import Challenges
from weir.store.accounts import AccountStore, accounts_path


class Accounts:
    """The accounts of a router and their audit trail. Thread-safe; opened after forking, not before."""

    def __init__(self, store: AccountStore) -> None:
        self.store = store
        self.audit = AuditService(store)
        self.challenges = Challenges()
        self.auth = AuthService(store, self.challenges)

    @classmethod
    def open(cls, database: Path) -> Accounts:
        """Those beside this database. A file that cannot be used is left as it is: a copy in memory stands in
        (docs/adr/0110)."""
        return cls(AccountStore.steady(accounts_path(database)))

    def close(self) -> None:
        self.store.close()
