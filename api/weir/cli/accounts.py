# SPDX-License-Identifier: Apache-2.0
"""`weir login`, `weir user`, `weir token`."""

from __future__ import annotations

import contextlib
import getpass
import socket
from typing import Any

import click
import httpx

from weir.cli import login as logins
from weir.cli import output
from weir.cli.client import ApiError, Client, Unreachable, segment
from weir.cli.group import Command, Group, Session, pass_session
from weir.model.scope import SCOPES

Json = dict[str, Any]
scope_option = click.option("--scope", type=click.Choice(SCOPES), default="read", show_default=True)


@click.command("login", cls=Command)
@click.option("--username", "-u", prompt=True)
@click.option("--password", prompt=True, hide_input=True)
@click.option("--scope", type=click.Choice(SCOPES), help="At most your own; default: your own.")
@pass_session
def login(session: Session, username: str, password: str, scope: str | None) -> None:
    """Sign in once and keep an API token in a file that only you can read."""
    url = session.url or logins.DEFAULT_URL
    token = _make_token(url, username, password, scope)
    file = logins.write(logins.Login(url, token["secret"], token["id"]))
    if session.json:
        output.show_json({"url": url, "file": str(file), "scope": token["scope"]})
    else:
        click.echo(f"Signed in at {url} as {username} ({token['scope']}); the token is in {file}.")


def _make_token(url: str, username: str, password: str, scope: str | None) -> Json:
    """Sign in, create a token, sign out. A one-time password is changed first."""
    client = Client(url, None)
    try:
        signed = _sign_in(client, username, password)
        csrf = {"X-CSRF-Token": signed["csrf_token"]}
        if signed["must_change_password"]:
            click.echo("The password must be changed first.", err=True)
            new = click.prompt("New password", hide_input=True, confirmation_prompt=True, err=True)
            body = {"old_password": password, "new_password": new}
            client.write("POST", "/auth/password", body, headers=csrf)
        name = f"weir login {getpass.getuser()}@{socket.gethostname()}"[:64]
        body = {"name": name, "scope": scope or signed["user"]["scope"]}
        token = client.write("POST", "/tokens", body, headers=csrf)
        client.write("POST", "/auth/sign-out", headers=csrf)
        return token
    finally:
        client.close()


def _sign_in(client: Client, username: str, password: str) -> Json:
    """Asks for the code of an account that has a second factor. A security key answers to a browser only."""
    body = {"username": username, "password": password}
    try:
        return client.write("POST", "/auth/sign-in", body)
    except ApiError as refused:
        if refused.code not in ("code-needed", "key-needed"):
            raise
    code = click.prompt("Code of the authenticator app, or a recovery code", hide_input=True, err=True)
    return client.write("POST", "/auth/sign-in", {**body, "code": code})


@click.command("logout", cls=Command)
@pass_session
def logout(session: Session) -> None:
    """Revoke the saved token and forget it."""
    saved = logins.read()
    if saved is not None and saved.token_id:
        client = Client(saved.url, saved.token)
        with contextlib.suppress(ApiError, Unreachable, httpx.HTTPError):
            client.write("DELETE", f"/tokens/{segment(saved.token_id)}")
        client.close()
    logins.forget()
    output.show_json({}) if session.json else click.echo("Signed out.")


@click.group("user", cls=Group)
def user() -> None:
    """Accounts (scope admin)."""


@user.command("list")
@pass_session
def list_users(session: Session) -> None:
    """List accounts."""
    found = list(session.client.pages("/users"))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("USER", "SCOPE", "STATE", "SECOND FACTOR", "LAST SIGN-IN"),
        [
            (
                item["username"],
                item["scope"],
                "disabled" if item["disabled"] else "enabled",
                item["second_factor_since"] or "none",
                item["last_sign_in_at"] or "never",
            )
            for item in found
        ],
    )


