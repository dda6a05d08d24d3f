# SPDX-License-Identifier: Apache-2.0
"""A second factor: its codes, what is refused without them, and the ways in for who lost the app."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.service.people import ELSEWHERE, GOOD, HERE, OTHER, Clock, guess, sign_in
from weir.accounts import totp
from weir.accounts.principal import Principal
from weir.accounts.throttle import CONSOLE
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Throttled, Unauthenticated
from weir.service import Service
from weir.store.accounts import AccountStore, accounts_path
from weir.store.carried import carry
from weir.store.database import ACCOUNTS, Database

RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
RFC_CODES = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
    20000000000: "353130",
}
"""RFC 6238, appendix B, the last six digits of the values for SHA-1."""


@pytest.mark.parametrize(("at_s", "code"), RFC_CODES.items())
def test_codes_are_those_of_the_standard(at_s: int, code: str) -> None:
    assert totp.code_at(RFC_SECRET, at_s // 30) == code
    assert totp.step_of(RFC_SECRET, code, at_s * 1000) == at_s // 30


@pytest.mark.parametrize(("late_s", "good"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_a_code_may_be_one_step_early_or_late(late_s: int, good: bool) -> None:
    at_s = 1_700_000_010
    found = totp.step_of(RFC_SECRET, totp.code_at(RFC_SECRET, at_s // 30), (at_s + late_s) * 1000)
    assert (found is not None) is good


def test_the_uri_is_what_apps_read() -> None:
    found = urlsplit(totp.uri(RFC_SECRET, "anna", "Weir edge-1"))
    assert (found.scheme, found.netloc, found.path) == ("otpauth", "totp", "/Weir%20edge-1%3Aanna")
    assert parse_qs(found.query) == {"secret": [RFC_SECRET], "issuer": ["Weir edge-1"]}


def code_now(secret: str, clock: Clock, later: int = 0) -> str:
    return totp.code_at(secret, clock.now_ms // 30_000 + later)


def begun(service: Service, who: Principal, clock: Clock, password: str = GOOD) -> tuple[str, list[str]]:
    """The secret and the recovery codes; the present code is used up."""
    secret = service.second_factor.offer(who, "Weir").secret
    codes = service.second_factor.begin(who, password, secret, code_now(secret, clock))
    clock.pass_s(30)
    return secret, codes


def with_code(service: Service, code: str, source: str = HERE) -> Principal:
    return service.auth.sign_in("admin", GOOD, source, code=code).principal


def refusal(service: Service, code: str, source: str = HERE) -> str:
    with pytest.raises(Unauthenticated) as caught:
        service.auth.sign_in("admin", GOOD, source, code=code)
    return caught.value.code


def trail(service: Service, admin: Principal) -> list[tuple[str, str, str]]:
    return [(entry.action, entry.outcome, entry.detail) for entry in service.audit.list(admin, None, 50)]


def test_from_then_on_the_password_is_not_enough(service: Service, admin: Principal, clock: Clock) -> None:
    elsewhere = sign_in(service, source=ELSEWHERE)
    secret, codes = begun(service, admin, clock)
    assert len(set(codes)) == 8
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(elsewhere.secret, ELSEWHERE)
    assert refusal(service, "") == "code-needed"
    assert refusal(service, "000000") == "wrong-code"
    assert with_code(service, code_now(secret, clock)).username == "admin"
    assert service.users.get(admin, "admin").second_factor_since_ms is not None
    told = trail(service, admin)
    assert ("second-factor.set", "ok", "") in told
    assert ("sign-in", "refused", "right password without a code") in told
    assert ("sign-in", "refused", "wrong code") in told
    assert not any(secret in detail or codes[0] in detail for _, _, detail in told)


def test_who_does_not_know_the_password_learns_nothing_of_it(
    service: Service, admin: Principal, clock: Clock
) -> None:
    secret, _ = begun(service, admin, clock)
    for code in ("", "000000", code_now(secret, clock)):
        with pytest.raises(Unauthenticated) as caught:
            service.auth.sign_in("admin", "wrong password", HERE, code=code)
        assert caught.value.code == "bad-credentials"
    assert with_code(service, code_now(secret, clock)), "a wrong password uses no code up"


def test_a_code_is_good_once(service: Service, admin: Principal, clock: Clock) -> None:
    secret, (first, *_others) = begun(service, admin, clock)
    newer = code_now(secret, clock, later=1)
    assert with_code(service, newer)
    assert refusal(service, newer) == "wrong-code"
    assert refusal(service, code_now(secret, clock)) == "wrong-code", "older than one that was used"
    assert with_code(service, f" {first.upper()} ")
    assert refusal(service, first) == "wrong-code"
    found = service.second_factor.get(admin)
    assert found is not None and found.recovery_codes == 7


def test_codes_cannot_be_guessed_between_passwords_without_one(
    service: Service, admin: Principal, clock: Clock
) -> None:
    begun(service, admin, clock)
    tried = 0
    with pytest.raises(Throttled):
        for number in range(100):
            assert refusal(service, f"{number:06}", ELSEWHERE) == "wrong-code"
            tried += 1
            assert refusal(service, "", ELSEWHERE) == "code-needed"
    assert tried <= 6


def test_asking_for_the_code_counts_as_no_failure(service: Service, admin: Principal, clock: Clock) -> None:
    secret, _ = begun(service, admin, clock)
    for _ in range(40):
        assert refusal(service, "") == "code-needed"
    assert with_code(service, code_now(secret, clock))


@pytest.mark.parametrize("late", [-3, 3])
def test_an_app_whose_clock_is_wrong_is_found_out_at_once(
    service: Service, admin: Principal, clock: Clock, late: int
) -> None:
    secret = service.second_factor.offer(admin, "Weir").secret
    with pytest.raises(Invalid, match="clocks"):
        service.second_factor.begin(admin, GOOD, secret, code_now(secret, clock, later=late))
    assert service.second_factor.get(admin) is None
    assert sign_in(service).principal.username == "admin"


def test_setting_and_removing_take_the_password(service: Service, admin: Principal, clock: Clock) -> None:
    secret = service.second_factor.offer(admin, "Weir").secret
    with pytest.raises(Forbidden) as caught:
        service.second_factor.begin(admin, OTHER, secret, code_now(secret, clock))
    assert caught.value.code == "wrong-password"
    begun(service, admin, clock)
    with pytest.raises(Conflict):
        begun(service, admin, clock)
    with pytest.raises(Forbidden):
        service.second_factor.remove(admin, OTHER)
    service.second_factor.remove(admin, GOOD)
    assert sign_in(service).principal.username == "admin"
    with pytest.raises(NotFound):
        service.second_factor.remove(admin, GOOD)
    with pytest.raises(Invalid, match="no secret"):
        service.second_factor.begin(admin, GOOD, "A" * 8, "000000")


def test_a_token_neither_needs_nor_changes_it(service: Service, admin: Principal, clock: Clock) -> None:
    begun(service, admin, clock)
    _, secret = service.tokens.create(admin, "billing", "admin")
    token = service.auth.authenticate_token(secret, HERE)
    for attempt in (
        lambda: service.second_factor.offer(token, "Weir"),
        lambda: service.second_factor.begin(token, GOOD, RFC_SECRET, "000000"),
        lambda: service.second_factor.remove(token, GOOD),
    ):
        with pytest.raises(Forbidden) as caught:
            attempt()
        assert caught.value.code == "session-needed"


def test_an_administrator_lets_in_who_lost_the_app(service: Service, admin: Principal, clock: Clock) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    otto = sign_in(service, "otto", OTHER)
    begun(service, otto.principal, clock, OTHER)
    with pytest.raises(Forbidden):
        service.second_factor.remove_of(otto.principal, "admin")
    service.second_factor.remove_of(admin, "otto")
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(otto.secret, HERE)
    assert sign_in(service, "otto", OTHER).principal.username == "otto"
    assert ("second-factor.remove", "ok", "") in trail(service, admin)


def test_the_console_asks_for_none(service: Service, admin: Principal, clock: Clock) -> None:
    begun(service, admin, clock)
    assert sign_in(service, source=CONSOLE).principal.username == "admin"


def test_a_deleted_user_s_second_factor_goes_too(service: Service, admin: Principal, clock: Clock) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    begun(service, sign_in(service, "otto", OTHER).principal, clock, OTHER)
    service.users.delete(admin, "otto")
    service.users.create(admin, "otto", "read", OTHER)
    assert sign_in(service, "otto", OTHER).principal.username == "otto"


def test_a_damaged_one_lets_nobody_in_until_it_is_removed(
    service: Service, admin: Principal, clock: Clock, tmp_path: Path
) -> None:
    service.users.create(admin, "otto", "read", OTHER)
    secret, codes = begun(service, sign_in(service, "otto", OTHER).principal, clock, OTHER)
    with closing(sqlite3.connect(accounts_path(tmp_path / "weir.db"))) as connection:
        connection.execute("UPDATE second_factor SET secret = ?", (RFC_SECRET,))
        connection.commit()
    for code in ("", code_now(RFC_SECRET, clock), code_now(secret, clock), codes[0]):
        with pytest.raises(Unauthenticated) as caught:
            service.auth.sign_in("otto", OTHER, HERE, code=code)
        assert caught.value.code == "bad-credentials"
    service.second_factor.remove_of(admin, "otto")
    clock.pass_s(60)
    assert sign_in(service, "otto", OTHER).principal.username == "otto"


def test_codes_used_while_the_file_could_not_be_written_stay_used(tmp_path: Path) -> None:
    """As a stand-in does: both begin alike, and what was used in the copy is taken to the file."""
    databases = [Database(tmp_path / name, ACCOUNTS, create=True) for name in ("file.db", "copy.db")]
    file, copy = (AccountStore(database) for database in databases)
    for store in (file, copy):
        with store.write() as writer:
            user = writer.add_user("admin", "hash", "admin", False, 1)
            writer.set_second_factor(user.id, RFC_SECRET, 5, 10, [b"one", b"two"])
    with copy.write() as writer:
        writer.use_step(1, 12)
        assert writer.take_recovery_code(1, b"one")
    carry(databases[1], databases[0])
    found = file.second_factor(1)
    assert found is not None and (found.last_step, found.recovery_codes) == (12, 1)
    with file.write() as writer:
        assert not writer.take_recovery_code(1, b"one") and writer.take_recovery_code(1, b"two")
    for store in (file, copy):
        store.close()


def test_guessing_is_throttled_as_ever(service: Service, admin: Principal, clock: Clock) -> None:
    begun(service, admin, clock)
    assert [guess(service) for _ in range(7)][-1] is Throttled


def test_codes_are_not_guessed_from_many_addresses(service: Service, admin: Principal, clock: Clock) -> None:
    """Who knows the password and has a thousand addresses is slowed down for the account."""
    begun(service, admin, clock)
    tried = 0
    with pytest.raises(Throttled):
        for number in range(100):
            assert refusal(service, f"{number:06}", f"198.51.100.{number}") == "wrong-code"
            tried += 1
    assert tried <= 11
    for number in range(200, 224):
        clock.pass_s(3600)
        assert refusal(service, f"{number:06}", f"203.0.113.{number - 200}") == "wrong-code"
        with pytest.raises(Throttled):
            with_code(service, "000000", ELSEWHERE)


def test_guesses_at_one_that_was_removed_do_not_count_for_the_next(
    service: Service, admin: Principal, clock: Clock
) -> None:
    begun(service, admin, clock)
    for number in range(18):
        clock.pass_s(64)
        assert refusal(service, f"{number:06}", f"198.51.100.{number}") == "wrong-code"
    service.second_factor.remove(admin, GOOD)
    secret, _ = begun(service, admin, clock)
    assert with_code(service, code_now(secret, clock), ELSEWHERE).username == "admin"


def test_guesses_keep_no_known_device_out(service: Service, admin: Principal, clock: Clock) -> None:
    device = sign_in(service).device
    secret, _ = begun(service, admin, clock)
    with pytest.raises(Throttled):
        for number in range(100):
            refusal(service, f"{number:06}", f"198.51.100.{number}")
    with pytest.raises(Throttled):
        with_code(service, code_now(secret, clock), HERE)
    signed = service.auth.sign_in("admin", GOOD, HERE, device=device, code=code_now(secret, clock))
    assert signed.principal.username == "admin"


@pytest.mark.parametrize("via", ["session", "token"])
def test_one_s_own_is_not_removed_without_the_password(
    service: Service, admin: Principal, clock: Clock, via: str
) -> None:
    """An open session or a leaked token of an administrator would be a way round it."""
    begun(service, admin, clock)
    _, secret = service.tokens.create(admin, "x", "admin")
    who = admin if via == "session" else service.auth.authenticate_token(secret, HERE)
    with pytest.raises(Forbidden) as caught:
        service.second_factor.remove_of(who, "Admin")
    assert caught.value.code == "own-second-factor"
    assert service.second_factor.get(admin) is not None
