# SPDX-License-Identifier: Apache-2.0
"""`weir search`: one search over the objects of all kinds."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.group import Command, Session, pass_session
from weir.kinds import DECLARED


@click.command("search", cls=Command)
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Of each kind.")
@pass_session
def search(session: Session, text: str, limit: int) -> None:
    """Find objects of every kind: by part of id, name or comment, or by an address inside their prefixes."""
    answer = session.client.get("/search", q=text, limit=limit)
    if session.json:
        output.show_json(answer)
        return
    groups = answer["groups"]
    output.table(
        ("KIND", "ID", "NAME", ""),
        [
            (_command(group["kind"]), item["id"], item["name"], item["detail"])
            for group in groups
            for item in group["items"]
        ],
    )
    for group in groups:
        if group["next_cursor"] is not None:
            more = f"{len(group['items'])} of {group['total']} shown; all: "
            click.echo(f"{more}weir {_command(group['kind'])} list --search {text!r}", err=True)
    if not groups:
        click.echo(f"Nothing matches {text!r}.", err=True)


def _command(kind: str) -> str:
    return DECLARED[kind].short if kind in DECLARED else kind


def register(main: click.Group) -> None:
    main.add_command(search)
