# SPDX-License-Identifier: Apache-2.0
"""`weir log`: what the router's processes logged."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from weir.cli import output
from weir.cli.group import Command, Session, pass_session
from weir.kinds.syslog_target import SEVERITIES

AGAIN_S = 2.0
MOST = 1000
COLOURS = {"emergency": "red", "alert": "red", "critical": "red", "error": "red", "warning": "yellow"}
Json = dict[str, Any]


@click.command("log", cls=Command)
@click.option("--source", help="Of this source only, as kernel, weir-agent or frr.")
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default="info",
    show_default=True,
    help="Lines that are at least that severe.",
)
@click.option("--search", "words", help="Part of text, process or source.")
@click.option("--since", help="Lines of this time and later ones, as 2026-01-31T08:00:00Z.")
@click.option(
    "--lines", type=click.IntRange(1, MOST), default=200, show_default=True, help="So many, the newest."
)
@click.option("--follow", is_flag=True, help="Go on with what is logged, until Ctrl-C.")
@pass_session
def log(
    session: Session,
    source: str | None,
    severity: str,
    words: str | None,
    since: str | None,
    lines: int,
    follow: bool,
) -> None:
    """Show the router's log, the newest line last, without secrets."""
    asked: Json = {"source": source, "severity": severity, "q": words, "since": since}
    found = session.client.get("/diagnosis/log", **asked, limit=str(lines))
    if session.json and not follow:
        output.show_json(found)
        return
    if not found["items"]:
        click.echo(_nothing(found), err=True)
    _show(session, found)
    while follow:
        if not found["more"] or found["cursor"] is None:
            time.sleep(AGAIN_S)
        found = session.client.get(
            "/diagnosis/log", **asked, after=found["cursor"], limit=str(MOST if found["cursor"] else lines)
        )
        _show(session, found)


def _nothing(found: Json) -> str:
    if not found["more"]:
        return "Nothing was logged that fits."
    return f"Nothing fits among {found['looked_at']:,} lines, back to {found['looked_from']}."


def _show(session: Session, found: Json) -> None:
    for line in found["items"]:
        if session.json:
            click.echo(json.dumps(line, ensure_ascii=False))
            continue
        text = "(more than 4,096 bytes)" if line["text"] is None else line["text"]
        process = f"{line['process']}[{line['pid']}]" if line["pid"] else line["process"]
        said = output.clean(f"{line['at']} {line['severity']:<7} {line['source']} {process}: {text}")
        click.echo(click.style(said, fg=COLOURS.get(line["severity"])))


def register(main: click.Group) -> None:
    main.add_command(log)
