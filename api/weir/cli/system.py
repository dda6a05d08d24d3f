# SPDX-License-Identifier: Apache-2.0
"""`weir stats top`."""

from __future__ import annotations

import time
from typing import Any

import click

from weir.cli import output
from weir.cli.group import Command, Group, Session, pass_session
from weir.cli.queues import rate_cell

Json = dict[str, Any]
ORDERS = (
    "rate_download",
    "rate_upload",
    "rate_total",
    "drops",
    "minute_rate_download",
    "minute_rate_upload",
    "load",
)


@click.group("stats", cls=Group)
def stats() -> None:
    """Live figures."""


@stats.command("top")
@click.option("--count", "-n", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--by", type=click.Choice(ORDERS), default="rate_download", show_default=True)
@click.option("--watch", is_flag=True, help="Every second, until Ctrl-C.")
@pass_session
def top(session: Session, count: int, by: str, watch: bool) -> None:
    """The busiest queues."""
    while True:
        answer = session.client.get("/stats/queues", top=count, by=by)
        if watch and not session.json:
            click.clear()
        show_top(session, answer)
        if not watch:
            return
        time.sleep(1)


def show_top(session: Session, answer: Json) -> None:
    if session.json:
        output.show_json(answer)
        return
    if answer["stale_since"] is not None:
        since = time.strftime("%H:%M:%S", time.localtime(answer["stale_since"]))
        click.secho(f"No data since {since}: {answer['stale_reason']}", fg="red", err=True)
    ids = [item["id"] for item in answer["items"]]
    found = session.client.get("/queues", ids=",".join(ids), limit=1000)["items"] if ids else []
    names = {item["id"]: item["name"] for item in found}
    output.table(
        ("ID", "NAME", "UP", "DOWN", "UP 1 MIN", "DOWN 1 MIN", "DROPS/S", "DELAY", "FAST"),
        [
            (
                item["id"],
                names.get(item["id"], ""),
                rate_cell(item["rate_bps"]["upload"]),
                rate_cell(item["rate_bps"]["download"]),
                rate_cell(item["minute_rate_bps"]["upload"]),
                rate_cell(item["minute_rate_bps"]["download"]),
                f"{item['drops_ps']['upload'] + item['drops_ps']['download']:.0f}",
                delay_cell(item["delay_us"]),
                "-" if item["fast_share"] is None else f"{item['fast_share']:.0%}",
            )
            for item in answer["items"]
        ],
        right=(2, 3, 4, 5, 6, 7, 8),
    )
    for column, field, value in (
        ("DELAY", "delay_reason", "delay_us"),
        ("FAST", "fast_share_reason", "fast_share"),
    ):
        reasons = dict.fromkeys(item[field] for item in answer["items"] if item[value] is None)
        for reason in reasons:
            click.echo(f"{column} -: {reason}.", err=True)


def delay_cell(delay_us: Json | None) -> str:
    """The longer one of both directions; `-` where nothing can have waited."""
    if delay_us is None:
        return "-"
    longer_us = max(delay_us["upload"], delay_us["download"])
    return f"{longer_us:.0f} us" if longer_us < 1000 else f"{longer_us / 1000:.1f} ms"


@click.command("system", cls=Command)
@pass_session
def system(session: Session) -> None:
    """Version, kernel, capabilities, as JSON."""
    output.show_json(session.client.get("/system"))


def register(main: click.Group) -> None:
    for command in (stats, system):
        main.add_command(command)
