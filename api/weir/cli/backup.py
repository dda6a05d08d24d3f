# SPDX-License-Identifier: Apache-2.0
"""`weir backup`: the whole configuration as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weir.cli import output
from weir.cli.client import LONG_TIMEOUT
from weir.cli.group import Group, Session, pass_session

Json = dict[str, Any]
HEADERS = {"Content-Type": "application/octet-stream"}
SHOWN_FINDINGS = 40
_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("backup", cls=Group)
def backup() -> None:
    """The whole configuration as one file; accounts are never in it."""


@backup.command("save")
@click.argument("target", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@pass_session
def save(session: Session, target: Path) -> None:
    """Write the running configuration to TARGET."""
    response = session.client.send("GET", "/backup", timeout=LONG_TIMEOUT)
    target.write_bytes(response.content)
    click.echo(f"Wrote {target}: {len(response.content)} bytes.", err=True)


@backup.command("restore")
@click.argument("source", type=_file)
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--confirm-within", type=click.IntRange(1, 3600), metavar="SECONDS", help="Roll back unless confirmed."
)
@click.option("--message", "-m", default="", help="Why.")
@pass_session
def restore(
    session: Session, source: Path, dry_run: bool, yes: bool, confirm_within: int | None, message: str
) -> None:
    """Make the configuration what SOURCE says; what it does not name is removed."""
    data = source.read_bytes()
    report = send(session, "/backup/check", data)
    if not session.json or dry_run:
        show_report(session, report)
    if dry_run:
        return
    if not yes and not session.json:
        click.confirm("Restore this?", abort=True)
    query = {"message": message, "confirm_within_s": confirm_within}
    done = send(session, "/backup/restore", data, {key: value for key, value in query.items() if value})
    if session.json:
        output.show_json(done)
    else:
        output.committed(done)


def send(session: Session, path: str, data: bytes, query: Json | None = None) -> Json:
    return session.client.write("POST", path, content=data, headers=HEADERS, params=query or {})


def show_report(session: Session, report: Json) -> None:
    if session.json:
        output.show_json(report)
        return
    counts = report["counts"]
    click.echo(
        f"Backup of {output.clean(report['hostname'])} (Weir {output.clean(report['release'])}), "
        f"revision {report['revision']}, {output.clean(report['made_at'])}: {report['objects']} objects; "
        f"{counts['added']} added, {counts['changed']} changed, {counts['removed']} removed."
    )
    output.findings(report["findings"][:SHOWN_FINDINGS])


def register(main: click.Group) -> None:
    main.add_command(backup)
