# SPDX-License-Identifier: Apache-2.0
"""Security keys: who adds, names and removes them, beside what, and what becomes of damaged ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.service.people import GOOD, HERE, OTHER, Clock, sign_in
from tests.service.soft_key import (
    HOST,
    ORIGIN,
    public_key,
    soft,
)
from tests.service.with_keys import added, challenge, opened, refusal, sign_in_with, trail
from weir.accounts import totp
from weir.accounts.principal import Principal
from weir.accounts.security_keys import MAX_KEYS, SecurityKeyService
from weir.accounts.throttle import CONSOLE
from weir.accounts.webauthn import KeyAnswer, NewKey
from weir.model.problem import Conflict, Forbidden, NotFound, Problem, Unauthenticated
from weir.service import Service
from weir.signatures import ES256
from weir.store.account_rows import SecurityKey
from weir.store.accounts import AccountStore, accounts_path
from weir.store.carried import carry
from weir.store.database import ACCOUNTS, Database


def test_adding_and_removing_take_a_session_and_the_password(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    with pytest.raises(Forbidden) as caught:
        keys.offer(admin, OTHER, "https", HOST)
    assert caught.value.code == "wrong-password"
    added(keys, admin, soft())
    (key,) = keys.list(admin)
    with pytest.raises(Forbidden):
        keys.remove(admin, OTHER, key.id)
    _, secret = service.tokens.create(admin, "billing", "admin")
    token = service.auth.authenticate_token(secret, HERE)
    for attempt in (
        lambda: keys.offer(token, GOOD, "https", HOST),
        lambda: keys.add(token, "x", soft(number=1).new(b"x" * 32)),
        lambda: keys.rename(token, key.id, "x"),
        lambda: keys.remove(token, GOOD, key.id),
    ):
        with pytest.raises(Forbidden) as caught:
            attempt()
        assert caught.value.code == "session-needed"
    with pytest.raises(Forbidden) as caught:
        keys.remove_of(token, "admin", key.id)
    assert caught.value.code == "own-security-key"
    assert keys.rename(admin, key.id, "green").name == "green"
    keys.remove(admin, GOOD, key.id)
    assert sign_in(service), "without a key and an app the password is enough"
    assert service.second_factor.get(admin) is None
    for gone in (lambda: keys.remove(admin, GOOD, key.id), lambda: keys.rename(admin, key.id, "x")):
        with pytest.raises(NotFound):
            gone()
    actions = {action for action, outcome, _ in trail(service, admin) if outcome == "ok"}
    assert {"security-key.add", "security-key.rename", "security-key.remove"} <= actions


def test_nobody_names_or_removes_a_key_of_somebody_else(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    added(keys, admin, soft())
    (key,) = keys.list(admin)
    service.users.create(admin, "otto", "write", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    with pytest.raises(NotFound):
        keys.rename(otto, key.id, "x")
    with pytest.raises(NotFound):
        keys.remove(otto, OTHER, key.id)
    with pytest.raises(Forbidden):
        keys.list_of(otto, "admin")
    with pytest.raises(Forbidden):
        keys.remove_of(otto, "admin", key.id)
    assert keys.list(admin) == [key]


def test_an_app_and_keys_stand_beside_each_other(
    service: Service, keys: SecurityKeyService, admin: Principal, clock: Clock
) -> None:
    key = soft()
    codes = added(keys, admin, key)
    secret = service.second_factor.offer(admin, "Weir").secret

    def code(later: int = 0) -> str:
        return totp.code_at(secret, clock() // 30_000 + later)

    assert service.second_factor.begin(admin, GOOD, secret, code()) == [], "it has recovery codes already"
    assert service.auth.sign_in("admin", GOOD, HERE, code=code(1)).principal
    assert sign_in_with(service, key)
    service.second_factor.remove(admin, GOOD)
    clock.pass_s(60)
    for wrong in (code(), totp.code_at("", clock() // 30_000)):
        with pytest.raises(Unauthenticated) as caught:
            service.auth.sign_in("admin", GOOD, HERE, code=wrong)
        assert caught.value.code == "wrong-code"
    assert service.auth.sign_in("admin", GOOD, HERE, code=codes[0]).principal
    with pytest.raises(NotFound):
        service.second_factor.remove(admin, GOOD)
    secret = service.second_factor.offer(admin, "Weir").secret
    service.second_factor.begin(admin, GOOD, secret, code())
    keys.remove(admin, GOOD, keys.list(admin)[0].id)
    assert service.auth.sign_in("admin", GOOD, HERE, code=code(1)).principal
    with pytest.raises(Unauthenticated) as caught:
        sign_in(service)
    assert caught.value.code == "code-needed"


def test_an_administrator_lets_in_who_lost_the_key(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    for remove in ("one", "all"):
        otto = sign_in(service, "otto", OTHER)
        added(keys, otto.principal, soft(), password=OTHER)
        assert service.users.get(admin, "otto").security_keys == 1
        (key,) = keys.list_of(admin, "otto")
        if remove == "one":
            keys.remove_of(admin, "otto", key.id)
        else:
            service.second_factor.remove_of(admin, "otto")
        with pytest.raises(Unauthenticated):
            service.auth.authenticate_session(otto.secret, HERE)
        assert keys.list_of(admin, "otto") == []
        assert sign_in(service, "otto", OTHER).principal.username == "otto"


def test_the_console_asks_for_none(service: Service, keys: SecurityKeyService, admin: Principal) -> None:
    added(keys, admin, soft())
    assert sign_in(service, source=CONSOLE).principal.username == "admin"


def test_an_account_has_so_many_and_no_more(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    for number in range(MAX_KEYS):
        added(keys, admin, soft(), f"key {number}")
    with pytest.raises(Conflict) as caught:
        keys.offer(admin, GOOD, "https", HOST)
    assert caught.value.code == "too-many"


def test_a_damaged_key_opens_nothing_and_the_others_do(
    service: Service, keys: SecurityKeyService, admin: Principal, tmp_path: Path
) -> None:
    blue, green = soft(), soft(number=1)
    added(keys, admin, blue)
    added(keys, admin, green, "green")
    with closing(sqlite3.connect(accounts_path(tmp_path / "weir.db"))) as connection:
        connection.execute(
            "UPDATE security_key SET public_key = ? WHERE name = 'blue'", (public_key(green.private),)
        )
        connection.commit()
    forged = replace(green, credential_id=blue.credential_id)
    assert "damaged" in refusal(service, forged.answer(challenge(service)))
    assert any("security key blue of account admin" in str(item) for item in service.auth._store.verify())
    assert sign_in_with(service, green)


def test_counters_of_a_time_without_the_file_are_kept(tmp_path: Path) -> None:
    """As a stand-in does: what a key has counted in the copy is taken to the file."""
    databases = [Database(tmp_path / name, ACCOUNTS, create=True) for name in ("file.db", "copy.db")]
    file, copy = (AccountStore(database) for database in databases)
    for store in (file, copy):
        with store.write() as writer:
            user = writer.add_user("admin", "hash", "admin", False, 1)
            writer.set_second_factor(user.id, None, 5, 0, [])
            writer.add_security_key(
                SecurityKey("k1", user.id, "blue", b"id", b"key", ES256, ORIGIN, HOST, 5, 3, None)
            )
    with copy.write() as writer:
        writer.use_security_key("k1", 9, 7)
    carry(databases[1], databases[0])
    (found,) = file.security_keys(1)
    assert (found.sign_count, found.last_used_at_ms) == (9, 7)
    with file.write() as writer:
        assert writer.is_key_intact("k1")
    for store in (file, copy):
        store.close()


def test_every_refusal_is_a_problem(service: Service, keys: SecurityKeyService, admin: Principal) -> None:
    """Whatever a browser sends, the answer has a code and a sentence."""
    added(keys, admin, soft())
    for junk in (b"", b"\0" * 40, b"{}", b'{"challenge": 5, "type": [], "origin": {}}'):
        with pytest.raises(Problem):
            opened(service, KeyAnswer(junk, junk, junk, junk))
        with pytest.raises(Problem):
            keys.add(admin, "junk", NewKey(junk, junk, ES256, junk, junk))
