# SPDX-License-Identifier: Apache-2.0
"""How results are shown: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from weir.kinds.words import label_of, value_text
from weir.model.units import counted as counted
from weir.model.units import format_rate

Json = dict[str, Any]
FATE_COLOURS = {"imported": "green", "changed": "yellow", "warning": "yellow", "left_out": "red"}


def show_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Columns as wide as their content; `right` names the ones with numbers."""
    cells = [list(heads), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for number, row in enumerate(cells):
        parts = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        text = "  ".join(parts).rstrip()
        click.echo(click.style(text, bold=True) if number == 0 else text)


def clean(text: str) -> str:
    """A cell on one line; control characters in a name must not reach the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def pair(rates: Json) -> str:
    """`10M/50M`, upload first; `-` for unlimited."""
    return "/".join(format_rate(value) if value else "-" for value in (rates["upload"], rates["download"]))


def findings(found: Sequence[Json]) -> None:
    """Warnings and errors on standard error."""
    colours = {"error": "red", "warning": "yellow"}
    for item in found:
        where = "/".join(str(part) for part in (item["kind"], item["id"], item["field"]) if part)
        label = click.style(item["severity"], fg=colours.get(item["severity"]))
        click.echo(f"{label}: {clean(where)}: {clean(item['message'])}", err=True)


def committed(answer: Json) -> None:
    """What a commit did, and what it waits for."""
    counts, kernel = answer["counts"], answer["kernel"]["counts"]
    if not any(counts.values()):
        click.echo(f"Revision {answer['revision']} runs already; nothing was changed.")
        return
    click.echo(f"Revision {answer['revision']}: {_changes(counts)}. Kernel entries: {_changes(kernel)}.")
    _effects(answer["kernel"], named=True)
    findings(answer["findings"])
    pending = answer.get("pending")
    if pending:
        click.echo(
            f"It is rolled back in {pending['seconds_left']:.0f} s unless you run:\n"
            f"  weir confirm {pending['revision']} --confirm-token {pending['token']}"
        )


def staged(answer: Json) -> None:
    candidate = answer["candidate"]
    changes = counted(candidate["change_count"], "change")
    click.echo(f"Staged; your candidate has {changes}. See weir diff, weir commit.")


def effect_text(effect: Json) -> str:
    """`resets, at most 1 s: vlan10 is made again`."""
    words = effect["effect"].replace("drops-sessions", "drops sessions")
    if effect["sessions"] is not None:
        least = "" if effect["sessions_complete"] else "at least "
        words += f" ({least}{effect['sessions']})"
    if effect["lasts_ms"] is not None:
        words += f", at most {effect['lasts_ms'] / 1000:g} s"
    return clean(f"{words}: {effect['text']}")


def _effects(kernel: Json, *, named: bool) -> None:
    """What it costs; `named`: which object is to be said."""
    if kernel["effect"] == "hitless":
        click.echo("Effect: hitless, no packet is lost for it.")
    elif kernel["effect"] is None:
        click.echo("Effect on those who send packets: not known.")
    else:
        for item in kernel["effects"] if named else ():
            click.secho(f"{item['kind']} {clean(item['id'])} {effect_text(item)}", fg="yellow")


def _changes(counts: Json) -> str:
    return f"{counts['added']} added, {counts['changed']} changed, {counts['removed']} removed"


def diff(answer: Json) -> None:
    """Objects and fields, then what it does to the kernel."""
    for change in answer["changes"]:
        sign, colour = {"add": ("+", "green"), "remove": ("-", "red")}.get(change["action"], ("~", "yellow"))
        click.secho(f"{sign} {change['kind']} {change['id']} {clean(change['name'])}", fg=colour)
        effect = change.get("effect")
        if effect and effect["effect"] != "hitless":
            click.secho(f"    {effect_text(effect)}", fg="yellow")
        if change["action"] == "change":
            for item in change["fields"]:
                old, new = (_short(value_text(item["field"], item[side])) for side in ("old", "new"))
                click.echo(f"    {label_of(change['kind'], item['field'])}: {old} -> {new}")
    left = answer["total"] - len(answer["changes"])
    if left > 0:
        click.echo(f"... and {left} more")
    kernel = answer.get("kernel")
    if kernel and kernel["available"]:
        click.echo(f"Kernel entries: {_changes(kernel['counts'])}; no other queue is touched.")
        _effects(kernel, named=False)
    elif kernel:
        click.echo(f"Effect on the kernel unknown: {kernel['reason']}")
    findings(answer.get("findings", ()))
    _your_way(answer.get("your_way"))


def _your_way(found: Json | None) -> None:
    """Whether the person would still reach the router."""
    if found is None or found["fate"] == "stays":
        return
    if found["fate"] == "cuts-off-you":
        click.secho(f"Cuts you off: {clean(found['text'])}. Commit it with --confirm-within.", fg="red")
    else:
        click.secho(f"Whether you still reach the router is not known: {clean(found['text'])}.", fg="yellow")


def _short(text: str) -> str:
    return clean(text if len(text) <= 80 else text[:77] + "...")
