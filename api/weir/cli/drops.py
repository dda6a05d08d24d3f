# SPDX-License-Identifier: Apache-2.0
"""`weir drops`: who dropped packets lately, and why."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.group import Command, Session, pass_session


@click.command("drops", cls=Command)
@click.option(
    "--minutes", type=click.IntRange(1, 1440), default=60, show_default=True, help="How far back to look."
)
@pass_session
def drops(session: Session, minutes: int) -> None:
    """List the packets that were dropped, by queue, firewall rule, interface and reason."""
    found = session.client.get("/diagnosis/drops", minutes=str(minutes))
    if session.json:
        output.show_json(found)
        return
    click.echo(
        f"{output.counted(found['packets'], 'packet')} dropped from {found['since']} to {found['until']}."
    )
    rows = [
        [
            f"{item['packets']:,}",
            f"{item['share']:.1%}",
            f"{item['kind']} {item['id']}" if item["kind"] != item["id"] else item["kind"],
            item["way"] or item["interface"] or "",
            item["text"],
        ]
        for item in found["items"]
    ]
    if rows:
        output.table(["packets", "share", "owner", "where", "reason"], rows, right=(0, 1))
    if found["rest_packets"]:
        click.echo(f"{output.counted(found['rest_packets'], 'packet')} by owners that are not listed.")
    for item in found["unseen"]:
        click.echo(f"Not known of {item['id']}: {output.clean(item['reason'])}")
    click.echo(f"Counted by nobody: {'; '.join(found['not_counted'])}.")


def register(main: click.Group) -> None:
    main.add_command(drops)
