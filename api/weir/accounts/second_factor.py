# SPDX-License-Identifier: Apache-2.0
"""What an account signs in with beside its password: the code of an app, or a recovery code. Security keys
are `weir.accounts.security_keys`.

A code is good once (RFC 6238, section 5.2). Wrong ones count as wrong passwords do
(`weir.accounts.throttle`).
API tokens need none, and neither does the console: who stands at the router can take it away.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir.accounts import audit, passwords, throttle, totp
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.accounts.proof import need_session, prove_password
from weir.model.problem import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from weir.store.account_rows import SecondFactor
from weir.store.account_writer import AccountWriter
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms

RECOVERY_CODES = 8
WRONG_CODE = "the code is wrong, or it was used already; wait for the app's next one"


@dataclass(frozen=True, slots=True)
class Offer:
    """A secret that is kept nowhere until a code proves that an app has it."""

    secret: str
    uri: str


class SecondFactorService:
    """Each account's own."""

    def __init__(self, store: AccountStore) -> None:
        self._store = store

    @requires("self")
    def get(self, by: Principal) -> SecondFactor | None:
        return self._store.second_factor(by.user_id)

    @requires("self")
    def offer(self, by: Principal, issuer: str) -> Offer:
        """A new secret for an app; nothing changes yet. Raises `Forbidden` (`session-needed`)."""
        need_session(by)
        secret = totp.make_secret()
        return Offer(secret, totp.uri(secret, by.username, issuer))

    @requires("self")
    def begin(self, by: Principal, password: str, secret: str, code: str) -> list[str]:
        """Ask for a code from now on; the recovery codes, which are shown this once. Who has security keys
        has some already and gets none. Other sessions end.

        Raises `Forbidden` (`session-needed`, `wrong-password`), `Invalid` (`bad-secret`, `wrong-code`),
        `Conflict` (`second-factor-exists`), `Throttled`.
        """
        need_session(by)
        if not totp.is_secret(secret):
            raise Invalid("this is no secret that the router has made", code="bad-secret", path="secret")
        prove_password(self._store, by, password, "second-factor.set")
        now_ms = wall_ms()
        step = totp.step_of(secret, code.strip(), now_ms)
        if step is None:
            raise Invalid(
                "the code does not fit: type the one that the app shows now, and check the clocks of "
                "telephone and router",
                code="wrong-code",
                path="code",
            )
        with self._store.write() as writer:
            kept = writer.second_factor(by.user_id)
            if kept is not None and kept.secret is not None:
                raise Conflict(
                    "this account has an authenticator app; remove it first", code="second-factor-exists"
                )
            codes = begin_with_codes(writer, by.user_id, now_ms)
            writer.set_app(by.user_id, secret, step)
            writer.end_sessions(by.user_id, but=by.credential_id)
            audit.write(writer, audit.entry_of(by, "second-factor.set", by.username))
        return codes

    @requires("self")
    def remove(self, by: Principal, password: str) -> None:
        """Take the app away; without security keys the password is enough from now on. Raises `Forbidden`,
        `NotFound`, `Throttled`."""
        need_session(by)
        prove_password(self._store, by, password, "second-factor.remove")
        with self._store.write() as writer:
            if not writer.security_keys(by.user_id):
                _remove(writer, by, by.user_id, by.username)
                return
            kept = writer.second_factor(by.user_id)
            if kept is None or kept.secret is None:
                raise NotFound("you have no authenticator app", path="second-factor")
            writer.set_app(by.user_id, None, 0)
            throttle.forget_codes(writer, by.user_id)
            audit.write(writer, audit.entry_of(by, "second-factor.remove", by.username, detail="app"))

    @requires("users.manage")
    def remove_of(self, by: Principal, username: str) -> None:
        """For somebody else who has lost it: app, security keys and recovery codes go, and the user's
        sessions end. Raises `NotFound`, and `Forbidden` (`own-second-factor`) for one's own, which takes the
        password."""
        with self._store.write() as writer:
            user = writer.user(username)
            if user.id == by.user_id:
                raise Forbidden(
                    "remove your own second factor with your password, on the account's page",
                    code="own-second-factor",
                    path="username",
                )
            _remove(writer, by, user.id, user.username)
            writer.end_sessions(user.id)


def begin_with_codes(writer: AccountWriter, user_id: int, now_ms: int) -> list[str]:
    """See to it that the account has a second factor; the recovery codes of one that had none."""
    if writer.second_factor(user_id) is not None:
        return []
    codes = [passwords.random_password() for _ in range(RECOVERY_CODES)]
    writer.set_second_factor(user_id, None, now_ms, 0, [passwords.hash_secret(one) for one in codes])
    return codes


def take_code(writer: AccountWriter, user_id: int, code: str, now_ms: int) -> None:
    """Use up the code of an account that needs one. Raises `Unauthenticated` (`wrong-code`)."""
    kept = writer.second_factor(user_id)
    if kept is None:
        return
    typed = code.strip().lower()
    if writer.take_recovery_code(user_id, passwords.hash_secret(typed)):
        return
    step = None
    if kept.secret is not None:
        step = totp.step_of(kept.secret, typed.replace(" ", ""), now_ms, kept.last_step)
    if step is None:
        raise Unauthenticated(WRONG_CODE, code="wrong-code", path="code")
    writer.use_step(user_id, step)


def _remove(writer: AccountWriter, by: Principal, user_id: int, username: str) -> None:
    if not writer.remove_second_factor(user_id):
        raise NotFound(f"{username!r} has no second factor", path="second-factor")
    throttle.forget_codes(writer, user_id)
    audit.write(writer, audit.entry_of(by, "second-factor.remove", username))
