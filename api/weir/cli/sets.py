# SPDX-License-Identifier: Apache-2.0
"""`weir set refresh`: fetch the list of a set, or ask for its names, now."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.client import segment
from weir.cli.group import REFUSED, Command
from weir.cli.kinds import group_of, session_now
from weir.kinds import DECLARED

SETS = DECLARED["set"]


def refresh(object_id: str) -> None:
    session = session_now()
    answer = session.client.write("POST", f"/{SETS.path}/{segment(object_id)}/refresh", None)
    if session.json:
        output.show_json(answer)
    else:
        verdict = "Done in" if answer["fetched"] else "Failed after"
        entries = f"{answer['entries']} entries"
        click.echo(f"{verdict} {answer['took_ms']} ms, {entries}: {output.clean(answer['answer'])}")
    if not answer["fetched"]:
        click.get_current_context().exit(REFUSED)


def register(main: click.Group) -> None:
    """The verbs of the kind, and one of its own."""
    group = group_of(SETS)
    said = "Fetch its list or ask for its names now and say what became of it; exit code 1 without success."
    params: list[click.Parameter] = [click.Argument(["object_id"], metavar="ID")]
    group.add_command(Command("refresh", callback=refresh, params=params, help=said))
    main.add_command(group)
