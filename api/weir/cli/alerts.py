# SPDX-License-Identifier: Apache-2.0
"""`weir alert-target test`: does it take what is sent to it?"""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.client import segment
from weir.cli.group import REFUSED, Command
from weir.cli.kinds import group_of, session_now
from weir.kinds import DECLARED

TARGETS = DECLARED["alert-target"]


def test(object_id: str) -> None:
    session = session_now()
    answer = session.client.write("POST", f"/{TARGETS.path}/{segment(object_id)}/test", None)
    if session.json:
        output.show_json(answer)
    else:
        verdict = "Delivered" if answer["delivered"] else "Not delivered"
        click.echo(f"{verdict} in {answer['took_ms']} ms: {output.clean(answer['answer'])}")
    if not answer["delivered"]:
        click.get_current_context().exit(REFUSED)


def register(main: click.Group) -> None:
    """The verbs of the kind, and one of its own."""
    group = group_of(TARGETS)
    said = "Send one message and print what the server answered; exit code 1 when it was not taken."
    params: list[click.Parameter] = [click.Argument(["object_id"], metavar="ID")]
    group.add_command(Command("test", callback=test, params=params, help=said))
    main.add_command(group)
