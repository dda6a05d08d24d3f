# SPDX-License-Identifier: Apache-2.0
"""A scope, a date or a flag that changed on the disk is not obeyed: the user, session or token is refused
until somebody says again what is right."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.service.people import GOOD, HERE, HOUR_MS, OTHER, Clock, sign_in
from weir.accounts.principal import Principal
from weir.model.problem import Conflict, Unauthenticated
from weir.service import Service
from weir.store.accounts import AccountStore, accounts_path
from weir.store.database import MIGRATIONS

USER_CHANGES = {
    "scope": "UPDATE user SET scope = 'admin' WHERE username = 'otto'",
    "enabled": "UPDATE user SET disabled = 0 WHERE username = 'otto'",
    "password": "UPDATE user SET password_hash = (SELECT password_hash FROM user WHERE username = 'admin') "
    "WHERE username = 'otto'",
}


def change(folder: Path, statement: str) -> None:
    """As a disk would: nobody sums it."""
    with closing(sqlite3.connect(accounts_path(folder / "weir.db"))) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


def refused(service: Service, clock: Clock, password: str) -> bool:
    clock.pass_s(HOUR_MS / 1000)  # nobody is throttled by the try before
    try:
        sign_in(service, "otto", password)
    except Unauthenticated:
        return True
    return False


@pytest.mark.parametrize("statement", USER_CHANGES.values(), ids=USER_CHANGES)
def test_a_damaged_user_is_refused_until_scope_and_disabled_are_set_again(
    service: Service, admin: Principal, clock: Clock, tmp_path: Path, statement: str
) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    signed = sign_in(service, "otto", OTHER)
    service.users.update(admin, "otto", disabled="disabled" in statement)
    change(tmp_path, statement)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE)
    assert refused(service, clock, OTHER) and refused(service, clock, GOOD)
    assert "what is stored of the user is damaged" in {
        entry.detail for entry in service.audit.list(admin, None, 20)
    }
    with pytest.raises(Conflict, match="set both"):
        service.users.update(admin, "otto", disabled=False)
    one_time = service.users.reset_password(admin, "otto")
    assert refused(service, clock, one_time), "a new password says nothing of the scope"
    service.users.update(admin, "otto", "read", False)
    assert sign_in(service, "otto", one_time).principal.scope == "read"


def test_the_console_lets_a_damaged_administrator_in_again(
    service: Service, admin: Principal, tmp_path: Path
) -> None:
    change(tmp_path, "UPDATE user SET scope = 'read' WHERE username = 'admin'")
    one_time = service.users.reset_password(admin, "admin")
    service.users.update(admin, "admin", scope="admin", disabled=False)  # as ConsoleActions.reset_password
    assert sign_in(service, "admin", one_time).principal.scope == "admin"


def test_a_session_of_somebody_else_and_a_token_of_more_are_refused(
    service: Service, admin: Principal, tmp_path: Path
) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    signed = sign_in(service, "otto", OTHER)
    _, secret = service.tokens.create(admin, "billing", "read")
    assert service.auth.authenticate_token(secret, HERE).scope == "read"
    change(
        tmp_path,
        f"UPDATE session SET user_id = {admin.user_id} WHERE public_id = '{signed.principal.credential_id}'",
    )
    change(tmp_path, "UPDATE token SET scope = 'admin'")
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(secret, HERE)
    service.auth.authenticate_session(sign_in(service).secret, HERE)


def accounts_of_a_release_before(path: Path) -> None:
    """As they were before rows had sums."""
    with closing(sqlite3.connect(path)) as old:
        for number in (1, 2):
            old.executescript((MIGRATIONS / f"accounts-000{number}.sql").read_text(encoding="utf-8"))
        old.execute("INSERT INTO user VALUES (1, 'anna', 'hash', 'admin', 0, 0, 1, 1, NULL)")
        old.execute("INSERT INTO session VALUES (x'01', 'public', 1, 1, 1, 9, 'here', 'agent')")
        old.execute("PRAGMA user_version = 2")
        old.execute("PRAGMA application_id = 0x57656961")
        old.commit()


def test_accounts_of_a_release_before_get_their_sums(tmp_path: Path) -> None:
    path = tmp_path / "weir-accounts.db"
    accounts_of_a_release_before(path)
    store = AccountStore.open(path)
    assert store.is_intact(1)
    found = store.session(b"\x01")
    assert found is not None and found[1].username == "anna"
    store.close()


def test_accounts_of_a_release_before_take_the_scope_of_the_support_desk(tmp_path: Path) -> None:
    path = tmp_path / "weir-accounts.db"
    accounts_of_a_release_before(path)
    for _ in range(2):  # made new, and as it then is on the disk
        store = AccountStore.open(path)
        with store.write() as writer:
            writer.set_role(1, "support", disabled=False)
        found = store.session(b"\x01")
        assert found is not None and found[1].scope == "support"
        assert store.is_intact(1)
        with pytest.raises(sqlite3.IntegrityError), store.write() as writer:
            writer.set_role(1, "root", disabled=False)  # type: ignore[arg-type]
        store.close()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
