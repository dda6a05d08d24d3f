# SPDX-License-Identifier: Apache-2.0
"""Signing in, sessions, tokens, passwords, users: what holds, what ends, and what is never stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.router import together
from weir.model.problem import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from weir.service import Principal, Service, SignedIn, audit, auth, passwords, throttle
from weir.service.facade import accounts_path
from weir.store import ConfigStore
from weir.store.accounts import AccountStore

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"
GOOD, OTHER = "correct horse battery", "a rather long word 7"
HOUR_MS = 3600 * 1000


class Clock:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def pass_s(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(1_800_000_000_000)
    for module in ("weir.service.auth", "weir.service.users", "weir.service.audit"):
        monkeypatch.setattr(f"{module}.wall_ms", clock)
    return clock


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    service = Service.open(tmp_path / "weir.db", tmp_path / "nobody.sock")
    yield service
    service.close()


@pytest.fixture
def admin(service: Service) -> Principal:
    first = service.auth.bootstrap()
    assert first is not None
    signed = service.auth.sign_in("admin", first, HERE)
    service.auth.change_password(signed.principal, first, GOOD)
    return service.auth.authenticate_session(signed.secret, HERE)


def sign_in(service: Service, name: str = "admin", password: str = GOOD, source: str = HERE) -> SignedIn:
    return service.auth.sign_in(name, password, source)


# --- the first password ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "password", ["", "short", "a" * 300, "aaaaaaaaaaaa", "Password123", "my-ADMIN-password", "1212121212"]
)
def test_weak_passwords_are_refused_with_a_reason(service: Service, admin: Principal, password: str) -> None:
    with pytest.raises(Invalid) as caught:
        service.auth.change_password(admin, GOOD, password)
    assert caught.value.code == "weak-password"
    sign_in(service)


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


def test_an_api_token_cannot_change_the_password(service: Service, admin: Principal) -> None:
    _, secret = service.tokens.create(admin, "t", "admin")
    by = service.auth.authenticate_token(secret, HERE)
    with pytest.raises(Forbidden):
        service.auth.change_password(by, GOOD, GOOD + "!")


# --- sessions ----------------------------------------------------------------------------------------------


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
    for _ in range(auth.IDLE_MS // HOUR_MS - 1):
        clock.pass_s(3600)
        service.auth.authenticate_session(signed.secret, HERE, touch=False)
    clock.pass_s(3600)
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(signed.secret, HERE, touch=False)


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


# --- tokens ------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("weir.service.users.MAX_TOKENS_PER_USER", 1)
    service.tokens.create(admin, "x", "read")
    with pytest.raises(Conflict):
        service.tokens.create(admin, "y", "read")


def test_the_local_token_works_without_signing_in(service: Service, admin: Principal) -> None:
    secret = service.auth.issue_local_token("lab", "admin")
    assert service.auth.authenticate_token(secret, HERE).scope == "admin"


# --- users -------------------------------------------------------------------------------------------------


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


# --- the throttle ------------------------------------------------------------------------------------------


def guess(service: Service, name: str = "admin", source: str = ELSEWHERE) -> type[Problem]:
    try:
        service.auth.sign_in(name, "wrong password", source)
    except (Unauthenticated, Throttled) as problem:
        return type(problem)
    raise AssertionError("a wrong password let somebody in")


def test_guessing_is_slowed_down_more_and_more(service: Service, admin: Principal, clock: Clock) -> None:
    assert [guess(service) for _ in range(throttle.PAIR.free + 1)] == [Unauthenticated] * 6
    waits = []
    for _ in range(5):
        with pytest.raises(Throttled) as caught:
            service.auth.sign_in("admin", GOOD, ELSEWHERE)
        waits.append(caught.value.retry_after_s)
        clock.pass_s(caught.value.retry_after_s)
        assert guess(service) is Unauthenticated
    assert waits == [1, 2, 4, 8, 16]
    sign_in(service, source=HERE)
    clock.pass_s(1000)
    sign_in(service, source=ELSEWHERE)
    assert guess(service) is Unauthenticated, "success forgives the count"


def test_the_throttle_survives_a_restart(service: Service, admin: Principal, tmp_path: Path) -> None:
    while guess(service) is Unauthenticated:
        pass
    again = Service.open(tmp_path / "weir.db", tmp_path / "nobody.sock")
    assert guess(again) is Throttled
    again.close()


def test_guessing_many_names_from_one_network_is_slowed_down_too(service: Service, admin: Principal) -> None:
    tried = [guess(service, f"user{n}", f"2001:db8:1:2::{n:x}") for n in range(throttle.ADDRESS.free + 2)]
    assert tried[-1] is Throttled and tried[: throttle.ADDRESS.free] == [Unauthenticated] * 20
    assert guess(service, "user1", "2001:db8:1:3::1") is Unauthenticated


def test_guessing_one_name_from_everywhere_is_slowed_down_gently(
    service: Service, admin: Principal, clock: Clock
) -> None:
    results = [guess(service, source=f"198.51.{n}.1") for n in range(throttle.NAME.free + 2)]
    assert results[-1] is Throttled
    clock.pass_s(throttle.NAME.longest_s)
    sign_in(service)


def test_parallel_guesses_count_like_guesses_in_a_row(service: Service, admin: Principal) -> None:
    results = together(*(lambda: guess(service) for _ in range(12)))
    assert results.count(Throttled) >= 12 - (throttle.PAIR.free + 1)


def test_a_clock_set_back_does_not_lock_out_for_longer_than_the_rule(
    service: Service, admin: Principal, clock: Clock
) -> None:
    while guess(service) is Unauthenticated:
        pass
    clock.pass_s(-30 * 24 * 3600)
    clock.pass_s(throttle.PAIR.longest_s)
    with pytest.raises(Throttled) as caught:
        sign_in(service, source=ELSEWHERE)
    assert caught.value.retry_after_s <= throttle.PAIR.longest_s


def test_a_name_that_does_not_exist_is_treated_like_one_that_does(
    service: Service, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    verify = passwords.verify
    monkeypatch.setattr(
        passwords, "verify", lambda known, given: compared.append(known) or verify(known, given)
    )
    messages = set()
    for name in ("admin", "nobody"):
        with pytest.raises(Unauthenticated) as caught:
            service.auth.sign_in(name, "wrong password", HERE)
        messages.add((caught.value.message, caught.value.code))
    assert len(messages) == 1
    assert all(known.startswith("$argon2id$") for known in compared) and len(compared) == 2


@pytest.mark.parametrize("name", ["", "x" * 5000, "\ud800", "a\x00b", "'; DROP TABLE user; --"])
def test_any_name_and_password_get_the_same_refusal(service: Service, admin: Principal, name: str) -> None:
    for password in ("", "\ud800", "x" * 5000):
        with pytest.raises(Unauthenticated):
            service.auth.sign_in(name, password, ELSEWHERE)


# --- what is kept ------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("weir.store.accounts.MAX_AUDIT_ENTRIES", 5)
    monkeypatch.setattr("weir.store.accounts.AUDIT_PRUNE_STEP", 10)
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
