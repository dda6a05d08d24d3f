# SPDX-License-Identifier: Apache-2.0
"""Who is asking: signing in, sessions of browsers, API tokens.

Secrets are 256 random bits, kept as SHA-256: nothing in the file can be used to sign in, and a random
secret needs no slow hash.
"""

from __future__ import annotations

import base64
import builtins
import hmac
import secrets
from collections.abc import Hashable
from dataclasses import replace
from typing import Literal

from weir.accounts import audit, passwords, throttle
from weir.accounts.challenges import Challenges
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal, SignedIn
from weir.accounts.proof import need_session, prove_password
from weir.accounts.second_factor import take_code
from weir.accounts.security_keys import KeyRequest, request_key, take_key
from weir.accounts.webauthn import KeyAnswer
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Problem, Throttled, Unauthenticated
from weir.model.scope import RANK, Scope
from weir.store.account_rows import Session, Token, User
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms

IDLE_MS = 8 * 3600 * 1000
ABSOLUTE_MS = 7 * 24 * 3600 * 1000
TOUCH_EVERY_MS = 60 * 1000
MAX_SESSIONS = 50
TOKEN_PREFIX = "weir_"
ADMIN = "admin"
UNKNOWN = "(unknown)"
"""In the audit trail for a name that nobody has: people type passwords into the wrong field."""
DEVICE_MS = 180 * 24 * 3600 * 1000
MAX_DEVICES = 20
BAD_CREDENTIALS = "the user name or the password is wrong"


