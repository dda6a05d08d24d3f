# SPDX-License-Identifier: Apache-2.0
"""Security keys and passkeys beside the password (docs/adr/0252): adding, naming and removing them, and what
they answer when somebody signs in.

A key answers only where it was added: the browser sees to that, and the origin that it signs is looked at.
"""

from __future__ import annotations

import builtins
import hashlib
import secrets
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from weir.accounts import audit, second_factor, throttle
from weir.accounts.challenges import SIGN_IN, Challenges
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.accounts.proof import need_session, prove_password
from weir.accounts.sites import site_of
from weir.accounts.webauthn import KeyAnswer, Known, NewKey, Site, Unfit, check_answer, check_new, is_next
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from weir.store.account_rows import SecurityKey, User
from weir.store.account_writer import AccountWriter
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms

MAX_KEYS = 16
"""Of one account."""


@dataclass(frozen=True, slots=True)
class KeyOffer:
    """What a browser needs to have a key made. `handle` is the account to the key: it tells nothing of it."""

    challenge: bytes
    site: Site
    handle: bytes
    exclude: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a browser needs to have one of these keys answer."""

    challenge: bytes
    rp_id: str
    credentials: Sequence[bytes]


class SecurityKeyService:
    """Each account's own, and others' for administrators. `names`: by which the router is itself."""

    def __init__(
        self,
        store: AccountStore,
        challenges: Challenges,
        names: Callable[[], Set[str]],
    ) -> None:
        self._store = store
        self._challenges = challenges
        self._names = names

    @requires("self")
    def list(self, by: Principal) -> builtins.list[SecurityKey]:
        """One's own, the oldest first."""
        return self._store.security_keys(by.user_id)

    @requires("self")
    def site(self, _by: Principal, scheme: str, host: str) -> Site:
        """Where a key that is added here would answer. Raises `Conflict` (`keys-not-offered`) with what to
        do."""
        return site_of(scheme, host, self._names())

    @requires("self")
    def offer(self, by: Principal, password: str, scheme: str, host: str) -> KeyOffer:
        """Begin to add one; nothing changes yet. Raises `Forbidden` (`session-needed`, `wrong-password`),
        `Conflict` (`keys-not-offered`, `too-many`), `Throttled`."""
        need_session(by)
        site = self.site(by, scheme, host)
        kept = self._store.security_keys(by.user_id)
        _refuse_many(kept)
        prove_password(self._store, by, password, "security-key.add")
        user = self._store.user_by_id(by.user_id)
        if user is None:
            raise NotFound("this account is gone", path="username")
        challenge = self._challenges.make(by.user_id, by.credential_id, site)
        exclude = [key.credential_id for key in kept if key.rp_id == site.rp_id]
        return KeyOffer(challenge, site, _handle_of(user), exclude)

    @requires("self")
    def add(self, by: Principal, name: str, new: NewKey) -> tuple[SecurityKey, builtins.list[str]]:
        """The key that answered an offer to this session. With an account's first second factor recovery
        codes come, which are shown this once, and its other sessions end.

        Raises `Forbidden` (`session-needed`), `Invalid` (`wrong-key`), `Conflict` (`exists`, `too-many`).
        """
        need_session(by)
        try:
            site = self._challenges.redeem(by.user_id, by.credential_id, new.client_data)
            count = check_new(new, site)
        except Unfit as unfit:
            raise Invalid(f"the key was not added: {unfit}", code="wrong-key") from unfit
        now_ms = wall_ms()
        key = SecurityKey(
            id=secrets.token_hex(8),
            user_id=by.user_id,
            name=name,
            credential_id=new.credential_id,
            public_key=new.public_key,
            algorithm=new.algorithm,
            origin=site.origin,
            rp_id=site.rp_id,
            created_at_ms=now_ms,
            sign_count=count,
            last_used_at_ms=None,
        )
        with self._store.write() as writer:
            _refuse_many(writer.security_keys(by.user_id))
            codes = second_factor.begin_with_codes(writer, by.user_id, now_ms)
            writer.add_security_key(key)
            if codes:
                writer.end_sessions(by.user_id, but=by.credential_id)
            audit.write(writer, audit.entry_of(by, "security-key.add", by.username, detail=_told(key)))
        return key, codes

    @requires("self")
    def rename(self, by: Principal, key_id: str, name: str) -> SecurityKey:
        """Raises `Forbidden` (`session-needed`), `NotFound`, `Conflict` (`exists`)."""
        need_session(by)
        with self._store.write() as writer:
            if not writer.rename_security_key(by.user_id, key_id, name):
                raise _unknown(key_id)
            key = next(key for key in writer.security_keys(by.user_id) if key.id == key_id)
            audit.write(writer, audit.entry_of(by, "security-key.rename", by.username, detail=_told(key)))
        return key

    @requires("self")
    def remove(self, by: Principal, password: str, key_id: str) -> None:
        """With the last one, where there is no app, the password is enough from now on. Raises `Forbidden`
        (`session-needed`, `wrong-password`), `NotFound`, `Throttled`."""
        need_session(by)
        prove_password(self._store, by, password, "security-key.remove")
        with self._store.write() as writer:
            _remove(writer, by, by.user_id, by.username, key_id)

    @requires("users.manage")
    def list_of(self, _by: Principal, username: str) -> builtins.list[SecurityKey]:
        """Raises `NotFound`."""
        user = self._store.user(username)
        if user is None:
            raise NotFound(f"there is no user {username[:64]!r}", path=f"users/{username[:64]}")
        return self._store.security_keys(user.id)

    @requires("users.manage")
    def remove_of(self, by: Principal, username: str, key_id: str) -> None:
        """One that somebody else has lost; the user's sessions end. Raises `NotFound`, and `Forbidden`
        (`own-security-key`) for one's own, which takes the password."""
        with self._store.write() as writer:
            user = writer.user(username)
            if user.id == by.user_id:
                raise Forbidden(
                    "remove your own security key with your password, on the account's page",
                    code="own-security-key",
                    path="username",
                )
            _remove(writer, by, user.id, user.username, key_id)
            writer.end_sessions(user.id)


