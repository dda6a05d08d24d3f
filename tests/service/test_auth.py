# SPDX-License-Identifier: Apache-2.0
"""Passwords, sessions and tokens: what holds, and what ends when."""

from __future__ import annotations

from pathlib import Path

import pytest
from argon2 import PasswordHasher

from tests.service.people import ELSEWHERE, GOOD, HERE, HOUR_MS, OTHER, Clock, sign_in
from tests.service.router import together
from weir.accounts import auth, passwords
from weir.accounts.principal import Principal
from weir.model.problem import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    Unauthenticated,
)
from weir.service import Service
from weir.store.accounts import AccountStore


def test_the_first_administrator_gets_a_random_password_once(service: Service) -> None:
    password = service.auth.bootstrap()
    assert password is not None and len(password.replace("-", "")) == 20
    assert service.auth.bootstrap() is None


def test_racing_bootstraps_make_one_administrator(tmp_path: Path) -> None:
    accounts = AccountStore.open(tmp_path / "a.db")
    made = together(*(auth.AuthService(accounts).bootstrap for _ in range(4)))
    assert len([password for password in made if isinstance(password, str)]) == 1
    accounts.close()


def test_until_it_is_changed_nothing_else_is_possible(service: Service) -> None:
    first = service.auth.bootstrap()
    assert first is not None
    signed = service.auth.sign_in("admin", first, HERE)
    assert signed.must_change_password
    for attempt in (
        lambda: service.config.revision(signed.principal),
        lambda: service.users.list(signed.principal),
        lambda: service.tokens.create(signed.principal, "x", "read"),
    ):
        with pytest.raises(Forbidden) as caught:
            attempt()
        assert caught.value.code == "password-change-required"
    service.auth.change_password(signed.principal, first, GOOD)
    again = service.auth.authenticate_session(signed.secret, HERE)
    assert service.config.revision(again) == 0
    with pytest.raises(Unauthenticated):
        service.auth.sign_in("admin", first, HERE)


def test_passwords_are_hashed_with_argon2id_as_owasp_recommends(cheap_hashes: PasswordHasher) -> None:
    assert cheap_hashes.hash("x").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_a_hash_of_older_parameters_is_renewed_at_the_next_sign_in(
    service: Service, admin: Principal, cheap_hashes: PasswordHasher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "_HASHER", cheap_hashes)
    assert sign_in(service).principal.username == "admin"
    assert "m=19456" in service.users.get(admin, "admin").password_hash
    assert sign_in(service).principal.username == "admin"


@pytest.mark.parametrize(
    "password", ["", "short", "a" * 300, "aaaaaaaaaaaa", "Password123", "my-ADMIN-password", "1212121212"]
)
def test_weak_passwords_are_refused_with_a_reason(service: Service, admin: Principal, password: str) -> None:
    with pytest.raises(Invalid) as caught:
        service.auth.change_password(admin, GOOD, password)
    assert caught.value.code == "weak-password"
    sign_in(service)


@pytest.mark.parametrize(
    "password",
    [
        "12345678901", "1234567890", "0987654321", "qwertyuiop", "qwerty12345", "asdfghjkl1", "abcdefghij",
        "q1w2e3r4t5", "manchester", "Manchester1", "p@ssw0rd2024", "!!password!!", "dragondragon",
        "letmein1234", "mikrotik2026", "routeros!!!", "administrator", "changeme123", "1234554321",
        "passwordpassword",
    ],
)  # fmt: skip
def test_the_most_used_passwords_and_their_variations_are_refused(password: str) -> None:
    """12345678901 passed."""
    with pytest.raises(Invalid) as caught:
        passwords.check_rules(password, "ops")
    assert caught.value.code == "weak-password"


@pytest.mark.parametrize(
    "password",
    [
        GOOD,
        OTHER,
        "Tr0ub4dor&3xyz",
        "manchester rain 52",
        "horse8271940283",
        "dragon-eats-battery",
        "x7Kp2mQ9vL4t",
    ],
)
def test_passwords_that_nobody_tries_first_are_taken(password: str) -> None:
    passwords.check_rules(password, "ops")
    assert not any(passwords.is_easy(passwords.random_password()) for _ in range(100))