class AuthService:
    def __init__(self, store: AccountStore, challenges: Challenges | None = None) -> None:
        self._store = store
        self._challenges = challenges or Challenges()
        self._told = throttle.Told()

    def bootstrap(self) -> str | None:
        """Create `admin` with a random password that must be changed; None when there is a user already."""
        password = passwords.random_password()
        password_hash = passwords.hash_password(password)
        with self._store.write() as writer:
            if writer.users_exist():
                return None
            writer.add_user(ADMIN, password_hash, "admin", True, wall_ms())
            audit.write(writer, audit.entry("weir", "local", "", "user.bootstrap", ADMIN))
        return password

    def unclaimed(self) -> bool:
        """Whether there is no account yet."""
        return not self._store.users()

    def claim(self, password: str, source: str) -> None:
        """The first account, `admin`, with this password. Raises `Invalid` (`weak-password`), `Conflict`
        (`setup-done`)."""
        passwords.check_rules(password, ADMIN)
        password_hash = passwords.hash_password(password)
        with self._store.write() as writer:
            if writer.users_exist():
                raise Conflict("this router has been set up already; sign in", code="setup-done")
            writer.add_user(ADMIN, password_hash, "admin", False, wall_ms())
            audit.write(writer, audit.entry(ADMIN, "none", source, "user.setup", ADMIN))

    def issue_local_token(self, name: str, scope: Scope, expires_in_s: int | None = None) -> str:
        """A token of `admin` for those who may write the database anyway (lab, management command)."""
        with self._store.write() as writer:
            owner = writer.user(ADMIN)
            token, secret = make_token(owner, name, scope, expires_in_s)
            writer.add_token(token, passwords.hash_secret(secret))
            made = audit.entry("weir", "local", "", "token.create", token.id, detail=f"{name} ({scope})")
            audit.write(writer, made)
        return secret

    def sign_in(
        self,
        username: str,
        password: str,
        source: str,
        user_agent: str = "",
        device: str = "",
        code: str | KeyAnswer = "",
    ) -> SignedIn:
        """Raises `Unauthenticated` (the same for a wrong name and a wrong password; `code-needed`,
        `key-needed`, `wrong-code`, `wrong-key` and `key-went-back` only to who knows the password),
        `Throttled`.

        `device` is the secret that an earlier sign-in gave this browser: what others do at its address or
        to its user's name does not keep it out. `code` is the second factor of an account that has one.
        """
        user, own = self._prove(username, password, source, device)
        if needs_code(user, source):
            self._begin_code(user, source, own, code)
        try:
            return self._start_session(user, password, source, user_agent, device if own else "", own, code)
        except Unauthenticated as refused:
            if refused.code != "bad-credentials":
                reason = "wrong code" if refused.code == "wrong-code" else refused.message
                self._tell_refused(user.username, source, reason)
            raise

    def ask_key(self, username: str, password: str, origin: str, source: str, device: str = "") -> KeyRequest:
        """What one of the account's security keys signs for the next `sign_in`, from a browser that has the
        router open at `origin`. Raises `Unauthenticated` and `Throttled` as that does, and `Conflict`
        (`no-key-here`)."""
        user, own = self._prove(username, password, source, device)
        with self._store.write(passing=True) as writer:
            throttle.taken_back(writer, user.username, source, own)
        self._tell_refused(user.username, source, "right password; a security key is asked for")
        return request_key(self._store.security_keys(user.id), self._challenges, user.id, origin)

    def _prove(self, username: str, password: str, source: str, device: str) -> tuple[User, str | None]:
        """Whose name and password these are, and what the attempt is counted as, when it is alone."""
        username = username[:256].encode("utf-8", "replace").decode("utf-8")
        own = self._begin_attempt(username, source, device)
        user = self._store.user(username)
        password_hash = user.password_hash if user is not None else passwords.UNKNOWN_USER_HASH
        right = passwords.verify(password_hash, password)
        damaged = user is not None and not self._store.is_intact(user.id)
        if user is None or not right or user.disabled or damaged:
            reason = "disabled" if user is not None and right else "wrong name or password"
            reason = "what is stored of the user is damaged" if damaged else reason
            self._tell_refused(UNKNOWN if user is None else user.username, source, reason)
            raise Unauthenticated(BAD_CREDENTIALS, code="bad-credentials")
        return user, own

    def _begin_code(self, user: User, source: str, own: str | None, code: str | KeyAnswer) -> None:
        """Without a code the attempt is no guess, and forgives none. A guess counts for the account, from
        wherever it comes, unless it is a known device's; nobody guesses what a key signs. Raises
        `Unauthenticated` (`code-needed`, `key-needed`), `Throttled`."""
        try:
            with self._store.write(passing=True) as writer:
                if not code:
                    throttle.taken_back(writer, user.username, source, own)
                elif own is None and isinstance(code, str):
                    throttle.begin_code(writer, user.id, wall_ms())
        except Throttled as refused:
            self._tell_throttled(user.username, source, ("code", user.id), refused)
            raise
        if not code:
            self._tell_refused(user.username, source, "right password without a code")
            if user.security_keys:
                text = "this account needs one of its security keys, or a code, too"
                raise Unauthenticated(text, code="key-needed")
            raise Unauthenticated(
                "this account needs the code of its authenticator app, too", code="code-needed"
            )

    def _tell_refused(self, name: str, source: str, reason: str, *, durable: bool = True) -> None:
        with self._store.write(durable=durable, passing=True) as writer:
            audit.write(writer, audit.entry(name, "none", source, "sign-in", name, "refused", reason))

    def _tell_throttled(self, name: str, source: str, what: Hashable, refused: Throttled) -> None:
        """Once for each time that somebody is kept out."""
        until_s = wall_ms() // 1000 + refused.retry_after_s
        if self._told.first((name, throttle.network_of(source), what), until_s):
            self._tell_refused(name, source, f"throttled for {refused.retry_after_s} s", durable=False)

    def _begin_attempt(self, username: str, source: str, device: str) -> str | None:
        """What the attempt is counted as, when it is alone. Raises `Throttled`, which the audit trail tells
        once for each time that somebody is kept out: not how often they try meanwhile."""
        now_ms = wall_ms()
        secret_hash = passwords.hash_secret(device)
        own = None
        try:
            with self._store.write(passing=True) as writer:
                if device and writer.is_device_of(secret_hash, username, now_ms - DEVICE_MS):
                    own = f"device:{secret_hash.hex()}"
                throttle.begin_attempt(writer, username, source, now_ms, own)
        except Throttled as refused:
            name = UNKNOWN if self._store.user(username) is None else username
            self._tell_throttled(name, source, own, refused)
            raise
        return own

    def authenticate_session(self, secret: str, source: str) -> Principal:
        """Raises `Unauthenticated` for an unknown, idle or expired session or a disabled user."""
        found = self._store.session(passwords.hash_secret(secret))
        now_ms = wall_ms()
        if found is None:
            raise Unauthenticated("sign in first", code="no-session")
        session, user = found
        if not _session_is_good(session, user, now_ms):
            raise Unauthenticated("the session has ended; sign in again", code="session-ended")
        if now_ms - session.last_seen_at_ms >= TOUCH_EVERY_MS:
            self._touch_session(session.secret_hash, now_ms)
        return _principal(user, user.scope, "session", session.id, source, session.created_at_ms)

    def authenticate_token(self, secret: str, source: str) -> Principal:
        """Raises `Unauthenticated` for an unknown, revoked or expired token or a disabled owner."""
        held = self._store.token(passwords.hash_secret(secret))
        now_ms = wall_ms()
        if held is None:
            raise Unauthenticated("this is no valid API token", code="bad-token")
        token, user = held
        if not _token_is_good(token, user, now_ms):
            raise Unauthenticated("the API token is no longer valid", code="bad-token")
        if token.last_used_at_ms is None or now_ms - token.last_used_at_ms >= TOUCH_EVERY_MS:
            self._touch_token(token.id, now_ms, source)
        found = _principal(user, lower_of(token.scope, user.scope), "token", token.id, source, now_ms)
        return replace(found, credential_name=token.name)

    def is_good(self, via: Literal["session", "token"], secret: str) -> bool:
        """Whether this is the secret of a credential that is good now; looking does not count as using it."""
        digest = passwords.hash_secret(secret)
        return _is_good(self._store.session(digest) if via == "session" else self._store.token(digest))

    def still_good(self, credential: tuple[str, str]) -> bool:
        """Whether a principal's (`via`, `credential_id`) is good now, for a request that goes on for long.

        Looking does not count as using it. A store that cannot be read says no.
        """
        via, public_id = credential
        try:
            by_id = self._store.session_by_id if via == "session" else self._store.token_by_id
            return _is_good(by_id(public_id))
        except Problem as problem:
            audit.log.warning("credential of a stream not checked: %s", problem)
            return False

    def csrf_token(self, secret: str) -> str:
        """Follows from the session's secret, which scripts cannot read."""
        digest = hmac.digest(secret.encode("utf-8", "surrogatepass"), b"weir csrf", "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")

    def check_csrf(self, secret: str, header: str) -> None:
        """Raises `Forbidden` unless the header is the token of this session."""
        expected = self.csrf_token(secret).encode("ascii")
        if not hmac.compare_digest(expected, header.encode("utf-8", "surrogatepass")):
            raise Forbidden("the X-CSRF-Token header does not fit the session", code="csrf")

    @requires("self")
    def account(self, by: Principal) -> User:
        """One's own. Raises `NotFound` when it was removed meanwhile."""
        found = self._store.user_by_id(by.user_id)
        if found is None:
            raise NotFound("this account is gone", path="username")
        return found

    @requires("self")
    def sign_out(self, by: Principal) -> None:
        """End the session that asks; for a token there is nothing to end."""
        if by.via == "session":
            with self._store.write(passing=True) as writer:
                writer.end_session(by.user_id, by.credential_id)
                audit.write(writer, audit.entry_of(by, "sign-out", by.username))

    @requires("self")
    def change_password(self, by: Principal, old: str, new: str) -> None:
        """The caller's other sessions end. Raises `Forbidden` (`wrong-password`), `Invalid`
        (`weak-password`), `Throttled`; an API token may not (`Forbidden`)."""
        need_session(by)
        # Before the attempt counts: a new password that is too short is no guess of the old one.
        passwords.check_rules(new, by.username, "new_password")
        if new == old:
            raise Invalid("the new password is the old one", code="weak-password", path="new_password")
        prove_password(self._store, by, old, "password.change", "old_password")
        password_hash = passwords.hash_password(new)
        with self._store.write() as writer:
            writer.set_password(by.user_id, password_hash, False, wall_ms())
            writer.end_sessions(by.user_id, but=by.credential_id)
            audit.write(writer, audit.entry_of(by, "password.change", by.username))

    @requires("self")
    def sessions(self, by: Principal) -> builtins.list[Session]:
        """The caller's own, newest first."""
        return self._store.sessions(by.user_id)

    @requires("self")
    def end_session(self, by: Principal, session_id: str) -> None:
        """One of the caller's own. Raises `NotFound`, `Forbidden` for a token below its owner's scope."""
        with self._store.write(passing=True) as writer:
            owner = writer.user(by.username)
            if RANK[by.scope] < RANK[owner.scope]:
                raise Forbidden(f"a token of scope {by.scope!r} does not end its owner's sessions")
            if not writer.end_session(by.user_id, session_id):
                raise NotFound("you have no such session", path=f"sessions/{session_id[:64]}")
            audit.write(writer, audit.entry_of(by, "session.end", session_id))

    def _start_session(
        self,
        user: User,
        password: str,
        source: str,
        user_agent: str,
        device: str,
        own: str | None,
        code: str | KeyAnswer,
    ) -> SignedIn:
        now_ms = wall_ms()
        device = device or secrets.token_urlsafe(32)
        secret = secrets.token_urlsafe(32)
        session = Session(
            id=secrets.token_hex(8),
            user_id=user.id,
            created_at_ms=now_ms,
            last_seen_at_ms=now_ms,
            expires_at_ms=now_ms + ABSOLUTE_MS,
            source=source,
            user_agent=user_agent[:255],
            secret_hash=passwords.hash_secret(secret),
        )
        outdated = passwords.is_outdated(user.password_hash)
        new_hash = passwords.hash_password(password) if outdated else ""
        principal = _principal(user, user.scope, "session", session.id, source, now_ms)
        with self._store.write(passing=True) as writer:
            current = writer.user(user.username)
            if current.disabled or current.password_hash != user.password_hash:
                raise Unauthenticated(BAD_CREDENTIALS, code="bad-credentials")
            if needs_code(current, source):
                if isinstance(code, KeyAnswer):
                    take_key(writer, self._challenges, user.id, code, now_ms)
                else:
                    take_code(writer, user.id, code, now_ms)
                throttle.forget_codes(writer, user.id)
            throttle.succeeded(writer, user.username, source, own)
            writer.use_device(passwords.hash_secret(device), user.id, now_ms, MAX_DEVICES)
            writer.drop_old_sessions(now_ms, now_ms - IDLE_MS)
            writer.add_session(session)
            writer.keep_newest_sessions(user.id, MAX_SESSIONS)
            writer.signed_in(user.id, now_ms)
            if outdated:
                writer.replace_hash(user.id, user.password_hash, new_hash)
            audit.write(writer, audit.entry_of(principal, "sign-in", user.username))
        csrf = self.csrf_token(secret)
        return SignedIn(principal, secret, csrf, user.must_change_password, session.expires_at_ms, device)

    def _touch_session(self, secret_hash: bytes, now_ms: int) -> None:
        try:
            with self._store.write(timeout_s=1.0, durable=False, passing=True) as writer:
                writer.touch_session(secret_hash, now_ms)
        except Problem as problem:  # a full disk must not lock out who could free it
            audit.log.warning("session not touched: %s", problem)

    def _touch_token(self, token_id: str, now_ms: int, source: str) -> None:
        try:
            with self._store.write(timeout_s=1.0, durable=False, passing=True) as writer:
                writer.touch_token(token_id, now_ms, source)
        except Problem as problem:
            audit.log.warning("token not touched: %s", problem)


