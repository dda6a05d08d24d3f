# SPDX-License-Identifier: Apache-2.0
"""Guessing passwords is slow from everywhere, and locks nobody out for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.people import ELSEWHERE, GOOD, HERE, OTHER, Clock, guess, sign_in
from tests.service.router import together
from weir.accounts import passwords, throttle
from weir.accounts.principal import Principal
from weir.model.problem import (
    Throttled,
    Unauthenticated,
)
from weir.service import Service


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


def blocked(service: Service, source: str) -> int:
    """Guess from there until it is refused; how long it is."""
    while guess(service, source=source) is Unauthenticated:
        pass
    with pytest.raises(Throttled) as caught:
        service.auth.sign_in("admin", GOOD, source)
    return caught.value.retry_after_s


def test_a_known_device_is_let_in_while_its_address_is_throttled(service: Service, admin: Principal) -> None:
    """Somebody behind the same NAT guessed, and the right person with the right password was kept out."""
    known = sign_in(service, source=HERE).device
    blocked(service, HERE)
    service.auth.sign_in("admin", GOOD, HERE, device=known)
    for stranger in ("", "made-up", known + "x"):
        with pytest.raises(Throttled):
            service.auth.sign_in("admin", GOOD, HERE, device=stranger)


def test_a_known_device_is_let_in_while_its_name_is_throttled(service: Service, admin: Principal) -> None:
    known = sign_in(service).device
    while guess(service, source="198.51.100.1") is Unauthenticated:
        pass
    number = 0
    while guess(service, source=f"198.51.{number % 250}.9") is Unauthenticated or number < throttle.NAME.free:
        number += 1
    service.auth.sign_in("admin", GOOD, ELSEWHERE, device=known)


def test_a_known_device_guesses_as_slowly_as_anybody(service: Service, admin: Principal) -> None:
    known = sign_in(service).device
    for _ in range(throttle.OWN.free + 1):
        with pytest.raises(Unauthenticated):
            service.auth.sign_in("admin", "wrong password", ELSEWHERE, device=known)
    with pytest.raises(Throttled):
        service.auth.sign_in("admin", GOOD, ELSEWHERE, device=known)


def test_a_device_is_known_for_its_user_until_the_password_changes(
    service: Service, admin: Principal, clock: Clock
) -> None:
    service.users.create(admin, "ops", "read", OTHER)
    known = sign_in(service).device
    while guess(service, "ops", HERE) is Unauthenticated:
        pass
    with pytest.raises(Throttled):
        service.auth.sign_in("ops", OTHER, HERE, device=known)
    clock.pass_s(3600)
    blocked(service, HERE)
    session = service.auth.sign_in("admin", GOOD, HERE, device=known)
    assert session.device == known
    service.auth.change_password(session.principal, GOOD, "some other sentence")
    with pytest.raises(Throttled):
        service.auth.sign_in("admin", "some other sentence", HERE, device=known)


def test_the_console_is_let_in_whatever_others_guess(service: Service, admin: Principal) -> None:
    for number in range(throttle.NAME.free + 2):
        guess(service, source=f"198.51.{number}.1")
    assert guess(service, source="198.51.0.2") is Throttled
    sign_in(service, source=throttle.CONSOLE)
    while guess(service, source=throttle.CONSOLE) is Unauthenticated:
        pass
    with pytest.raises(Throttled):
        sign_in(service, source=throttle.CONSOLE)


def test_who_is_signed_in_changes_the_password_while_the_address_is_throttled(
    service: Service, admin: Principal
) -> None:
    session = sign_in(service, source=HERE)
    blocked(service, HERE)
    service.auth.change_password(session.principal, GOOD, "some other sentence")


def test_who_is_kept_out_is_in_the_audit_trail_once_for_each_time(
    service: Service, admin: Principal, clock: Clock
) -> None:
    """Throttled tries left no entry; an entry for each try would push out all others."""

    def throttled() -> list[str]:
        found = service.audit.list(admin, limit=500)
        return [entry.detail for entry in found if entry.detail.startswith("throttled")]

    wait_s = blocked(service, ELSEWHERE)
    for _ in range(20):
        assert guess(service) is Throttled
    assert len(throttled()) == 1
    clock.pass_s(wait_s)
    wait_s = blocked(service, ELSEWHERE)
    assert throttled() == [f"throttled for {wait_s} s", "throttled for 1 s"]
    entry = service.audit.list(admin, limit=1)[0]
    assert (entry.action, entry.actor, entry.source, entry.outcome) == (
        "sign-in", "admin", ELSEWHERE, "refused",
    )  # fmt: skip
