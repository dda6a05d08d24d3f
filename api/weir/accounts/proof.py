# SPDX-License-Identifier: Apache-2.0
"""What changes how an account is signed in to takes its person: a session, and the password once more."""

from __future__ import annotations

from weir.accounts import audit, passwords, throttle
from weir.accounts.principal import Principal
from weir.model.problem import Forbidden
from weir.store.accounts import AccountStore
from weir.store.clock import wall_ms


def need_session(by: Principal) -> None:
    """Raises `Forbidden` (`session-needed`)."""
    if by.via != "session":
        raise Forbidden("only a signed-in person does this, not an API token", code="session-needed")


def prove_password(
    store: AccountStore, by: Principal, password: str, action: str, what: str = "password"
) -> None:
    """A session that somebody left open is not enough. Raises `Forbidden` (`wrong-password`), `Throttled`.

    `what` is the password's name in the request; the audit trail has a wrong one as a refused `action`.
    """
    own = f"session:{by.credential_id}"
    with store.write(passing=True) as writer:
        throttle.begin_attempt(writer, by.username, by.source, wall_ms(), own)
    user = store.user_by_id(by.user_id)
    is_right = user is not None and passwords.verify(user.password_hash, password)
    said = what.replace("_", " ")
    with store.write(passing=True) as writer:
        if is_right:
            throttle.succeeded(writer, by.username, by.source, own)
        else:
            audit.write(writer, audit.entry_of(by, action, by.username, "refused", f"wrong {said}"))
    if not is_right:
        raise Forbidden(f"the {said} is wrong", code="wrong-password", path=what)
