# SPDX-License-Identifier: Apache-2.0
"""`weir ping`, `weir mtr` and the other tools: a command for each declaration."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import click
import httpx

from weir.cli import output
from weir.cli.group import REFUSED, Command, fail
from weir.cli.kind_options import given_body, parameters_of
from weir.cli.kinds import session_now
from weir.kinds.words import titled, unit_of, value_text
from weir.model.units import format_rate
from weir.tools import TOOLS, Tool
from weir.tools.tool import LINES

Json = dict[str, Any]


def run(tool: Tool, **given: Any) -> None:
    """Start it, show what it says, and end it with this command."""
    session = session_now()
    with session.client.stream("POST", f"/tools/{tool.name}", given_body(given)) as response:
        events = events_of(response)
        if session.json:
            for event, values in events:
                click.echo(json.dumps({"event": event, **values}, ensure_ascii=False))
            return
        end = _show(tool, events)
    if end.get("reason") in ("failed", "lost"):
        fail(str(end["message"]), REFUSED)


def save(tool: Tool, file: str, **given: Any) -> None:
    """Write what it sees to a file."""
    session = session_now()
    if file == "-" and sys.stdout.isatty():
        raise click.UsageError("Give --file, or send the output elsewhere: it is not text.")
    with session.client.stream("POST", f"/tools/{tool.name}", given_body(given)) as response:
        click.echo(output.clean(response.headers.get("X-Tool-Note", "")), err=True)
        with click.open_file(file, "wb") as target:
            try:
                for data in response.iter_bytes():
                    target.write(data)
            except httpx.RemoteProtocolError:
                fail(f"The {tool.name} was cut short; what is written is what came until then.", REFUSED)


def events_of(response: httpx.Response) -> Iterator[tuple[str, Json]]:
    """The events of a stream (HTML Living Standard, 9.2), each with the object in its data."""
    event = ""
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            yield event, json.loads(value)


def _show(tool: Tool, events: Iterator[tuple[str, Json]]) -> Json:
    """Events as lines; those of which each replaces an earlier one as a table at the end, and on a terminal
    after each round. The last event."""
    rows: dict[Any, Json] = {}
    try:
        for event, values in events:
            if event == "end":
                return values
            if tool.key in values:
                if sys.stdout.isatty() and rows and values[tool.key] == next(iter(rows)):
                    click.clear()
                    _table(tool, rows.values())
                rows[values[tool.key]] = values
            else:
                names = tool.columns.get(event, tuple(values))
                said = (f"{titled(name).lower()} {_text(name, values[name])}" for name in names)
                click.echo(f"{event}: {output.clean(', '.join(said))}")
        return {}
    finally:
        if rows:
            if sys.stdout.isatty():
                click.clear()
            _table(tool, rows.values())


def _table(tool: Tool, rows: Iterable[Json]) -> None:
    names = next(iter(tool.columns.values()))
    cells = [[output.clean(_text(name, row[name])) for name in names] for row in rows]
    output.table([titled(name).upper() for name in names], cells)


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    # What was measured has no digit more than is read.
    return format_rate(value) if unit_of(name) == "bps" else value_text(name, value)


def _command(tool: Tool) -> click.Command:
    params = parameters_of(tool.members)
    callback: Callable[..., None] = partial(run, tool)
    if tool.answers != LINES:
        callback = partial(save, tool)
        params.append(click.Option(["--file"], default="-", help="Where it is written; - is the output."))
    return Command(tool.name, callback=callback, params=params, help=tool.about)


def register(main: click.Group) -> None:
    for tool in TOOLS.values():
        main.add_command(_command(tool))
