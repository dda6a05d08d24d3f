# SPDX-License-Identifier: Apache-2.0
"""`weir queue ...` and `weir explain`. Rates and times are written as people type them: 10M, 1.5G, 10s."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.client import segment
from weir.cli.group import Command, Session, pass_session
from weir.cli.kinds import Verbs, group_of, session_now, write
from weir.cli.quantities import PairType
from weir.fields import Whole
from weir.kinds import DECLARED
from weir.model.limits import MAX_RATE_BPS
from weir.model.units import format_rate, format_rate_long, parse_duration_ms

Json = dict[str, Any]


class QueueVerbs(Verbs):
    """Queues are named by their id or their name."""

    def body_of(self, given: Json) -> Json:
        body = super().body_of(given)
        if "target" in body:
            body["target"] = [part for text in body["target"] for part in text.replace(",", " ").split()]
        if "parent" in body:
            parent = body["parent"]
            found = None if parent in ("none", "") else session_now().client.find_queue(parent)
            body["parent"] = found and found["id"]
        return body

    def show(self, object_id: str = "") -> None:
        session = session_now()
        found = session.client.find_queue(object_id)
        if session.json:
            output.show_json(found)
        else:
            show_queue(found)

    def _at(self, object_id: str) -> str:
        return super()._at(session_now().client.find_queue(object_id)["id"])


queue = group_of(DECLARED["queue"], QueueVerbs(DECLARED["queue"]))
"""The verbs that follow from the declaration; those below take their place, or are more."""


def show_queue(item: Json) -> None:
    path = "/".join(part["name"] for part in item["path"])
    lines = [
        ("id", item["id"]),
        ("name", item["name"]),
        ("target", ", ".join(item["target"]) or "-"),
        ("dst", item["dst"]),
        ("parent", path or None),
        *((name.replace("_", " "), _both(item[f"{name}_bps"])) for name in ("max_limit", "limit_at")),
        ("burst", _burst(item)),
        ("priority", "/".join(str(item["priority"][way]) for way in ("upload", "download"))),
        ("queue type", "/".join(item["queue_type"][way] for way in ("upload", "download"))),
        ("time", _time(item["time"])),
        ("comment", item["comment"] or None),
        ("state", "disabled" if item["disabled"] else "enabled"),
    ]
    for name, value in lines:
        if value is not None:
            click.echo(f"{name + ':':<12} {output.clean(str(value))}")
    for entry in item["enforcement"]:
        if not entry["enforced"]:
            click.echo(f"not enforced: {entry['field']}: {entry['note']}", err=True)
    output.findings(item["warnings"])


def _both(pair: Json) -> str:
    return f"{format_rate_long(pair['upload'])} up, {format_rate_long(pair['download'])} down"


def _burst(item: Json) -> str | None:
    limits = item["burst_limit_bps"]
    return _both(limits) if limits["upload"] or limits["download"] else None


def _time(window: Json | None) -> str | None:
    return f"{window['start']}-{window['end']} {','.join(window['days'])}" if window else None


@queue.command("list")
@click.option("-q", "--search", help="Part of a name, or an address.")
@click.option("--parent", help="Only children of this queue; `none` for the top level.")
@click.option("--sort", default="position", show_default=True, help="name, -rate_download, ...")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=100, show_default=True)
@pass_session
def list_queues(session: Session, search: str | None, parent: str | None, sort: str, limit: int) -> None:
    """List queues."""
    if parent not in (None, "none"):
        parent = session.client.find_queue(str(parent))["id"]
    found = list(session.client.pages("/queues", most=limit, q=search, parent=parent, sort=sort))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("ID", "NAME", "TARGET", "MAX LIMIT", "PARENT", ""),
        [
            (
                item["id"],
                item["name"],
                ",".join(item["target"][:2]) + (",..." if len(item["target"]) > 2 else ""),
                output.pair(item["max_limit_bps"]),
                item["path"][-1]["name"] if item["path"] else "",
                " ".join((["disabled"] if item["disabled"] else []) + (["!"] if item["warnings"] else [])),
            )
            for item in found
        ],
        right=(3,),
    )


def _staging(candidate: bool) -> dict[str, str]:
    return {"candidate": "1"} if candidate else {}


@queue.command("rm")
@click.argument("names", nargs=-1, required=True)
@click.option("--candidate", is_flag=True, help="Stage it in your candidate.")
@pass_session
def remove(session: Session, names: tuple[str, ...], candidate: bool) -> None:
    """Delete queues, all of them or none."""
    ids = [session.client.find_queue(name)["id"] for name in names]
    answer = session.client.write("POST", "/queues/bulk", {"delete": ids}, params=_staging(candidate))
    if session.json:
        output.show_json(answer)
    elif candidate:
        output.staged(answer)
    else:
        click.echo(f"Deleted {', '.join(answer['deleted'])}.")
        output.findings(answer["findings"])


@queue.command("move")
@click.argument("name")
@click.option("--before", help="Id or name of a queue of the same parent; without it, to the end.")
@click.option("--candidate", is_flag=True, help="Stage it in your candidate.")
@pass_session
def move(session: Session, name: str, before: str | None, candidate: bool) -> None:
    """Move a queue in the order in which they match."""
    client = session.client
    queue_id = client.find_queue(name)["id"]
    target = client.find_queue(before)["id"] if before else None
    write(session, f"/queues/{segment(queue_id)}/move", "POST", {"before": target}, candidate, None)


@queue.command("raise")
@click.argument("name")
@click.argument("limit", metavar="UP/DOWN", type=PairType(Whole(0, MAX_RATE_BPS), "bps"))
@click.option("--for", "for_text", default="1h", show_default=True, help="How long: 30m, 1h, 2d.")
@pass_session
def raise_limit(session: Session, name: str, limit: Json, for_text: str) -> None:
    """Raise a queue's limit for a while; it goes back by itself."""
    path = f"/queues/{segment(session.client.find_queue(name)['id'])}/raise"
    body = {"max_limit_bps": limit, "for_s": parse_duration_ms(for_text) // 1000}
    answer = session.client.write("POST", path, body)
    if session.json:
        output.show_json(answer)
    else:
        click.echo(f"{name} has {_both(answer['max_limit_bps'])} until {answer['until']}.")


@queue.command("lower")
@click.argument("name")
@pass_session
def lower(session: Session, name: str) -> None:
    """Take a raised limit back now."""
    path = f"/queues/{segment(session.client.find_queue(name)['id'])}/raise"
    answer = session.client.write("DELETE", path)
    if session.json:
        output.show_json(answer)
    elif answer["went_back"]:
        click.echo(f"{name} has its previous limit again.")
    else:
        click.echo(f"The limit of {name} was changed meanwhile and stays.")


@queue.command("raised")
@pass_session
def raised(session: Session) -> None:
    """List the limits that are raised now."""
    found = session.client.get("/raises")
    if session.json:
        output.show_json(found)
        return
    output.table(
        ("ID", "LIMIT", "BEFORE", "UNTIL", "BY", ""),
        [
            (
                item["queue_id"],
                output.pair(item["max_limit_bps"]),
                output.pair(item["before_bps"]),
                item["until"],
                item["author"],
                item["held_up"] or "",
            )
            for item in found["items"]
        ],
    )


@click.command("explain", cls=Command)
@click.argument("name")
@pass_session
def explain(session: Session, name: str) -> None:
    """What a queue was compiled into, what the kernel holds, and whether they agree."""
    found = session.client.find_queue(name)
    answer = session.client.get(f"/queues/{segment(found['id'])}/explain")
    if session.json:
        output.show_json(answer)
        return
    output.table(
        ("", "FIELD", "ASKED", "COMPILED", "KERNEL"),
        [
            (
                "ok" if line["agrees"] else "!!",
                line["field"],
                *(
                    line[place] if line[place] is not None else "-"
                    for place in ("asked", "compiled", "kernel")
                ),
            )
            for line in answer["lines"]
        ],
    )
    click.echo("The kernel agrees." if answer["agrees"] else "The kernel does NOT agree.")


def rate_cell(value: float) -> str:
    return format_rate(value) if value else "0"


def register(main: click.Group) -> None:
    queue.add_command(explain)
    main.add_command(queue)
    main.add_command(explain)
