# SPDX-License-Identifier: Apache-2.0
"""Candidates, commits, confirmations, revisions."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.client import LONG_TIMEOUT
from weir.cli.group import Command, Group, Session, pass_session

Json = dict[str, Any]


@click.group("candidate", cls=Group)
def candidate() -> None:
    """Your staged changes."""


@candidate.command("show")
@pass_session
def show_candidate(session: Session) -> None:
    """Show what is staged."""
    answer = session.client.get("/candidate")
    if session.json:
        output.show_json(answer)
    elif answer["candidate"] is None:
        click.echo("You have no candidate.")
    else:
        found = answer["candidate"]
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items()) or "nothing"
        changes = output.counted(found["change_count"], "change")
        click.echo(f"{changes} ({kinds}) on revision {found['base_revision']}.")
        for conflict in found["conflicts"]:
            who = conflict["author"] or "somebody else"
            click.echo(f"conflict: {who} changed {conflict['kind']} {conflict['id']}", err=True)


@candidate.command("new")
@pass_session
def new_candidate(session: Session) -> None:
    """Begin a candidate."""
    answer = session.client.write("POST", "/candidate")
    output.show_json(answer) if session.json else click.echo("Your candidate is open.")


@candidate.command("discard")
@pass_session
def discard_candidate(session: Session) -> None:
    """Discard your candidate."""
    session.client.write("DELETE", "/candidate")
    output.show_json({}) if session.json else click.echo("Discarded.")


@candidate.command("resolve")
@click.argument("keep", type=click.Choice(("mine", "theirs")))
@pass_session
def resolve_candidate(session: Session, keep: str) -> None:
    """Settle conflicts: keep your version or theirs."""
    answer = session.client.write("POST", "/candidate/resolve", {"keep": keep})
    output.show_json(answer) if session.json else output.staged(answer)


LONGEST_WAIT_S = 120
"""For the effect of a candidate of thousands of changes."""


@click.command("diff", cls=Command)
@click.argument("revisions", nargs=-1, type=click.IntRange(0))
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@pass_session
def diff(session: Session, revisions: tuple[int, ...], limit: int) -> None:
    """Compare your candidate with what runs, or two REVISIONS."""
    if len(revisions) not in (0, 2):
        raise click.UsageError("Give two revisions, or none for your candidate.")
    if revisions:
        answer = session.client.get("/revisions/{}/diff/{}".format(*revisions), limit=limit)
    else:
        answer = session.client.get(
            "/candidate/diff", limit=limit, wait_s=LONGEST_WAIT_S, timeout=LONG_TIMEOUT
        )
    output.show_json(answer) if session.json else output.diff(answer)


def _show_commit(session: Session, answer: Json) -> None:
    output.show_json(answer) if session.json else output.committed(answer)


@click.command("commit", cls=Command)
@click.option("--message", "-m", default="", help="Why.")
@click.option(
    "--confirm-within", type=click.IntRange(1, 3600), metavar="SECONDS", help="Roll back unless confirmed."
)
@pass_session
def commit(session: Session, message: str, confirm_within: int | None) -> None:
    """Commit your candidate."""
    body = {"message": message, "confirm_within_s": confirm_within}
    _show_commit(session, session.client.write("POST", "/candidate/commit", body))


@click.command("confirm", cls=Command)
@click.argument("revision", type=click.IntRange(1), required=False)
@click.option("--confirm-token", help="What the commit printed.")
@pass_session
def confirm(session: Session, revision: int | None, confirm_token: str | None) -> None:
    """Keep the commit that waits for its confirmation."""
    if revision is None:
        pending = session.client.get("/config/pending")["pending"]
        if pending is None:
            raise click.UsageError("No commit waits for a confirmation.")
        revision = pending["revision"]
    body = {"revision": revision, "token": confirm_token}
    answer = session.client.write("POST", "/config/confirm", body)
    output.show_json(answer) if session.json else click.echo(f"Revision {revision} stays.")


@click.command("revert", cls=Command)
@pass_session
def revert(session: Session) -> None:
    """Roll the commit that waits for its confirmation back now."""
    _show_commit(session, session.client.write("POST", "/config/revert"))


@click.command("revisions", cls=Command)
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@pass_session
def revisions(session: Session, limit: int) -> None:
    """List revisions, the newest first."""
    found = list(session.client.pages("/revisions", most=limit))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("REVISION", "WHEN", "WHO", "CHANGES", "STATE", "WHY"),
        [
            (
                str(item["revision"]),
                item["created_at"],
                item["author"],
                str(item["change_count"]),
                item["state"],
                item["message"],
            )
            for item in found
        ],
        right=(0, 3),
    )


@click.command("restore", cls=Command)
@click.argument("revision", type=click.IntRange(0))
@click.option("--message", "-m", default="", help="Why.")
@click.option(
    "--confirm-within", type=click.IntRange(1, 3600), metavar="SECONDS", help="Roll back unless confirmed."
)
@pass_session
def restore(session: Session, revision: int, message: str, confirm_within: int | None) -> None:
    """Commit the content of an old revision."""
    body = {"message": message, "confirm_within_s": confirm_within}
    _show_commit(session, session.client.write("POST", f"/revisions/{revision}/restore", body))


def register(main: click.Group) -> None:
    for command in (candidate, diff, commit, confirm, revert, revisions, restore):
        main.add_command(command)