def needs_code(user: User, source: str) -> bool:
    """Not at the console: who stands there could take the second factor away."""
    return user.second_factor_since_ms is not None and source != throttle.CONSOLE


def make_token(owner: User, name: str, scope: Scope, expires_in_s: int | None) -> tuple[Token, str]:
    """A new token of `owner` and its secret, which is not kept."""
    now_ms = wall_ms()
    token = Token(
        id=secrets.token_hex(8),
        user_id=owner.id,
        name=name,
        scope=scope,
        created_at_ms=now_ms,
        expires_at_ms=None if expires_in_s is None else now_ms + expires_in_s * 1000,
        last_used_at_ms=None,
        last_used_from="",
        owner=owner.username,
    )
    return token, TOKEN_PREFIX + secrets.token_urlsafe(32)


def _session_is_good(session: Session, user: User, now_ms: int) -> bool:
    idle = now_ms - session.last_seen_at_ms >= IDLE_MS
    return now_ms < session.expires_at_ms and not idle and not user.disabled


def _token_is_good(token: Token, user: User, now_ms: int) -> bool:
    return (token.expires_at_ms is None or now_ms < token.expires_at_ms) and not user.disabled


def _is_good(held: tuple[Session | Token, User] | None) -> bool:
    """Whether a credential that was looked up is there and good now."""
    if held is None:
        return False
    credential, user = held
    if isinstance(credential, Session):
        return _session_is_good(credential, user, wall_ms())
    return _token_is_good(credential, user, wall_ms())


def lower_of(a: Scope, b: Scope) -> Scope:
    return a if RANK[a] <= RANK[b] else b


def _principal(
    user: User,
    scope: Scope,
    via: Literal["session", "token"],
    credential_id: str,
    source: str,
    authenticated_at_ms: int,
) -> Principal:
    return Principal(
        user_id=user.id,
        username=user.username,
        scope=scope,
        via=via,
        credential_id=credential_id,
        source=source,
        authenticated_at_ms=authenticated_at_ms,
        must_change_password=user.must_change_password and via == "session",
    )
