# SPDX-License-Identifier: Apache-2.0
"""Security keys: what they open beside the password, and which answers are refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

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
    public_key,
    soft,
)
from weir.kinds.identity import Identity
from weir.model.document import Document
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Problem, Unauthenticated
from weir.service import Principal, Service, totp
from weir.service.challenges import LIFE_S, Challenges
from weir.service.security_keys import MAX_KEYS, SecurityKeyService
from weir.service.throttle import CONSOLE
from weir.service.webauthn import KeyAnswer, NewKey
from weir.signatures import EDDSA, ES256, RS256
from weir.store.account_rows import SecurityKey
from weir.store.accounts import AccountStore, accounts_path
from weir.store.carried import carry
from weir.store.database import ACCOUNTS, Database


@contextmanager
def named() -> Iterator[Document]:
    yield Document([Identity(hostname=HOST)])


@pytest.fixture
def passing() -> Passing:
    return Passing()


@pytest.fixture
def keys(service: Service, passing: Passing) -> SecurityKeyService:
    """Of a router that is called `HOST`."""
    service.auth._challenges = Challenges(passing)
    return SecurityKeyService(service.auth._store, service.auth._challenges, named)


def added(
    keys: SecurityKeyService, who: Principal, key: SoftKey, name: str = "blue", password: str = GOOD
) -> list[str]:
    """The recovery codes."""
    offer = keys.offer(who, password, "https", HOST)
    return keys.add(who, name, key.new(offer.challenge))[1]


def challenge(service: Service, origin: str = ORIGIN, name: str = "admin", password: str = GOOD) -> bytes:
    return service.auth.ask_key(name, password, origin, HERE).challenge


def opened(service: Service, answer: KeyAnswer, name: str = "admin", password: str = GOOD) -> Principal:
    return service.auth.sign_in(name, password, HERE, code=answer).principal


def refusal(service: Service, answer: KeyAnswer, name: str = "admin", password: str = GOOD) -> str:
    with pytest.raises(Unauthenticated) as caught:
        opened(service, answer, name, password)
    assert caught.value.code == "wrong-key"
    return caught.value.message


def trail(service: Service, admin: Principal) -> list[tuple[str, str, str]]:
    return [(entry.action, entry.outcome, entry.detail) for entry in service.audit.list(admin, None, 50)]


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


def sign_in_with(service: Service, key: SoftKey) -> Principal:
    return opened(service, key.answer(challenge(service)))


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
