# SPDX-License-Identifier: Apache-2.0
"""`weir queue ...` and `weir explain`. Rates and times are written as people type them: 10M, 1.5G, 10s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from weir.cli import output
from weir.cli.client import Client, segment
from weir.cli.group import Command, Group, Session, pass_session
from weir.model.units import format_rate, format_rate_long, parse_duration_ms, parse_rate_bps

Json = dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def each_way(text: str, read: Callable[[str], Any]) -> Json:
    """`10M/50M` is upload/download; one value counts for both. Raises Invalid."""
    upload, slash, download = text.partition("/")
    first = read(upload)
    return {"upload": first, "download": read(download) if slash else first}


def rates(text: str) -> Json:
    return each_way(text, parse_rate_bps)


def durations(text: str) -> Json:
    return each_way(text, parse_duration_ms)


def numbers(text: str) -> Json:
    return each_way(text, _number)


def _number(text: str) -> int:
    if not text.strip().isdigit():
        raise click.BadParameter(f"{text!r} is not a whole number")
    return int(text)


def names(text: str) -> Json:
    return each_way(text, str.strip)


READERS: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "max_limit": ("max_limit_bps", rates, "Limit, UP/DOWN: 10M/50M; 0 = unlimited."),
    "limit_at": ("limit_at_bps", rates, "Guarantee, UP/DOWN."),
    "burst_limit": ("burst_limit_bps", rates, "Rate during a burst, UP/DOWN."),
    "burst_threshold": ("burst_threshold_bps", rates, "Average below which a burst is allowed, UP/DOWN."),
    "burst_time": ("burst_time_ms", durations, "Time of the average, UP/DOWN: 8s/16s."),
    "priority": ("priority", numbers, "1 (best) to 8, UP/DOWN."),
    "type": ("queue_type", names, "Queue type, UP/DOWN."),
    "bucket": ("bucket_size_ms", durations, "Size of the bucket in time at the limit, UP/DOWN."),
}


def options(command: Function) -> Function:
    """The fields of a queue as options; what is not given stays."""
    for name, (_, _, text) in reversed(READERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, metavar="UP/DOWN", help=text)(command)
    for decorate in (
        click.option("--target", multiple=True, help="Prefix or interface; may be repeated."),
        click.option("--dst", help="Only traffic to this prefix or interface."),
        click.option("--parent", help="Id or name of the parent; `none` for the top."),
        click.option("--comment"),
        click.option("--disabled/--enabled", default=None),
        click.option("--candidate", is_flag=True, help="Stage it in your candidate."),
    ):
        command = decorate(command)
    return command


def body_of(client: Client, given: Json) -> Json:
    """The JSON fields for the options that were given."""
    body: Json = {}
    for name, (field, read, _) in READERS.items():
        if given.get(name) is not None:
            body[field] = read(given[name])
    for name in ("dst", "comment", "disabled"):
        if given.get(name) is not None:
            body[name] = given[name]
    if given.get("target"):
        body["target"] = [part for text in given["target"] for part in text.replace(",", " ").split()]
    if given.get("parent") is not None:
        parent = given["parent"]
        body["parent"] = None if parent in ("none", "") else client.find_queue(parent)["id"]
    return body


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


@click.group("queue", cls=Group)
def queue() -> None:
    """Simple queues."""


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


@queue.command("show")
@click.argument("name")
@pass_session
def show(session: Session, name: str) -> None:
    """Show a queue by id or name."""
    found = session.client.find_queue(name)
    if session.json:
        output.show_json(found)
    else:
        show_queue(found)


def _finish(session: Session, answer: Json, done: str) -> None:
    if session.json:
        output.show_json(answer)
    elif "candidate" in answer:
        output.staged(answer)
    else:
        click.echo(f"{done} {answer['id']}.")
        output.findings(answer["warnings"])


def _staging(candidate: bool) -> dict[str, str]:
    return {"candidate": "1"} if candidate else {}


@queue.command("add")
@click.argument("name")
@click.option("--id", "queue_id", help="Assigned when omitted.")
@options
@pass_session
def add(session: Session, /, name: str, queue_id: str | None, candidate: bool, **given: Any) -> None:
    """Create a queue."""
    body = {"name": name, **body_of(session.client, given)}
    if queue_id:
        body["id"] = queue_id
    answer = session.client.write("POST", "/queues", body, params=_staging(candidate))
    _finish(session, answer, "Created")


@queue.command("set")
@click.argument("name")
@click.option("--rename", help="A new name.")
@options
@pass_session
def change(session: Session, /, name: str, rename: str | None, candidate: bool, **given: Any) -> None:
    """Change fields of a queue."""
    present = _as_staged(session.client, session.client.find_queue(name), candidate)
    body = body_of(session.client, given)
    if rename is not None:
        body["name"] = rename
    if not body:
        raise click.UsageError("Nothing to change; give at least one option.")
    path = f"/queues/{segment(present['id'])}"
    answer = session.client.write("PATCH", path, body, etag=present["etag"], params=_staging(candidate))
    _finish(session, answer, "Changed")


def _as_staged(client: Client, present: Json, candidate: bool) -> Json:
    return client.get(f"/queues/{segment(present['id'])}", candidate="1") if candidate else present


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
    path = f"/queues/{segment(queue_id)}/move"
    answer = client.write("POST", path, {"before": target}, params=_staging(candidate))
    _finish(session, answer, "Moved")


@queue.command("raise")
@click.argument("name")
@click.argument("limit", metavar="UP/DOWN")
@click.option("--for", "for_text", default="1h", show_default=True, help="How long: 30m, 1h, 2d.")
@pass_session
def raise_limit(session: Session, name: str, limit: str, for_text: str) -> None:
    """Raise a queue's limit for a while; it goes back by itself."""
    path = f"/queues/{segment(session.client.find_queue(name)['id'])}/raise"
    body = {"max_limit_bps": rates(limit), "for_s": parse_duration_ms(for_text) // 1000}
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
    main.add_command(queue)
    main.add_command(explain)