def _show_password(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    click.echo(f"User {answer['user']['username']} ({answer['user']['scope']}).")
    if answer["one_time_password"]:
        click.echo(f"One-time password: {answer['one_time_password']}")


@user.command("add")
@click.argument("username")
@scope_option
@pass_session
def add_user(session: Session, username: str, scope: str) -> None:
    """Create an account with a one-time password."""
    _show_password(session, session.client.write("POST", "/users", {"username": username, "scope": scope}))


@user.command("set")
@click.argument("username")
@click.option("--scope", type=click.Choice(SCOPES))
@click.option("--disabled/--enabled", default=None)
@pass_session
def set_user(session: Session, /, username: str, **given: Any) -> None:
    """Change an account's scope, or disable it."""
    body = {name: value for name, value in given.items() if value is not None}
    answer = session.client.write("PATCH", f"/users/{segment(username)}", body)
    output.show_json(answer) if session.json else click.echo("Done.")


@user.command("reset-password")
@click.argument("username")
@pass_session
def reset_password(session: Session, username: str) -> None:
    """Give an account a one-time password."""
    _show_password(session, session.client.write("POST", f"/users/{segment(username)}/password-reset"))


@user.command("remove-second-factor")
@click.argument("username")
@pass_session
def remove_second_factor(session: Session, username: str) -> None:
    """Let somebody who has lost app or security keys sign in with the password alone."""
    session.client.write("DELETE", f"/users/{segment(username)}/second-factor")
    output.show_json({}) if session.json else click.echo(f"{username} signs in with the password alone.")


@user.command("keys")
@click.argument("username")
@pass_session
def list_keys(session: Session, username: str) -> None:
    """List an account's security keys. They are added in the browser."""
    found = session.client.get(f"/users/{segment(username)}/security-keys")["items"]
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("ID", "NAME", "AT", "ADDED", "LAST USED"),
        [
            (key["id"], key["name"], key["origin"], key["created_at"], key["last_used_at"] or "never")
            for key in found
        ],
    )


@user.command("remove-key")
@click.argument("username")
@click.argument("key_id")
@pass_session
def remove_key(session: Session, username: str, key_id: str) -> None:
    """Remove a security key that somebody else has lost; the account's sessions end."""
    session.client.write("DELETE", f"/users/{segment(username)}/security-keys/{segment(key_id)}")
    output.show_json({}) if session.json else click.echo("Removed.")


@user.command("rm")
@click.argument("username")
@pass_session
def remove_user(session: Session, username: str) -> None:
    """Delete an account."""
    session.client.write("DELETE", f"/users/{segment(username)}")
    output.show_json({}) if session.json else click.echo(f"Deleted {username}.")


@click.group("token", cls=Group)
def token() -> None:
    """API tokens."""


@token.command("list")
@pass_session
def list_tokens(session: Session) -> None:
    """List API tokens."""
    found = list(session.client.pages("/tokens"))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("ID", "NAME", "SCOPE", "OWNER", "EXPIRES", "LAST USED"),
        [
            (
                item["id"],
                item["name"],
                item["scope"],
                item["owner"],
                item["expires_at"] or "never",
                item["last_used_at"] or "never",
            )
            for item in found
        ],
    )


@token.command("create")
@click.argument("name")
@scope_option
@click.option("--expires-days", type=click.IntRange(1, 3650))
@pass_session
def create_token(session: Session, name: str, scope: str, expires_days: int | None) -> None:
    """Create an API token; its secret is shown once."""
    expires = expires_days * 86_400 if expires_days else None
    answer = session.client.write(
        "POST", "/tokens", {"name": name, "scope": scope, "expires_within_s": expires}
    )
    output.show_json(answer) if session.json else click.echo(answer["secret"])


@token.command("revoke")
@click.argument("token_id")
@pass_session
def revoke_token(session: Session, token_id: str) -> None:
    """Revoke an API token."""
    session.client.write("DELETE", f"/tokens/{segment(token_id)}")
    output.show_json({}) if session.json else click.echo("Revoked.")


def register(main: click.Group) -> None:
    for command in (login, logout, user, token):
        main.add_command(command)
