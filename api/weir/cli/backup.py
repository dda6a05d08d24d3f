# SPDX-License-Identifier: Apache-2.0
"""`weir backup`: the whole configuration as one file, and back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from weir.cli import output
from weir.cli.client import LONG_TIMEOUT
from weir.cli.group import Group, Session, pass_session
from weir.cli.kind_options import SECRET

Json = dict[str, Any]
HEADERS = {"Content-Type": "application/octet-stream"}
SHOWN_FINDINGS = 40
_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("backup", cls=Group)
def backup() -> None:
    """The whole configuration as one file; accounts are never in it."""


@backup.command("save")
@click.argument("target", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@click.option("--secrets", is_flag=True, help="Take the secrets along, under the passphrase.")
@pass_session
def save(session: Session, target: Path, secrets: bool) -> None:
    """Write the running configuration to TARGET."""
    params = {"secrets": "1"} if secrets else {}
    response = session.client.send("GET", "/backup", params=params, timeout=LONG_TIMEOUT)
    target.write_bytes(response.content)
    click.echo(f"Wrote {target}: {len(response.content)} bytes.", err=True)
    left_out = json.loads(response.content.partition(b"\n")[0]).get("secrets_left_out", [])
    if left_out:
        named = ", ".join(map(output.clean, left_out[:SHOWN_FINDINGS]))
        click.echo(f"{len(left_out)} secrets were left out: {named}", err=True)


@backup.command("passphrase")
@pass_session
def passphrase(session: Session) -> None:
    """Choose the passphrase of secrets in backups.

    The first line of standard input is the new one, the second the present one; at a terminal both are asked.
    """
    if sys.stdin.isatty():
        new = click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True)
        old = click.prompt("Present passphrase, if any", default="", hide_input=True, err=True)
    else:
        new, old = (sys.stdin.readline().removesuffix("\n") for _ in range(2))
    session.client.write("PUT", "/backup/passphrase", {"passphrase": new, "old": old or None})
    click.echo("Done.", err=True)


@backup.command("restore")
@click.argument("source", type=_file)
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--confirm-within", type=click.IntRange(1, 3600), metavar="SECONDS", help="Roll back unless confirmed."
)
@click.option("--message", "-m", default="", help="Why.")
@click.option("--passphrase", metavar="FILE|-", help="File with the passphrase of SOURCE's secrets; - asks.")
@pass_session
def restore(
    session: Session,
    source: Path,
    dry_run: bool,
    yes: bool,
    confirm_within: int | None,
    message: str,
    passphrase: str | None,
) -> None:
    """Make the configuration what SOURCE says; what it does not name is removed."""
    data = source.read_bytes()
    headers = dict(HEADERS)
    if passphrase is not None:
        headers["Weir-Backup-Passphrase"] = quote(SECRET.convert(passphrase, None, None))
    report = send(session, "/backup/check", data, headers)
    if not session.json or dry_run:
        show_report(session, report)
    if dry_run:
        return
    if not yes and not session.json:
        click.confirm("Restore this?", abort=True)
    query = {"message": message, "confirm_within_s": confirm_within}
    given = {key: value for key, value in query.items() if value}
    done = send(session, "/backup/restore", data, headers, given)
    if session.json:
        output.show_json(done)
    else:
        output.committed(done)


def send(
    session: Session, path: str, data: bytes, headers: dict[str, str], query: Json | None = None
) -> Json:
    return session.client.write("POST", path, content=data, headers=headers, params=query or {})


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
