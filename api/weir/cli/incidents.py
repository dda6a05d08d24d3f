# SPDX-License-Identifier: Apache-2.0
"""`weir incidents`: what began lately, and the minutes around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from weir.cli import output
from weir.cli.group import Group, Session, pass_session
from weir.model.units import format_rate

Json = dict[str, Any]
_COLOURS = {"notice": "blue", "warning": "yellow", "error": "red"}
_WAYS = {"rx": "receives", "tx": "sends", "upload": "upload", "download": "download"}


@click.group("incidents", cls=Group, invoke_without_command=True)
@pass_session
def incidents(session: Session) -> None:
    """List what began lately and was recorded, the newest first."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    found = session.client.get("/diagnosis/incidents")
    if session.json:
        output.show_json(found)
        return
    rows = [
        [
            str(item["id"]),
            item["at"],
            item["severity"],
            item["code"],
            item["subject"],
            str(item["times"]),
            item["sentence"],
        ]
        for item in found["items"]
    ]
    if rows:
        output.table(["id", "at", "severity", "code", "subject", "times", "what"], rows, right=(0, 5))
    else:
        click.echo(f"Nothing began since {found['since']}.")
    for problem in found["problems"]:
        click.echo(output.clean(problem), err=True)


@incidents.command("show")
@click.argument("incident_id", metavar="ID", type=click.IntRange(1))
@pass_session
def show(session: Session, incident_id: int) -> None:
    """What happened in the two minutes before and after; `--json` has every second."""
    found = session.client.get(f"/diagnosis/incidents/{incident_id}")
    if session.json:
        output.show_json(found)
        return
    severity = click.style(found["severity"], fg=_COLOURS[found["severity"]])
    click.echo(f"{severity} {found['code']} {output.clean(found['subject'])!r}")
    click.echo(output.clean(found["sentence"]))
    click.echo(f"at {found['at']}, {_extent(found)}")
    if found["times"] > 1:
        click.echo(f"{found['times']} times until {found['last_at']}")
    click.echo()
    for event in found["events"]:
        click.echo(f"{event['at']} {event['severity']:<8} {output.clean(event['sentence'])}")
    rows = list(_rows(found))
    if rows:
        click.echo()
        heads = ["what", "way", "rate before", "after", "drops/s before", "after", "longest wait"]
        output.table(heads, rows, right=range(2, 7))
    if found["left_out"]:
        click.echo(f"{output.counted(found['left_out'], 'other')} did not fit in.")


def _extent(found: Json) -> str:
    if found["state"] == "recording":
        return "still being recorded"
    return "recorded whole" if found["state"] == "whole" else f"recorded until {found['recorded_until']}"


def _rows(found: Json) -> Iterator[list[str]]:
    """Of each interface and queue the means before and after, over the seconds that were measured."""
    for what in ("interfaces", "queues"):
        for item in found[what]:
            for way, word in _WAYS.items():
                if way in item:
                    waits = [value for value in item[way].get("worst_delay_us", ()) if value is not None]
                    yield [
                        item.get("name") or item["id"],
                        word,
                        *(_rate(value) for value in _means(item[way]["rate_bps"])),
                        *(
                            "-" if value is None else f"{value:.1f}"
                            for value in _means(item[way]["drops_ps"])
                        ),
                        f"{max(waits) / 1000:.1f} ms" if waits else "-",
                    ]


def _means(values: Sequence[float | None]) -> list[float | None]:
    """Of both halves; None where nothing was measured."""
    middle = len(values) // 2
    halves = ([value for value in half if value is not None] for half in (values[:middle], values[middle:]))
    return [sum(half) / len(half) if half else None for half in halves]


def _rate(value: float | None) -> str:
    return "-" if value is None else format_rate(round(value))


def register(main: click.Group) -> None:
    main.add_command(incidents)
