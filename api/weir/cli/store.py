# SPDX-License-Identifier: Apache-2.0
"""`weir store`: what a person decides when the database is damaged or another one."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.group import Group, Session, pass_session

Json = dict[str, Any]


@click.group("store", cls=Group)
def store() -> None:
    """The router's database: whether it is followed, and what is damaged in it."""


@store.command("show")
@pass_session
def show(session: Session) -> None:
    """Say what runs, what the database has, and what is damaged."""
    show_store(session, session.client.get("/system/store"))


@store.command("accept")
@click.argument("revision", type=int)
@pass_session
def accept(session: Session, revision: int) -> None:
    """Run REVISION, the newest of the database, though the router ran something else last."""
    found = session.client.get("/system/store")["stored"] or {"revision": None}
    if found["revision"] != revision:
        raise click.ClickException(f"the database does not wait for revision {revision} to be accepted")
    show_store(session, session.client.write("POST", "/system/store/accept", found))


@store.command("restore")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@pass_session
def restore(session: Session, dry_run: bool) -> None:
    """Write what runs in the place of what is damaged."""
    if dry_run:
        _show_lost(session, session.client.get("/system/store/restore"))
        return
    answer = session.client.write("POST", "/system/store/restore")
    if session.json:
        output.show_json(answer)
    else:
        click.echo(f"revision {answer['revision']} holds what runs")


def _show_lost(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    click.echo(f"objects that would be written: {answer['total']}")
    for item in answer["changes"]:
        click.echo(f"{item['kind']} {item['id']}: {output.clean(item['name'])}")
    if answer["next_cursor"]:
        click.echo("and more")


def show_store(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    if answer["running_revision"] is not None:
        click.echo(f"revision {answer['running_revision']} runs")
    for reason in answer["refused"]:
        click.echo(f"changes are refused: {output.clean(reason)}")
    if answer["followed"] is None:
        click.echo(f"not known whether the database is followed: {output.clean(answer['reason'])}")
    elif not answer["followed"]:
        click.echo(f"the database is not followed: {output.clean(answer['reason'])}")
    if answer["stored"]:
        number = answer["stored"]["revision"]
        click.echo(f"`weir store accept {number}` makes the router run revision {number} of the database")
    for item in answer["damaged"]:
        click.echo(f"damaged: {output.clean(item['message'])}")


def register(main: click.Group) -> None:
    main.add_command(store)
