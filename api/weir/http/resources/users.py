# SPDX-License-Identifier: Apache-2.0
"""Users, API tokens: who may do what."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import moment, page_of
from weir.http.context import me, service
from weir.http.endpoint import ADMIN, SIGNED_IN, Resource, answer
from weir.http.schemas import accounts
from weir.http.schemas.paging import Page
from weir.store.account_rows import Token, User

resource = Resource(
    "users",
    "Accounts and API tokens. Each of the scopes read, support, write and admin includes those before it.",
)
USER = "/users/<string(maxlength=64):username>"


def user_json(user: User) -> dict[str, Any]:
    return {
        "username": user.username,
        "scope": user.scope,
        "disabled": user.disabled,
        "must_change_password": user.must_change_password,
        "created_at": moment(user.created_at_ms),
        "last_sign_in_at": moment(user.last_sign_in_at_ms),
        "second_factor_since": moment(user.second_factor_since_ms),
        "security_keys": user.security_keys,
    }


def token_json(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "owner": token.owner,
        "created_at": moment(token.created_at_ms),
        "expires_at": moment(token.expires_at_ms),
        "last_used_at": moment(token.last_used_at_ms),
    }


@resource.operation("GET", "/users", scope=ADMIN, query=Page, answers=accounts.UserPage)
def list_users(query: dict[str, Any]) -> Response:
    """List the accounts"""
    return answer(page_of(service().users.list(me()), user_json, query))


@resource.operation(
    "POST", "/users", scope=ADMIN, body=accounts.UserCreateInput, answers=accounts.UserCreated, status=201
)
def create_user(body: dict[str, Any]) -> Response:
    """Create an account

    Without a password a one-time password is answered, which must be changed at the first sign-in.
    """
    user, one_time = service().users.create(me(), body["username"], body["scope"], body["password"])
    return answer({"user": user_json(user), "one_time_password": one_time}, 201)


@resource.operation("GET", USER, scope=ADMIN, answers=accounts.User)
def get_user(username: str) -> Response:
    """Show an account"""
    return answer(user_json(service().users.get(me(), username)))


@resource.operation("PATCH", USER, scope=ADMIN, body=accounts.UserPatch, answers=accounts.User)
def update_user(body: dict[str, Any], username: str) -> Response:
    """Change an account's scope, or disable it

    A disabled account's sessions and tokens stop working at once.
    """
    user = service().users.update(me(), username, scope=body.get("scope"), disabled=body.get("disabled"))
    return answer(user_json(user))


@resource.operation("DELETE", USER, scope=ADMIN, status=204)
def delete_user(username: str) -> Response:
    """Delete an account with its sessions and tokens"""
    service().users.delete(me(), username)
    return answer(None, 204)


@resource.operation("POST", USER + "/password-reset", scope=ADMIN, answers=accounts.UserCreated)
def reset_password(username: str) -> Response:
    """Give an account a one-time password

    Its sessions end; the password must be changed at the next sign-in.
    """
    one_time = service().users.reset_password(me(), username)
    return answer({"user": user_json(service().users.get(me(), username)), "one_time_password": one_time})


@resource.operation("DELETE", USER + "/second-factor", scope=ADMIN, status=204)
def remove_second_factor_of(username: str) -> Response:
    """Remove an account's second factor

    For somebody else who has lost it: app, security keys and recovery codes go, the password is enough then,
    and the account's sessions end.
    """
    service().second_factor.remove_of(me(), username)
    return answer(None, 204)


@resource.operation("GET", "/tokens", scope=SIGNED_IN, query=Page, answers=accounts.TokenPage)
def list_tokens(query: dict[str, Any]) -> Response:
    """List API tokens

    An admin sees everybody's, others their own.
    """
    return answer(page_of(service().tokens.list(me()), token_json, query))


@resource.operation(
    "POST",
    "/tokens",
    scope=SIGNED_IN,
    body=accounts.TokenCreateInput,
    answers=accounts.TokenCreated,
    status=201,
)
def create_token(body: dict[str, Any]) -> Response:
    """Create an API token

    The scope is at most your own. The secret is shown this once.
    """
    token, secret = service().tokens.create(me(), body["name"], body["scope"], body["expires_within_s"])
    return answer({**token_json(token), "secret": secret}, 201)


@resource.operation("DELETE", "/tokens/<string(maxlength=64):token_id>", scope=SIGNED_IN, status=204)
def revoke_token(token_id: str) -> Response:
    """Revoke an API token"""
    service().tokens.revoke(me(), token_id)
    return answer(None, 204)
