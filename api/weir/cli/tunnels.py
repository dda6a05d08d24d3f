# SPDX-License-Identifier: Apache-2.0
"""`weir peer client`: the configuration of a WireGuard client, shown once."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.client import segment
from weir.cli.group import Command
from weir.cli.kinds import group_of, session_now
from weir.formats.qr import blocks_of
from weir.kinds import DECLARED

PATH = f"/{DECLARED['wireguard-peer'].path}"


def client(object_id: str, qr: bool) -> None:
    session = session_now()
    path = f"{PATH}/{segment(object_id)}"
    etag = session.client.get(path)["etag"]
    answer = session.client.write("POST", f"{path}/client", None, etag=etag)
    if session.json:
        output.show_json(answer)
    else:
        click.echo(answer["config"], nl=False)
        if qr:  # not into the file that the configuration is sent to
            click.echo(blocks_of(answer["config"]), nl=False, err=True)


def register(main: click.Group) -> None:
    """The verbs of the kind, and one of its own."""
    peer = group_of(DECLARED["wireguard-peer"])
    said = "Make a client's configuration with new keys, and print it this once."
    params: list[click.Parameter] = [
        click.Argument(["object_id"], metavar="ID"),
        click.Option(["--qr"], is_flag=True, help="Draw it as a QR code for a phone, too."),
    ]
    peer.add_command(Command("client", callback=client, params=params, help=said))
    main.add_command(peer)
