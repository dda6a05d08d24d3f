# SPDX-License-Identifier: Apache-2.0
"""`weir why`: what makes a customer slow, and what does not."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import click

from weir.cli import output
from weir.cli.group import REFUSED, Command, Session, pass_session

Json = dict[str, Any]
_COLOURS = {"culprit": "red", "trouble": "yellow", "clear": "green", "unknown": "white"}
_WORDS = {"culprit": "CULPRIT", "trouble": "also", "clear": "ruled out", "unknown": "not known"}
_PLACES = {
    "device": "device", "access": "port", "queue": "queue", "parent": "above", "router": "router",
    "uplink": "uplink", "internet": "internet",
}  # fmt: skip


@click.command("why", cls=Command)
@click.argument("who", metavar="QUEUE|ADDRESS")
@click.option(
    "--towards", help="An address in the internet whose way is meant, instead of the uplink in use."
)
@pass_session
def why(session: Session, who: str, towards: str | None) -> None:
    """Why is this customer slow? Exit code 1 when a culprit was found."""
    asked = {"address": who} if _is_address(who) else {"queue": session.client.find_queue(who)["id"]}
    found = session.client.get("/diagnosis/why", **asked, towards=towards)
    if session.json:
        output.show_json(found)
    else:
        _show(found)
    if found["culprit"] is not None:
        click.get_current_context().exit(REFUSED)


def _show(found: Json) -> None:
    queue = found["queue"]
    who = [found["address"] or "", f"queue {queue['name']}" if queue else ""]
    way = f"towards {found['towards']}" if found["towards"] else f"by uplink {found['uplink']['id']}"
    click.echo(output.clean(", ".join([*(part for part in who if part), way])))
    click.echo(output.clean(found["sentence"]))
    click.echo()
    for item in found["line"]:
        state = click.style(f"{_WORDS[item['state']]:<9}", fg=_COLOURS[item["state"]])
        click.echo(f"{state} {_PLACES[item['place']]:<8} {output.clean(item['sentence'])}")
        _numbers(item["numbers"])
        if item["not_known"]:
            click.echo(f"{'':<18} not known: {output.clean(', '.join(item['not_known']))}")
        for fix in item["fixes"]:
            command = f" [{fix['command']}]" if fix["command"] else ""
            click.echo(f"{'':<18} -> {output.clean(fix['text'] + command)}")
    click.echo()
    for loss in found["losses"]:
        click.echo(f"{loss['way']:<8} {loss['where']:<6} {output.clean(loss['sentence'])}")
        _numbers(loss["numbers"])


def _numbers(numbers: list[Json]) -> None:
    if numbers:
        click.echo(f"{'':<18} " + output.clean(", ".join(map(_number, numbers))))


def _number(number: Json) -> str:
    limit = "" if number["threshold_shown"] is None else f" (threshold {number['threshold_shown']})"
    return f"{number['name']} {number['shown']}{limit}"


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def register(main: click.Group) -> None:
    main.add_command(why)
