# SPDX-License-Identifier: Apache-2.0
"""`weir update` and `weir restart`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from weir.cli import output
from weir.cli.client import LONG_TIMEOUT
from weir.cli.group import REFUSED, Command, Group, Session, pass_session

Json = dict[str, Any]
POLL_S = 1.0


@click.group("update", cls=Group)
def update() -> None:
    """The two systems on the disk, and installing a new one."""


@update.command("show")
@pass_session
def show(session: Session) -> None:
    """Both slots, and the last installation."""
    show_updates(session, session.client.get("/system/update"))


@update.command("install")
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--no-wait", is_flag=True, help="Return when the bundle was checked.")
@pass_session
def install(session: Session, bundle: Path, no_wait: bool) -> None:
    """Check BUNDLE, write it into the slot that does not run, and choose that slot for the next start."""
    with bundle.open("rb") as file:
        response = session.client.send(
            "POST",
            "/system/update",
            content=file,
            headers={
                "Content-Type": "application/octet-stream",
                "Content-Length": str(bundle.stat().st_size),
            },
            timeout=LONG_TIMEOUT,
        )
    answer: Json = response.json()
    if not no_wait:
        answer = wait(session, answer)
    show_updates(session, answer)
    if answer["job"]["state"] == "failed":
        click.get_current_context().exit(REFUSED)


def wait(session: Session, answer: Json) -> Json:
    """Follow the installation to its end; each step is told once."""
    told = ""
    while answer["job"]["state"] == "installing":
        job = answer["job"]
        line = f"{job['percent']:>3} %  {output.clean(job['what'])}"
        if line != told and not session.json:
            click.echo(line, err=True)
        told = line
        time.sleep(POLL_S)
        answer = session.client.get("/system/update")
    return answer


@update.command("slot")
@click.argument("slot", type=click.Choice(("A", "B")))
@pass_session
def slot(session: Session, slot: str) -> None:
    """Choose the slot that the next start takes."""
    show_updates(session, session.client.write("POST", "/system/update/slot", {"slot": slot}))


def show_updates(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    if not answer["available"]:
        click.echo(output.clean(answer["reason"] or "There is nothing to update."))
        return
    output.table(
        ("SLOT", "VERSION", "RUNS", "NEXT START", "GOOD"),
        [
            (
                item["name"],
                item["version"] or "?",
                "yes" if item["booted"] else "",
                "yes" if item["name"] == answer["next"] else "",
                "yes" if item["good"] else "no",
            )
            for item in answer["slots"]
        ],
    )
    job = answer["job"]
    if job["state"] == "installed":
        click.echo(f"Version {job['version']} is installed; `weir restart` runs it.")
    elif job["state"] == "failed":
        click.secho(f"The installation failed: {output.clean(job['message'] or '')}", fg="red", err=True)
    elif job["state"] == "installing":
        click.echo(f"Version {job['version']} is being installed: {job['percent']} %.")


@click.command("restart", cls=Command)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@pass_session
def restart(session: Session, yes: bool) -> None:
    """Restart the router; forwarding stops until it is up again."""
    if not yes:
        click.confirm("Restart the router now?", abort=True)
    answer = session.client.write("POST", "/system/restart")
    if session.json:
        output.show_json(answer)
    else:
        click.echo("The router restarts.")


def register(main: click.Group) -> None:
    for command in (update, restart):
        main.add_command(command)