def test_changing_the_password_needs_the_old_one_and_ends_other_sessions(
    service: Service, admin: Principal
) -> None:
    other = sign_in(service)
    with pytest.raises(Forbidden) as caught:
        service.auth.change_password(admin, "wrong", GOOD + "!")
    assert caught.value.code == "wrong-password"
    with pytest.raises(Invalid):
        service.auth.change_password(admin, GOOD, GOOD)
    service.auth.change_password(admin, GOOD, GOOD + "!")
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(other.secret, HERE)
    assert [session.id for session in service.auth.sessions(admin)] == [admin.credential_id]


def test_weak_new_passwords_are_no_guesses_of_the_old_one(service: Service, admin: Principal) -> None:
    for _ in range(30):
        with pytest.raises(Invalid) as caught:
            service.auth.change_password(admin, GOOD, "short")
        assert caught.value.path == "new_password"
    service.auth.change_password(admin, GOOD, GOOD + "!")
    sign_in(service, "admin", GOOD + "!")


def test_an_api_token_cannot_change_the_password(service: Service, admin: Principal) -> None:
    _, secret = service.tokens.create(admin, "t", "admin")
    by = service.auth.authenticate_token(secret, HERE)
    with pytest.raises(Forbidden):
        service.auth.change_password(by, GOOD, GOOD + "!")


def test_a_session_ends_when_idle_and_in_any_case(service: Service, admin: Principal, clock: Clock) -> None:
    idle = sign_in(service)
    clock.pass_s(auth.IDLE_MS / 1000 - 1)
    service.auth.authenticate_session(idle.secret, HERE)
    clock.pass_s(auth.IDLE_MS / 1000)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(idle.secret, HERE)
    busy = sign_in(service)
    for _ in range(auth.ABSOLUTE_MS // (4 * HOUR_MS) - 1):
        clock.pass_s(4 * 3600)
        service.auth.authenticate_session(busy.secret, HERE)
    clock.pass_s(4 * 3600)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(busy.secret, HERE)


def test_looking_whether_a_session_is_good_does_not_keep_it_alive(
    service: Service, admin: Principal, clock: Clock
) -> None:
    signed = sign_in(service)
    credential = (signed.principal.via, signed.principal.credential_id)
    for _ in range(auth.IDLE_MS // HOUR_MS - 1):
        clock.pass_s(3600)
        assert service.auth.still_good(credential)
    clock.pass_s(3600)
    assert not service.auth.still_good(credential)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE)


def test_signing_out_ends_the_session_at_once(service: Service, admin: Principal) -> None:
    signed = sign_in(service)
    service.auth.sign_out(signed.principal)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE)


def test_a_session_of_ones_own_can_be_ended_and_nobody_elses(service: Service, admin: Principal) -> None:
    service.users.create(admin, "otto", "write", OTHER)
    ottos = sign_in(service, "otto", OTHER)
    with pytest.raises(NotFound):
        service.auth.end_session(admin, ottos.principal.credential_id)
    service.auth.end_session(ottos.principal, ottos.principal.credential_id)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(ottos.secret, HERE)


