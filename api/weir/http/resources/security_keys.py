# SPDX-License-Identifier: Apache-2.0
"""Security keys and passkeys as second factors of accounts."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir import signatures
from weir.accounts.challenges import LIFE_S
from weir.accounts.webauthn import NewKey
from weir.http.answers import moment
from weir.http.context import me, service
from weir.http.endpoint import ADMIN, PUBLIC, SIGNED_IN, Resource, answer
from weir.http.resources.users import USER
from weir.http.schemas import accounts
from weir.http.schemas import security_keys as shapes
from weir.http.schemas.security_keys import bytes_text
from weir.http.security import DEVICE_COOKIE, MAX_SECRET_CHARS, origin
from weir.model.problem import Conflict
from weir.store.account_rows import SecurityKey

resource = Resource(
    "security-keys",
    "Security keys and passkeys beside the password (W3C Web Authentication). A key answers only at the "
    "address where it was added.",
)
OWN = "/auth/security-keys"
KEY = "/<string(maxlength=64):key_id>"
TIMEOUT_MS = LIFE_S * 1000


def key_json(key: SecurityKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "origin": key.origin,
        "created_at": moment(key.created_at_ms),
        "last_used_at": moment(key.last_used_at_ms),
    }


@resource.operation(
    "POST", "/auth/sign-in/key", scope=PUBLIC, body=shapes.KeyRequestInput, answers=shapes.KeyRequest
)
def request_key(body: dict[str, Any]) -> Response:
    """Ask one of the account's security keys

    Of an account that is refused with `key-needed`. What the key answers goes to `/auth/sign-in` as `key`,
    with the password again. A challenge is good once, for two minutes.
    """
    device = request.cookies.get(DEVICE_COOKIE, "")[:MAX_SECRET_CHARS]
    at = f"{request.scheme}://{request.host.lower()}"
    asked = service().auth.ask_key(body["username"], body["password"], at, origin(), device)
    return answer(
        {
            "challenge": bytes_text(asked.challenge),
            "rp_id": asked.rp_id,
            "credentials": [bytes_text(one) for one in asked.credentials],
            "timeout_ms": TIMEOUT_MS,
        }
    )


@resource.operation("GET", OWN, scope=SIGNED_IN, answers=shapes.OwnSecurityKeys)
def list_security_keys() -> Response:
    """Your security keys

    With where one that is added now would answer, or why none can be added where you have the router open.
    """
    here = why = None
    try:
        here = service().keys.site(me(), request.scheme, request.host).origin
    except Conflict as refused:
        why = refused.message
    found = [key_json(key) for key in service().keys.list(me())]
    return answer({"items": found, "origin": here, "not_offered": why})


@resource.operation(
    "POST", OWN + "/offer", scope=SIGNED_IN, body=accounts.PasswordProof, answers=shapes.KeyOffer
)
def offer_security_key(body: dict[str, Any]) -> Response:
    """Begin to add a security key

    Nothing changes until the key has answered.
    """
    offer = service().keys.offer(me(), body["password"], request.scheme, request.host)
    return answer(
        {
            "challenge": bytes_text(offer.challenge),
            "rp_id": offer.site.rp_id,
            "user_handle": bytes_text(offer.handle),
            "username": me().username,
            "algorithms": list(signatures.ALGORITHMS),
            "excluded": [bytes_text(one) for one in offer.exclude],
            "timeout_ms": TIMEOUT_MS,
        }
    )


@resource.operation(
    "POST", OWN, scope=SIGNED_IN, body=shapes.NewKeyInput, answers=shapes.KeyAdded, status=201
)
def add_security_key(body: dict[str, Any]) -> Response:
    """Add the security key that answered

    It is asked for from now on. With the account's first second factor come recovery codes, and your other
    sessions end.
    """
    name = body.pop("name")
    key, codes = service().keys.add(me(), name, NewKey(**body))
    return answer({"key": key_json(key), "recovery_codes": codes}, 201)


@resource.operation("PATCH", OWN + KEY, scope=SIGNED_IN, body=shapes.KeyName, answers=shapes.SecurityKey)
def rename_security_key(body: dict[str, Any], key_id: str) -> Response:
    """Rename one of your security keys"""
    return answer(key_json(service().keys.rename(me(), key_id, body["name"])))


@resource.operation("POST", OWN + KEY + "/remove", scope=SIGNED_IN, body=accounts.PasswordProof, status=204)
def remove_security_key(body: dict[str, Any], key_id: str) -> Response:
    """Remove one of your security keys

    With the last one, where there is no authenticator app, the password is enough from now on.
    """
    service().keys.remove(me(), body["password"], key_id)
    return answer(None, 204)


@resource.operation("GET", USER + "/security-keys", scope=ADMIN, answers=shapes.SecurityKeyList)
def list_security_keys_of(username: str) -> Response:
    """An account's security keys"""
    return answer({"items": [key_json(key) for key in service().keys.list_of(me(), username)]})


@resource.operation("DELETE", USER + "/security-keys" + KEY, scope=ADMIN, status=204)
def remove_security_key_of(username: str, key_id: str) -> Response:
    """Remove an account's security key

    One that somebody else has lost: the account's sessions end. With the last one, where there is no
    authenticator app, the password is enough.
    """
    service().keys.remove_of(me(), username, key_id)
    return answer(None, 204)
