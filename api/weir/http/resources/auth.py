# SPDX-License-Identifier: Apache-2.0
"""Signing in and out, and the sessions of the one who is signed in."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir.accounts.webauthn import KeyAnswer
from weir.http.answers import moment
from weir.http.context import accounts, context, me, service
from weir.http.endpoint import PUBLIC, SIGNED_IN, Resource, answer
from weir.http.resources.users import user_json
from weir.http.schemas import accounts as shapes
from weir.http.security import (
    DEVICE_COOKIE,
    MAX_SECRET_CHARS,
    SESSION_COOKIE,
    clear_session_cookie,
    origin,
    set_device_cookie,
    set_session_cookie,
)
from weir.model.problem import Forbidden

resource = Resource(
    "auth", "Sign in with a session cookie (browser) or send an API token as `Authorization: Bearer`."
)


@resource.operation(
    "POST", "/auth/sign-in", scope=PUBLIC, body=shapes.SignInInput, answers=shapes.SignInAnswer
)
def sign_in(body: dict[str, Any]) -> Response:
    """Start a session

    Sets the cookies `weir_session` and `weir_device`. After several failures the account and the origin have
    to wait (429); a browser that has signed in before shows its `weir_device` and does not wait for others.
    An account with a second factor is refused without `code` or `key` (`code-needed`, `key-needed`), which
    counts as no failure.
    """
    agent = request.headers.get("User-Agent", "")[:255]
    device = request.cookies.get(DEVICE_COOKIE, "")[:MAX_SECRET_CHARS]
    second = KeyAnswer(**body["key"]) if "key" in body else body.get("code", "")
    signed = accounts().auth.sign_in(body["username"], body["password"], origin(), agent, device, second)
    response = answer(
        {
            "user": user_json(accounts().auth.account(signed.principal)),
            "must_change_password": signed.must_change_password,
            "csrf_token": signed.csrf_token,
        }
    )
    set_session_cookie(response, signed.secret)
    set_device_cookie(response, signed.device)
    return response


@resource.operation(
    "POST", "/auth/ssh", scope=PUBLIC, body=shapes.SshSignInInput, answers=shapes.SshSignInAnswer
)
def sign_in_by_ssh(body: dict[str, Any]) -> Response:
    """Get the token of an SSH session

    For the router's own SSH server: a request that comes from elsewhere than the router itself is refused.
    """
    if origin() not in ("127.0.0.1", "::1", "local"):
        raise Forbidden("Sessions of SSH begin on the router itself.", code="not-local")
    token, secret = service().ssh.sign_in(body["ticket"], body["source"])
    return answer({"id": token.id, "secret": secret, "username": token.owner, "scope": token.scope})


@resource.operation("POST", "/auth/sign-out", scope=SIGNED_IN, status=204)
def sign_out() -> Response:
    """End this session"""
    accounts().auth.sign_out(me())
    response = answer(None, 204)
    clear_session_cookie(response)
    return response


@resource.operation("GET", "/auth/me", scope=SIGNED_IN, answers=shapes.Me)
def show_me() -> Response:
    """Who is signed in"""
    principal = me()
    secret = request.cookies.get(SESSION_COOKIE) if principal.via == "session" else None
    return answer(
        {
            "username": principal.username,
            "scope": principal.scope,
            "via": principal.via,
            "must_change_password": principal.must_change_password,
            "csrf_token": accounts().auth.csrf_token(secret) if secret else None,
        }
    )


@resource.operation("POST", "/auth/password", scope=SIGNED_IN, body=shapes.PasswordInput, status=204)
def change_password(body: dict[str, Any]) -> Response:
    """Change your password

    Your other sessions end.
    """
    accounts().auth.change_password(me(), body["old_password"], body["new_password"])
    return answer(None, 204)


@resource.operation("GET", "/auth/second-factor", scope=SIGNED_IN, answers=shapes.SecondFactor)
def get_second_factor() -> Response:
    """Whether you sign in with a second factor"""
    found = service().second_factor.get(me())
    since_ms, left = (None, 0) if found is None else (found.since_ms, found.recovery_codes)
    has_app = found is not None and found.secret is not None
    return answer({"since": moment(since_ms), "app": has_app, "recovery_codes_left": left})


@resource.operation("POST", "/auth/second-factor/offer", scope=SIGNED_IN, answers=shapes.SecondFactorOffer)
def offer_second_factor() -> Response:
    """Make a secret for an authenticator app

    Nothing changes until a code of the app is sent with it.
    """
    from weir.formats import qr  # Not before: who signs in needs no picture.

    name = context().stats.router.system_answer.get("hostname") or "router"
    offer = service().second_factor.offer(me(), f"Weir {name}")
    return answer({"secret": offer.secret, "uri": offer.uri, "qr_svg": qr.svg_of(offer.uri)})


@resource.operation(
    "PUT",
    "/auth/second-factor",
    scope=SIGNED_IN,
    body=shapes.SecondFactorInput,
    answers=shapes.RecoveryCodes,
)
def begin_second_factor(body: dict[str, Any]) -> Response:
    """Sign in with an authenticator app from now on

    Takes the offered secret and the code that the app shows for it. Your other sessions end.
    """
    codes = service().second_factor.begin(me(), body["password"], body["secret"], body["code"])
    return answer({"recovery_codes": codes})


@resource.operation(
    "POST", "/auth/second-factor/remove", scope=SIGNED_IN, body=shapes.PasswordProof, status=204
)
def remove_second_factor(body: dict[str, Any]) -> Response:
    """Remove the authenticator app

    Without security keys the password is enough from now on.
    """
    service().second_factor.remove(me(), body["password"])
    return answer(None, 204)


@resource.operation("GET", "/auth/sessions", scope=SIGNED_IN, answers=shapes.SessionList)
def list_sessions() -> Response:
    """Your sessions"""
    principal = me()
    sessions = accounts().auth.sessions(principal)[:1000]
    return answer(
        {
            "items": [
                {
                    "id": session.id,
                    "current": session.id == principal.credential_id,
                    "created_at": moment(session.created_at_ms),
                    "last_seen_at": moment(session.last_seen_at_ms),
                    "expires_at": moment(session.expires_at_ms),
                    "source": session.source,
                    "user_agent": session.user_agent,
                }
                for session in sessions
            ]
        }
    )


@resource.operation("DELETE", "/auth/sessions/<string(maxlength=64):session_id>", scope=SIGNED_IN, status=204)
def end_session(session_id: str) -> Response:
    """End one of your sessions"""
    accounts().auth.end_session(me(), session_id)
    return answer(None, 204)
