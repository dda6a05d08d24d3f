# SPDX-License-Identifier: Apache-2.0
"""Who may call what. Every request to the API passes `guard`; an undeclared operation is refused.

A browser signs in with the cookie `weir_session` (HttpOnly, SameSite=Strict) and repeats the token
of its session in X-CSRF-Token for unsafe methods. Programs send `Authorization: Bearer`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from flask import Flask, Request, Response, g, request
from werkzeug.exceptions import RequestEntityTooLarge

from weir.accounts.auth import DEVICE_MS
from weir.accounts.principal import Principal
from weir.http.caller import caller_of
from weir.http.context import accounts, settings
from weir.http.endpoint import PUBLIC, SIGNED_IN, Operation
from weir.http.problems import BadRequest, UnsupportedMediaType, render
from weir.http.serving import RECOGNISED, SMALL_BODY_BYTES
from weir.model.problem import Forbidden, Unauthenticated
from weir.model.scope import RANK

SESSION_COOKIE = "weir_session"
DEVICE_COOKIE = "weir_device"
SIGN_IN_PATH = "/api/v1/auth/sign-in"
API_PREFIX = "/api/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BEFORE_NEW_PASSWORD = frozenset({"auth.show_me", "auth.change_password", "auth.sign_out"})
MAX_SECRET_CHARS = 512

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def origin() -> str:
    """The address that the request came from, for throttling and the audit trail."""
    return request.remote_addr or "local"


def authenticate() -> Principal:
    """The principal of the request's credential. Raises Unauthenticated.

    The server is told whether the credential is good (`weir.http.serving.recognised`).
    """
    tell = request.environ.get(RECOGNISED, _nobody_asks)
    try:
        principal = _authenticate()
    except Unauthenticated:
        tell(False)
        raise
    tell(True)
    return principal


def _nobody_asks(_good: bool) -> None:
    """A server that has one queue for all."""


def credential_of(asked: Request) -> tuple[Literal["session", "token"], str]:
    """Of which kind a request's credential is, and its secret. Raises Unauthenticated."""
    header = asked.headers.get("Authorization")
    if header is not None:
        kind, _, secret = header.partition(" ")
        if kind.lower() != "bearer" or not 0 < len(secret) <= MAX_SECRET_CHARS:
            raise Unauthenticated("Authorization must be `Bearer` and an API token.")
        return "token", secret.strip()
    secret = asked.cookies.get(SESSION_COOKIE, "")
    if not 0 < len(secret) <= MAX_SECRET_CHARS:
        raise Unauthenticated("Sign in first, or send an API token.")
    return "session", secret


def _authenticate() -> Principal:
    via, secret = credential_of(request)
    if via == "token":
        return accounts().auth.authenticate_token(secret, origin())
    principal = accounts().auth.authenticate_session(secret, origin())
    if request.method not in SAFE_METHODS:
        accounts().auth.check_csrf(secret, request.headers.get("X-CSRF-Token", ""))
    return principal


def permits(scope: str, held: str) -> bool:
    """Whether a principal of scope `held` may call an operation of `scope`; unknown scopes are refused."""
    if scope == SIGNED_IN:
        return held in RANK
    return 0 < RANK.get(scope, 0) <= RANK.get(held, 0)


def guard(operations: dict[str, Operation]) -> None:
    """Refuse what may not be done. Runs before every request."""
    if not request.path.startswith(API_PREFIX) or request.url_rule is None:
        return
    if request.method == "OPTIONS":
        return
    operation = operations.get(request.endpoint or "")
    if operation is None:
        raise Forbidden("This operation declares no scope.", code="no-scope")
    refuse_foreign_origin()
    limit_body(operation)
    if operation.scope != PUBLIC:
        caller = caller_of(request.environ, settings().trusted_proxies)
        principal = g.principal = replace(authenticate(), caller=caller)
        if principal.must_change_password and request.endpoint not in _BEFORE_NEW_PASSWORD:
            raise Forbidden("Change your password first.", code="password-change-required")
        if not permits(operation.scope, principal.scope):
            raise Forbidden(f"This needs the scope {operation.scope!r}; yours is {principal.scope!r}.")
    check_body_type(operation)


def render_forbidden(problem: Forbidden) -> Response:
    """An answer, and a line in the audit trail where somebody who is signed in tried to change something."""
    by = g.get("principal")
    is_somebody = by is not None and permits(SIGNED_IN, by.scope) and not by.must_change_password
    if is_somebody and request.method not in SAFE_METHODS:
        accounts().audit.refuse(by, f"{request.method} {request.path}", problem.code, problem.message)
    return render(problem)


def refuse_foreign_origin() -> None:
    """An unsafe request that a browser sends for another site is refused, whatever its credential."""
    if request.method in SAFE_METHODS:
        return
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden("The request comes from another site.", code="cross-site")


def limit_body(operation: Operation) -> None:
    """A stranger's body is one that the server has collected already: no thread waits for it."""
    most = operation.max_body_bytes
    if operation.scope == PUBLIC:
        most = min(most, SMALL_BODY_BYTES)
        if request.headers.get("Transfer-Encoding"):
            raise BadRequest("The body needs a Content-Length.", code="length-required")
    request.max_content_length = most
    if request.content_length is not None and request.content_length > most:
        raise RequestEntityTooLarge(f"The body may have at most {most} bytes.")


def check_body_type(operation: Operation) -> None:
    if not operation.body_types or request.method in SAFE_METHODS:
        return
    if request.headers.get("Transfer-Encoding") and not request.environ.get("wsgi.input_terminated"):
        raise BadRequest("The body needs a Content-Length.", code="length-required")
    if not request.content_length and not request.environ.get("wsgi.input_terminated"):
        return
    if request.mimetype not in operation.body_types:
        wanted = " or ".join(operation.body_types)
        given = request.mimetype or "nothing"
        raise UnsupportedMediaType(f"The body must be {wanted}; its Content-Type says {given[:80]!r}.")


def add_headers(response: Response, path: str) -> Response:
    """What each answer has; `path` is what was asked for."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if path.startswith(API_PREFIX):
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def set_session_cookie(response: Response, secret: str) -> None:
    response.set_cookie(
        SESSION_COOKIE, secret, path="/", httponly=True, samesite="Strict", secure=request.is_secure
    )


def set_device_cookie(response: Response, secret: str) -> None:
    response.set_cookie(
        DEVICE_COOKIE,
        secret,
        max_age=DEVICE_MS // 1000,
        path=SIGN_IN_PATH,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )


def clear_session_cookie(response: Response) -> None:
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="Strict", secure=request.is_secure
    )


def protect(app: Flask, operations: dict[str, Operation]) -> None:
    app.before_request(lambda: guard(operations))
    app.register_error_handler(Forbidden, render_forbidden)
    app.after_request(lambda response: add_headers(response, request.path))
