# SPDX-License-Identifier: Apache-2.0
"""Who is asking: signing in, sessions of browsers, API tokens.

Secrets are 256 random bits, kept as SHA-256: nothing in the file can be used to sign in, and a random
secret needs no slow hash.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import hmac
import secrets
from typing import Literal

from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Problem, Unauthenticated
from weir.service import audit, passwords, throttle
from weir.service.permissions import RANK, requires
from weir.service.values import Principal, SignedIn
from weir.store.accounts import AccountStore, Scope, Session, Token, User
from weir.store.clock import wall_ms

IDLE_MS = 8 * 3600 * 1000
ABSOLUTE_MS = 7 * 24 * 3600 * 1000
TOUCH_EVERY_MS = 60 * 1000
MAX_SESSIONS = 50
TOKEN_PREFIX = "weir_"
ADMIN = "admin"
UNKNOWN = "(unknown)"
"""In the audit trail for a name that nobody has: people type passwords into the wrong field."""
BAD_CREDENTIALS = "the user name or the password is wrong"


class AuthService:
    def __init__(self, store: AccountStore) -> None:
        self._store = store

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
        """A token of `admin` for whoever may write the database file anyway (lab, management command)."""
        with self._store.write() as writer:
            owner = writer.user(ADMIN)
            token, secret = make_token(owner, name, scope, expires_in_s)
            writer.add_token(token, hash_secret(secret))
            made = audit.entry("weir", "local", "", "token.create", token.id, detail=f"{name} ({scope})")
            audit.write(writer, made)
        return secret

    def sign_in(self, username: str, password: str, source: str, user_agent: str = "") -> SignedIn:
        """Raises `Unauthenticated` (the same for a wrong name and a wrong password), `Throttled`."""
        now_ms = wall_ms()
        username = username[:256].encode("utf-8", "replace").decode("utf-8")
        with self._store.write() as writer:
            throttle.begin_attempt(writer, username, source, now_ms)
        user = self._store.user(username)
        password_hash = user.password_hash if user is not None else passwords.UNKNOWN_USER_HASH
        right = passwords.verify(password_hash, password)
        if user is None or not right or user.disabled:
            reason = "disabled" if user is not None and right else "wrong name or password"
            name = UNKNOWN if user is None else user.username
            with self._store.write() as writer:
                failed = audit.entry(name, "none", source, "sign-in", name, "refused", reason)
                audit.write(writer, failed)
            raise Unauthenticated(BAD_CREDENTIALS, code="bad-credentials")
        return self._start_session(user, password, source, user_agent)

    def authenticate_session(self, secret: str, source: str, *, touch: bool = True) -> Principal:
        """Raises `Unauthenticated` for an unknown, idle or expired session or a disabled user.

        Without `touch` the session does not count as used (a stream that looks whether it may go on).
        """
        found = self._store.session(hash_secret(secret))
        now_ms = wall_ms()
        if found is None:
            raise Unauthenticated("sign in first", code="no-session")
        session, user = found
        if now_ms >= session.expires_at_ms or now_ms - session.last_seen_at_ms >= IDLE_MS or user.disabled:
            raise Unauthenticated("the session has ended; sign in again", code="session-ended")
        if touch and now_ms - session.last_seen_at_ms >= TOUCH_EVERY_MS:
            self._touch_session(session.secret_hash, now_ms)
        return _principal(user, user.scope, "session", session.id, source, session.created_at_ms)

    def authenticate_token(self, secret: str, source: str) -> Principal:
        """Raises `Unauthenticated` for an unknown, revoked or expired token or a disabled owner."""
        found = self._store.token(hash_secret(secret))
        now_ms = wall_ms()
        if found is None:
            raise Unauthenticated("this is no valid API token", code="bad-token")
        token, user = found
        if (token.expires_at_ms is not None and now_ms >= token.expires_at_ms) or user.disabled:
            raise Unauthenticated("the API token is no longer valid", code="bad-token")
        if token.last_used_at_ms is None or now_ms - token.last_used_at_ms >= TOUCH_EVERY_MS:
            self._touch_token(token.id, now_ms, source)
        return _principal(user, lower_of(token.scope, user.scope), "token", token.id, source, now_ms)

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
    def sign_out(self, by: Principal) -> None:
        """End the session that asks; for a token there is nothing to end."""
        if by.via == "session":
            with self._store.write() as writer:
                writer.end_session(by.user_id, by.credential_id)
                audit.write(writer, audit.entry_of(by, "sign-out", by.username))

    @requires("self")
    def change_password(self, by: Principal, old: str, new: str) -> None:
        """The caller's other sessions end. Raises `Forbidden` (`wrong-password`), `Invalid`
        (`weak-password`), `Throttled`; an API token may not (`Forbidden`)."""
        if by.via != "session":
            raise Forbidden("only a signed-in person changes a password", code="session-needed")
        # Before the attempt counts: a new password that is too short is no guess of the old one.
        passwords.check_rules(new, by.username, "new_password")
        if new == old:
            raise Invalid("the new password is the old one", code="weak-password", path="new_password")
        with self._store.write() as writer:
            throttle.begin_attempt(writer, by.username, by.source, wall_ms())
        user = self._store.user_by_id(by.user_id)
        if user is None or not passwords.verify(user.password_hash, old):
            with self._store.write() as writer:
                refused = audit.entry_of(by, "password.change", by.username, "refused", "wrong old password")
                audit.write(writer, refused)
            raise Forbidden("the old password is wrong", code="wrong-password", path="old_password")
        password_hash = passwords.hash_password(new)
        with self._store.write() as writer:
            throttle.succeeded(writer, by.username, by.source)
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
        with self._store.write() as writer:
            owner = writer.user(by.username)
            if RANK[by.scope] < RANK[owner.scope]:
                raise Forbidden(f"a token of scope {by.scope!r} does not end its owner's sessions")
            if not writer.end_session(by.user_id, session_id):
                raise NotFound("you have no such session", path=f"sessions/{session_id[:64]}")
            audit.write(writer, audit.entry_of(by, "session.end", session_id))

    def _start_session(self, user: User, password: str, source: str, user_agent: str) -> SignedIn:
        now_ms = wall_ms()
        secret = secrets.token_urlsafe(32)
        session = Session(
            id=secrets.token_hex(8),
            user_id=user.id,
            created_at_ms=now_ms,
            last_seen_at_ms=now_ms,
            expires_at_ms=now_ms + ABSOLUTE_MS,
            source=source,
            user_agent=user_agent[:255],
            secret_hash=hash_secret(secret),
        )
        outdated = passwords.is_outdated(user.password_hash)
        new_hash = passwords.hash_password(password) if outdated else ""
        principal = _principal(user, user.scope, "session", session.id, source, now_ms)
        with self._store.write() as writer:
            current = writer.user(user.username)
            if current.disabled or current.password_hash != user.password_hash:
                raise Unauthenticated(BAD_CREDENTIALS, code="bad-credentials")
            throttle.succeeded(writer, user.username, source)
            writer.drop_old_sessions(now_ms, now_ms - IDLE_MS)
            writer.add_session(session)
            writer.keep_newest_sessions(user.id, MAX_SESSIONS)
            writer.signed_in(user.id, now_ms)
            if outdated:
                writer.replace_hash(user.id, user.password_hash, new_hash)
            audit.write(writer, audit.entry_of(principal, "sign-in", user.username))
        csrf = self.csrf_token(secret)
        return SignedIn(principal, secret, csrf, user.must_change_password, session.expires_at_ms)

    def _touch_session(self, secret_hash: bytes, now_ms: int) -> None:
        try:
            with self._store.write(timeout_s=1.0, durable=False) as writer:
                writer.touch_session(secret_hash, now_ms)
        except Problem as problem:  # a full disk must not lock out who could free it
            audit.log.warning("session not touched: %s", problem)

    def _touch_token(self, token_id: str, now_ms: int, source: str) -> None:
        try:
            with self._store.write(timeout_s=1.0, durable=False) as writer:
                writer.touch_token(token_id, now_ms, source)
        except Problem as problem:
            audit.log.warning("token not touched: %s", problem)


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


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
