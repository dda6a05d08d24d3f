# SPDX-License-Identifier: Apache-2.0
"""Security keys: what they open beside the password, and which answers are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.service.people import ELSEWHERE, GOOD, HERE, OTHER, Clock, sign_in
from tests.service.soft_key import (
    BACKED_UP,
    ELIGIBLE,
    HOST,
    ORIGIN,
    PRESENT,
    VERIFIED,
    Passing,
    SoftKey,
    soft,
)
from tests.service.with_keys import added, challenge, opened, refusal, sign_in_with, trail
from weir.accounts.challenges import LIFE_S
from weir.accounts.principal import Principal
from weir.accounts.security_keys import SecurityKeyService
from weir.accounts.webauthn import KeyAnswer
from weir.model.problem import Conflict, Invalid, Unauthenticated
from weir.service import Service
from weir.signatures import EDDSA, ES256, RS256


@pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
def test_from_then_on_password_and_key_are_needed(
    service: Service, keys: SecurityKeyService, admin: Principal, clock: Clock, algorithm: int
) -> None:
    elsewhere = sign_in(service, source=ELSEWHERE)
    key = soft(algorithm)
    codes = added(keys, admin, key)
    assert len(set(codes)) == 8
    with pytest.raises(Unauthenticated):
        service.auth.authenticate_session(elsewhere.secret, ELSEWHERE)
    with pytest.raises(Unauthenticated) as caught:
        sign_in(service)
    assert caught.value.code == "key-needed"
    clock.pass_s(60)
    assert opened(service, key.answer(challenge(service))).username == "admin"
    (found,) = keys.list(admin)
    assert (found.name, found.origin, found.rp_id, found.sign_count) == ("blue", ORIGIN, HOST, 1)
    assert found.last_used_at_ms == clock() and found.created_at_ms == clock() - 60_000
    assert service.auth.sign_in("admin", GOOD, HERE, code=codes[0]), "a recovery code does, too"
    told = trail(service, admin)
    assert ("security-key.add", "ok", f"blue ({ORIGIN})") in told
    assert ("sign-in", "refused", "right password; a security key is asked for") in told
    assert not any(codes[0] in detail for _, _, detail in told)


def test_a_key_without_the_password_opens_nothing(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    key = soft()
    added(keys, admin, key)
    answer = key.answer(challenge(service))
    for attempt in (
        lambda: service.auth.sign_in("admin", "wrong password", HERE, code=answer),
        lambda: service.auth.ask_key("admin", "wrong password", ORIGIN, HERE),
        lambda: service.auth.ask_key("nobody", GOOD, ORIGIN, HERE),
    ):
        with pytest.raises(Unauthenticated) as caught:
            attempt()
        assert caught.value.code == "bad-credentials"


def test_an_answer_is_good_once(service: Service, keys: SecurityKeyService, admin: Principal) -> None:
    key = soft()
    added(keys, admin, key)
    answer = key.answer(challenge(service))
    assert opened(service, answer)
    assert "used already" in refusal(service, answer)


def test_an_answer_that_was_refused_uses_its_challenge_up(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    key = soft()
    added(keys, admin, key)
    good = key.answer(challenge(service))
    assert "signature" in refusal(service, replace(good, signature=b"no"))
    assert "used already" in refusal(service, good)


def test_an_answer_that_comes_late_is_refused(
    service: Service, keys: SecurityKeyService, admin: Principal, passing: Passing
) -> None:
    key = soft()
    added(keys, admin, key)
    answers = [key.answer(challenge(service)) for _ in range(2)]
    passing.now_s += LIFE_S - 1
    assert opened(service, answers[0])
    passing.now_s += 1
    assert "too late" in refusal(service, answers[1])
    offer = keys.offer(admin, GOOD, "https", HOST)
    passing.now_s += LIFE_S
    with pytest.raises(Invalid, match="too late"):
        keys.add(admin, "late", soft(number=1).new(offer.challenge))


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        f"https://evil.{HOST}",
        f"https://{HOST}.evil.example",
        f"https://{HOST}:8443",
        f"http://{HOST}",
        "https://example.net",
        f"https://{HOST.upper()}",
        f"{ORIGIN}/",
        "null",
    ],
)
def test_what_was_signed_elsewhere_is_refused(
    service: Service, keys: SecurityKeyService, admin: Principal, origin: str
) -> None:
    """Who has a page in between and passes everything on gets nothing: the browser signs where it is."""
    key = soft()
    added(keys, admin, key)
    assert f"not at {ORIGIN}" in refusal(service, key.at(origin).answer(challenge(service)))
    with pytest.raises(Invalid, match=f"not at {ORIGIN}"):
        added(keys, admin, soft(number=1).at(origin), "other")


@pytest.mark.parametrize("rp_id", ["example.net", "net", "evil.example", HOST.upper(), "", "localhost"])
def test_what_a_key_signs_for_another_name_is_refused(
    service: Service, keys: SecurityKeyService, admin: Principal, rp_id: str
) -> None:
    key = soft()
    added(keys, admin, key)
    lying = replace(key, rp_id=rp_id)
    assert "another name" in refusal(service, lying.answer(challenge(service)))
    with pytest.raises(Invalid, match="another name"):
        added(keys, admin, replace(soft(number=1), rp_id=rp_id), "other")


def test_a_key_is_asked_only_where_it_was_added(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    """The host of a request is the asker's to choose; it decides only what is asked for."""
    added(keys, admin, soft())
    for origin in ("https://evil.example", f"https://{HOST}:8443", "https://192.0.2.1"):
        with pytest.raises(Conflict, match=f"they are for {ORIGIN};") as caught:
            challenge(service, origin)
        assert caught.value.code == "no-key-here"