def test_old_sessions_make_room(
    service: Service, admin: Principal, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(auth, "MAX_SESSIONS", 3)
    secrets = []
    for _ in range(5):
        clock.pass_s(1)
        secrets.append(sign_in(service).secret)
    for secret in secrets[:2]:
        with pytest.raises(Unauthenticated):
            service.auth.authenticate_session(secret, HERE)
    for secret in secrets[2:]:
        service.auth.authenticate_session(secret, HERE)


def test_the_csrf_token_belongs_to_one_session(service: Service, admin: Principal) -> None:
    one, two = sign_in(service), sign_in(service)
    assert one.csrf_token == service.auth.csrf_token(one.secret) != two.csrf_token
    service.auth.check_csrf(one.secret, one.csrf_token)
    for wrong in ("", two.csrf_token, one.csrf_token + "x", "\ud800", "ü"):
        with pytest.raises(Forbidden):
            service.auth.check_csrf(one.secret, wrong)


@pytest.mark.parametrize("secret", ["", "x", "\ud800", "a" * 10_000, "' OR 1=1 --"])
def test_made_up_credentials_are_refused(service: Service, admin: Principal, secret: str) -> None:
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(secret, HERE)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(secret, HERE)


def test_a_session_secret_is_no_api_token_and_the_other_way_round(service: Service, admin: Principal) -> None:
    signed = sign_in(service)
    _, token = service.tokens.create(admin, "t", "read")
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(signed.secret, HERE)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(token, HERE)


def test_a_token_carries_its_scope_until_it_expires_or_is_revoked(
    service: Service, admin: Principal, clock: Clock
) -> None:
    token, secret = service.tokens.create(admin, "monitoring", "read", expires_in_s=100)
    by = service.auth.authenticate_token(secret, ELSEWHERE)
    assert (by.scope, by.via, by.username, by.source) == ("read", "token", "admin", ELSEWHERE)
    (listed,) = service.tokens.list(admin)
    assert (listed.id, listed.owner, listed.last_used_from) == (token.id, "admin", ELSEWHERE)
    with pytest.raises(Forbidden):
        service.users.list(by)
    clock.pass_s(100)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(secret, HERE)
    lasting, secret = service.tokens.create(admin, "script", "write")
    service.tokens.revoke(admin, lasting.id)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(secret, HERE)
    with pytest.raises(NotFound):
        service.tokens.revoke(admin, lasting.id)


def test_a_token_never_exceeds_its_owner(service: Service, admin: Principal) -> None:
    service.users.create(admin, "otto", "write", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    with pytest.raises(Forbidden):
        service.tokens.create(otto, "t", "admin")
    _, secret = service.tokens.create(otto, "t", "write")
    _, weak = service.tokens.create(otto, "r", "read")
    reader = service.auth.authenticate_token(weak, HERE)
    with pytest.raises(Forbidden):
        service.tokens.create(reader, "more", "write")
    service.users.update(admin, "otto", scope="read")
    assert service.auth.authenticate_token(secret, HERE).scope == "read"
    service.users.update(admin, "otto", disabled=True)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_token(secret, HERE)


def test_a_token_that_ends_makes_none_that_lasts_longer(
    service: Service, admin: Principal, clock: Clock
) -> None:
    _, secret = service.tokens.create(admin, "an hour", "write", 3600)
    by = service.auth.authenticate_token(secret, HERE)
    clock.pass_s(600)
    for expires_in_s in (None, 3600, 3001):
        with pytest.raises(Forbidden):
            service.tokens.create(by, "more", "read", expires_in_s)
    service.tokens.create(by, "less", "read", 3000)
    _, lasting = service.tokens.create(admin, "lasting", "write")
    service.tokens.create(service.auth.authenticate_token(lasting, HERE), "more", "read")


def test_a_reading_token_ends_neither_stronger_tokens_nor_sessions(
    service: Service, admin: Principal
) -> None:
    service.users.create(admin, "otto", "write", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    strong, strong_secret = service.tokens.create(otto, "strong", "write")
    weak, weak_secret = service.tokens.create(otto, "weak", "read")
    reader = service.auth.authenticate_token(weak_secret, HERE)
    with pytest.raises(Forbidden):
        service.tokens.revoke(reader, strong.id)
    with pytest.raises(Forbidden):
        service.auth.end_session(reader, otto.credential_id)
    service.auth.authenticate_token(strong_secret, HERE)
    service.tokens.revoke(reader, weak.id)
    service.auth.end_session(service.auth.authenticate_token(strong_secret, HERE), otto.credential_id)


def test_others_tokens_are_neither_seen_nor_revoked(service: Service, admin: Principal) -> None:
    service.users.create(admin, "otto", "write", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    token, _ = service.tokens.create(admin, "t", "read")
    assert service.tokens.list(otto) == []
    with pytest.raises(NotFound):
        service.tokens.revoke(otto, token.id)


def test_tokens_are_named_bounded_and_counted(
    service: Service, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, scope, expires in (
        ("", "read", None),
        ("x" * 99, "read", None),
        ("a\nb", "read", None),
        ("x", "root", 1),
        ("x", "read", 0),
    ):
        with pytest.raises(Problem):
            service.tokens.create(admin, name, scope, expires)  # type: ignore[arg-type]
    monkeypatch.setattr("weir.accounts.users.MAX_TOKENS_PER_USER", 1)
    service.tokens.create(admin, "x", "read")
    with pytest.raises(Conflict):
        service.tokens.create(admin, "y", "read")


def test_the_local_token_works_without_signing_in(service: Service, admin: Principal) -> None:
    secret = service.auth.issue_local_token("lab", "admin")
    assert service.auth.authenticate_token(secret, HERE).scope == "admin"


def test_the_hash_of_nobody_costs_what_a_new_one_costs(cheap_hashes: PasswordHasher) -> None:
    assert not cheap_hashes.check_needs_rehash(passwords.UNKNOWN_USER_HASH)
