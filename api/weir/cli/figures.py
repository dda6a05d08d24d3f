# SPDX-License-Identifier: Apache-2.0
"""`weir figures`: what the system did in the last minutes, up to a day."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from weir.cli import output
from weir.cli.group import Command, Session, pass_session

Json = dict[str, Any]
_LEVELS = "▁▂▃▄▅▆▇█"
_UNKNOWN = "·"
"""Not measured, which is not the lowest level."""
COLUMNS = 48


@click.command("figures", cls=Command)
@click.argument("figures", nargs=-1, metavar="[FIGURE]...")
@click.option(
    "--minutes", type=click.IntRange(1, 1440), default=1440, show_default=True, help="How far back to look."
)
@pass_session
def figures(session: Session, figures: Sequence[str], minutes: int) -> None:
    """Show the system's own figures by the minute: cores, memory, connections, drops.

    Without a FIGURE, those with one line each; `core`, `core-softirq`, `stalled` and others have a line for
    each core, service or interface. `·` was not measured. `--json` has every minute.
    """
    wanted = ",".join(figures) or None
    found = session.client.get("/diagnosis/figures", minutes=str(minutes), figures=wanted)
    marked = session.client.get("/diagnosis/marks", minutes=str(minutes))
    if session.json:
        output.show_json({**found, "marks": marked["items"]})
        return
    click.echo(f"From {_clock(found['start'])}, {output.counted(found['minutes'], 'minute')}.")
    heads = ["figure", "of", "least", "mean", "most", "now", "past"]
    output.table(heads, list(_rows(found)), right=range(2, 6))
    for mark in marked["items"]:
        click.echo(f"{mark['at']} {mark['kind']:<8} {output.clean(mark['sentence'])}")
    for item in found["unseen"]:
        click.echo(f"Not known of {item['id']} now: {output.clean(item['reason'])}")
    for problem in found["problems"]:
        click.echo(output.clean(problem), err=True)


def _rows(found: Json) -> Iterator[list[str]]:
    for item in found["items"]:
        measured = [value for value in item["values"] if value is not None]
        if not measured:
            continue
        unit, most = item["unit"], [value for value in item["most"] or measured if value is not None]
        mean = sum(measured) if item["adds_up"] else sum(measured) / len(measured)
        yield [
            item["figure"],
            item["subject"] or "",
            _shown(min(measured), unit),
            _shown(mean, unit) + (" in all" if item["adds_up"] else ""),
            _shown(max(most), unit),
            "-" if item["values"][-1] is None else _shown(item["values"][-1], unit),
            _past(item["values"]),
        ]


def _past(values: Sequence[float | None]) -> str:
    """The most of each part of the time, as heights; a scale that begins at zero."""
    parts = min(COLUMNS, len(values))
    edges = [len(values) * number // parts for number in range(parts + 1)]
    cut = [
        [value for value in values[begin:end] if value is not None]
        for begin, end in itertools.pairwise(edges)
    ]
    highest = max((max(part) for part in cut if part), default=0.0) or 1.0
    last = len(_LEVELS) - 1
    return "".join(
        _LEVELS[min(round(max(part) / highest * last), last)] if part else _UNKNOWN for part in cut
    )


def _shown(value: float, unit: str) -> str:
    if unit == "share":
        return f"{value:.1%}"
    if unit == "s":
        return f"{value * 1000:.1f} ms"
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:.1f}"


def _clock(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def register(main: click.Group) -> None:
    main.add_command(figures)
