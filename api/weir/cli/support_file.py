# SPDX-License-Identifier: Apache-2.0
"""`weir support-file`: everything that helpers need to know about this router, as one file."""

from __future__ import annotations

from pathlib import Path

import click

from weir.cli.group import Command, Session, pass_session


@click.command("support-file", cls=Command)
@click.argument("target", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@pass_session
def support_file(session: Session, target: Path) -> None:
    """Write what helpers need to know to TARGET, a zip archive without secrets.

    Names, addresses, comments and messages are in it: look through it before you send it.
    """
    part = target.with_name(f"{target.name}.part")
    size = 0
    try:
        with session.client.stream("GET", "/diagnosis/support-file") as response, part.open("wb") as file:
            for data in response.iter_bytes():
                size += file.write(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    click.echo(f"Wrote {target}: {size} bytes. No passwords, keys or tokens are in it.", err=True)


def register(main: click.Group) -> None:
    main.add_command(support_file)