def request_key(keys: Sequence[SecurityKey], challenges: Challenges, user_id: int, origin: str) -> KeyRequest:
    """For those of an account's keys that answer at `origin`. Raises `Conflict` (`no-key-here`)."""
    here = [key for key in keys if key.origin == origin]
    if not here:
        where = ", ".join(sorted({key.origin for key in keys}))
        text = (
            f"none of your keys answers at {origin}: they are for {where}"
            if keys
            else "you have no security key"
        )
        raise Conflict(f"{text}; open the router there, or type a code" if keys else text, code="no-key-here")
    site = Site(origin, here[0].rp_id)
    challenge = challenges.make(user_id, SIGN_IN, site)
    return KeyRequest(challenge, site.rp_id, [key.credential_id for key in here])


def take_key(
    writer: AccountWriter, challenges: Challenges, user_id: int, answer: KeyAnswer, now_ms: int
) -> None:
    """Let a key of the account answer for it. Raises `Unauthenticated` (`wrong-key`, or `key-went-back` where
    it has counted further before than it says now)."""
    try:
        site = challenges.redeem(user_id, SIGN_IN, answer.client_data)
        key = _key_of(writer, user_id, answer.credential_id)
        known = Known(Site(key.origin, key.rp_id), key.public_key, key.algorithm)
        if known.site != site:
            raise Unfit(f"it is for {key.origin}")
        count = check_answer(answer, known)
    except Unfit as unfit:
        text = f"the security key's answer is not taken: {unfit}"
        raise Unauthenticated(text, code="wrong-key", path="key") from unfit
    if not is_next(count, key.sign_count):
        text = (
            f"security key {key.name!r} is refused: it says {count} after {key.sign_count}, so there may be "
            "a copy of it. Sign in otherwise, and remove it"
        )
        raise Unauthenticated(text, code="key-went-back", path="key")
    writer.use_security_key(key.id, count, now_ms)


def _key_of(writer: AccountWriter, user_id: int, credential_id: bytes) -> SecurityKey:
    for key in writer.security_keys(user_id):
        if key.credential_id == credential_id:
            if not writer.is_key_intact(key.id):
                raise Unfit("what is stored of it is damaged: remove it and add it again")
            return key
    raise Unfit("it is no key of this account")


def _remove(writer: AccountWriter, by: Principal, user_id: int, username: str, key_id: str) -> None:
    key = next((key for key in writer.security_keys(user_id) if key.id == key_id), None)
    if key is None:
        raise _unknown(key_id)
    writer.remove_security_key(user_id, key_id)
    kept = writer.second_factor(user_id)
    if kept is not None and kept.secret is None and not writer.security_keys(user_id):
        writer.remove_second_factor(user_id)
        throttle.forget_codes(writer, user_id)
    audit.write(writer, audit.entry_of(by, "security-key.remove", username, detail=_told(key)))


def _refuse_many(keys: Sequence[SecurityKey]) -> None:
    if len(keys) >= MAX_KEYS:
        raise Conflict(f"you have {MAX_KEYS} security keys; remove one first", code="too-many")


def _unknown(key_id: str) -> NotFound:
    return NotFound("there is no such security key", path=f"security-keys/{key_id[:64]}")


def _told(key: SecurityKey) -> str:
    return f"{key.name} ({key.origin})"


def _handle_of(user: User) -> bytes:
    """The same each time, so that a key which keeps accounts has this one once."""
    return hashlib.sha256(f"weir account {user.id} {user.created_at_ms}".encode()).digest()[:16]
