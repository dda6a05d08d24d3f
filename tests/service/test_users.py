# SPDX-License-Identifier: Apache-2.0
"""Accounts, and what is kept of them: never a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.people import ELSEWHERE, GOOD, HERE, OTHER, Clock, guess, sign_in
from weir.accounts import audit
from weir.accounts.principal import Principal
from weir.model.problem import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from weir.service import Service
from weir.store import ConfigStore
from weir.store.accounts import AccountStore, accounts_path


def test_users_are_created_changed_reset_and_deleted(service: Service, admin: Principal) -> None:
    user, one_time = service.users.create(admin, "otto", "write")
    assert one_time is not None and user.must_change_password
    signed = sign_in(service, "otto", one_time)
    assert signed.must_change_password
    assert service.users.get(signed.principal, "otto").username == "otto"
    with pytest.raises(Forbidden):
        service.users.get(signed.principal, "admin")
    new = service.users.reset_password(admin, "otto")
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE)
    assert sign_in(service, "otto", new).must_change_password
    service.users.update(admin, "otto", disabled=True)
    with pytest.raises(Unauthenticated):
        sign_in(service, "otto", new)
    service.users.delete(admin, "otto")
    with pytest.raises(NotFound):
        service.users.get(admin, "otto")


@pytest.mark.parametrize("name", ["", "Otto", "o tto", "-otto", "o" * 33, "ott\u00f6", "a/b", "a\n"])
def test_odd_user_names_are_refused(service: Service, admin: Principal, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        service.users.create(admin, name, "read")
    assert caught.value.code == "bad-username"


def test_names_are_taken_whatever_their_case(service: Service, admin: Principal) -> None:
    with pytest.raises(Conflict):
        service.users.create(admin, "admin", "read")
    assert sign_in(service, "ADMIN").principal.username == "admin"


def test_the_last_administrator_stays(service: Service, admin: Principal) -> None:
    for attempt in (
        lambda: service.users.delete(admin, "admin"),
        lambda: service.users.update(admin, "admin", scope="write"),
        lambda: service.users.update(admin, "admin", disabled=True),
    ):
        with pytest.raises(Conflict) as caught:
            attempt()
        assert caught.value.code == "last-admin"
    service.users.create(admin, "second", "admin", OTHER)
    service.users.update(admin, "admin", scope="write")


def test_no_secret_is_in_the_files_or_the_audit_trail(
    service: Service, admin: Principal, tmp_path: Path
) -> None:
    signed = sign_in(service)
    _, token = service.tokens.create(admin, "t", "read")
    _, one_time = service.users.create(admin, "otto", "read")
    guess(service, "admin")
    guess(service, OTHER)  # a password in the field of the name
    secrets = [GOOD, OTHER, signed.secret, signed.csrf_token, token, one_time or "?", "wrong password"]
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert not [secret for secret in secrets if secret.encode() in data], path


def test_the_audit_trail_tells_who_what_from_where_and_when(
    service: Service, admin: Principal, clock: Clock
) -> None:
    clock.pass_s(5)
    service.users.create(admin, "otto", "read")
    guess(service, "otto")
    refused, created, *_ = service.audit.list(admin)
    assert (created.actor, created.action, created.subject, created.source) == (
        "admin",
        "user.create",
        "otto",
        HERE,
    )
    assert created.at_ms == clock.now_ms
    assert (refused.action, refused.outcome, refused.source) == ("sign-in", "refused", ELSEWHERE)
    assert (refused.actor, created.at_ms) == ("otto", clock.now_ms)
    assert [entry.action for entry in service.audit.list(admin, text="OTTO")] == ["sign-in", "user.create"]
    assert service.audit.list(admin, before=created.id, limit=1)[0].id == created.id - 1


def test_an_audit_entry_is_one_clean_bounded_line() -> None:
    made = audit.entry("eve\nadmin", "none", "x" * 9999, "sign-in", "\x1b[2J\u202e", "refused")
    assert made.actor == "eve\N{REPLACEMENT CHARACTER}admin" and len(made.source) == audit.MAX_TEXT_CHARS
    assert made.subject.isprintable()


def test_old_audit_entries_make_room(
    service: Service, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir.store.account_writer.MAX_AUDIT_ENTRIES", 5)
    monkeypatch.setattr("weir.store.account_writer.AUDIT_PRUNE_STEP", 10)
    for number in range(30):
        service.audit.record(admin, "test", str(number))
    assert len(service.audit.list(admin, limit=1000)) < 16


def test_a_full_disk_does_not_stop_the_work_that_is_audited(
    service: Service, admin: Principal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_arguments: object, **_named: object) -> None:
        raise Unavailable("the disk is full", code="store-full")

    monkeypatch.setattr(AccountStore, "write", full)
    service.audit.record(admin, "test", "x")
    assert "not stored" in caplog.text


def test_accounts_are_not_in_the_file_that_the_agent_opens(
    service: Service, admin: Principal, tmp_path: Path
) -> None:
    assert accounts_path(tmp_path / "weir.db") == tmp_path / "weir-accounts.db"
    assert b"argon2id" not in (tmp_path / "weir.db").read_bytes()
    store = ConfigStore.open(tmp_path / "weir.db")
    with store.snapshot() as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert not tables & {"user", "session", "token"}
    store.close()
