# SPDX-License-Identifier: Apache-2.0
"""`weir tuning`: settings of kernel and cards with their reasons."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.group import Group, Session, pass_session

Json = dict[str, Any]


@click.group("tuning", cls=Group)
def tuning() -> None:
    """Settings of kernel and network cards, each with its reason."""


@tuning.command("show")
@pass_session
def show(session: Session) -> None:
    """Every setting, at every place, with what the kernel holds."""
    show_settings(session, session.client.get("/tuning"))


@tuning.command("set")
@click.argument("setting")
@click.argument("value")
@pass_session
def override(session: Session, setting: str, value: str) -> None:
    """Override SETTING, by its id or, for one interface, as id.INTERFACE; "" leaves what the kernel has."""
    change(session, setting, value)


@tuning.command("reset")
@click.argument("setting")
@pass_session
def reset(session: Session, setting: str) -> None:
    """Go back to the product's value of SETTING."""
    change(session, setting, None)


def change(session: Session, setting: str, value: str | None) -> None:
    present = session.client.get("/tuning")
    body = {"overrides": {setting: value}}
    show_settings(session, session.client.write("PATCH", "/tuning", body, etag=present["etag"]))


def show_settings(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    if answer["settings_reason"]:
        click.echo(output.clean(answer["settings_reason"]), err=True)
    rows = [
        (
            item["id"],
            place["place"] or item["scope"],
            place["held"] or "",
            _wanted(item, place),
            place["state"],
        )
        for item in answer["settings"]
        for place in item["places"]
    ]
    output.table(("SETTING", "WHERE", "NOW", "WANTED", "STATE"), rows)
    known = {item["id"] for item in answer["settings"]}
    for name in answer["overrides"]:
        if name.partition(".")[0] not in known:
            click.echo(f"{output.clean(name)}: this release has no such setting", err=True)


def _wanted(item: Json, place: Json) -> str:
    """With a star where an operator chose it."""
    return f"{place['wanted'] or ''}{' *' if (item['override'], place['override']) != (None, None) else ''}"


def register(main: click.Group) -> None:
    main.add_command(tuning)