def test_a_key_of_another_account_is_refused(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    mine, theirs = soft(), soft(number=1)
    added(keys, admin, mine)
    service.users.create(admin, "otto", "read", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    added(keys, otto, theirs, password=OTHER)
    assert "no key of this account" in refusal(service, theirs.answer(challenge(service)))
    swapped = replace(theirs, credential_id=mine.credential_id)
    assert "signature" in refusal(service, swapped.answer(challenge(service)))
    foreign = challenge(service, name="otto", password=OTHER)
    assert "used already" in refusal(service, mine.answer(foreign))
    assert opened(service, theirs.answer(foreign), "otto", OTHER).username == "otto"


def test_a_key_is_added_once_for_everybody(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    key = soft()
    added(keys, admin, key)
    service.users.create(admin, "otto", "read", OTHER)
    otto = sign_in(service, "otto", OTHER).principal
    for who, password in ((admin, GOOD), (otto, OTHER)):
        with pytest.raises(Conflict, match="added already"):
            added(keys, who, key, "again", password)
    assert sign_in(service, "otto", OTHER), "no second factor came of it"
    with pytest.raises(Conflict, match="'BLUE' already"):
        added(keys, admin, soft(number=1), "BLUE")


def test_a_challenge_is_for_what_it_was_made_for(
    service: Service, keys: SecurityKeyService, admin: Principal
) -> None:
    key = soft()
    added(keys, admin, key)
    to_add = keys.offer(admin, GOOD, "https", HOST).challenge
    assert "used already" in refusal(service, key.answer(to_add))
    to_sign_in = challenge(service)
    with pytest.raises(Invalid, match="used already"):
        keys.add(admin, "other", soft(number=1).new(to_sign_in))
    other = sign_in_with(service, key)
    offer = keys.offer(admin, GOOD, "https", HOST)
    with pytest.raises(Invalid, match="used already"):
        keys.add(other, "other", soft(number=1).new(offer.challenge))
    assert "asked for something else" in refusal(
        service, key.answer(challenge(service), kind="webauthn.create")
    )
    assert "another page" in refusal(service, key.answer(challenge(service), crossOrigin=True))


@pytest.mark.parametrize(
    ("flags", "taken"),
    [
        (PRESENT, True),
        (PRESENT | VERIFIED, True),
        (PRESENT | ELIGIBLE | BACKED_UP, True),
        (0, False),
        (VERIFIED, False),
        (PRESENT | BACKED_UP, False),
    ],
)
def test_somebody_has_to_touch_it(
    service: Service, keys: SecurityKeyService, admin: Principal, flags: int, taken: bool
) -> None:
    key = soft()
    added(keys, admin, key)
    answer = replace(key, flags=flags).answer(challenge(service))
    if taken:
        assert opened(service, answer)
    else:
        refusal(service, answer)
        with pytest.raises(Invalid):
            added(keys, admin, replace(soft(number=1), flags=flags), "other")


@pytest.mark.parametrize(
    ("before", "now", "taken"), [(0, 0, True), (5, 6, True), (5, 5, False), (5, 0, False)]
)
def test_a_counter_that_goes_back_is_refused_and_told(
    service: Service, keys: SecurityKeyService, admin: Principal, before: int, now: int, taken: bool
) -> None:
    key = soft()
    key.count = before
    added(keys, admin, key)
    key.count = now - 1 if now else 0
    answer = key.answer(challenge(service)) if now else uncounted(key, challenge(service))
    if taken:
        assert opened(service, answer)
        return
    with pytest.raises(Unauthenticated, match="a copy of it") as caught:
        opened(service, answer)
    assert caught.value.code == "key-went-back"
    told = [detail for action, outcome, detail in trail(service, admin) if outcome == "refused"]
    assert any(f"it says {now} after {before}" in detail for detail in told)
    assert keys.list(admin)[0].sign_count == before


def uncounted(key: SoftKey, asked: bytes) -> KeyAnswer:
    key.count = -1
    return key.answer(asked)
