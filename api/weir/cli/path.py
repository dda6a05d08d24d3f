# SPDX-License-Identifier: Apache-2.0
"""`weir path`: what the router would do with a packet."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.group import REFUSED, Command, Session, pass_session
from weir.kinds.firewall_rule import STATES

Json = dict[str, Any]
_COLOURS = {"passes": "green", "changes": "cyan", "waits": "yellow", "drops": "red", "unknown": "white"}
_WORDS = {"passes": "ok", "changes": "changes", "waits": "waits", "drops": "DROPS", "unknown": "not known"}
_PLACES = {
    "ingress": "comes in", "source": "source", "queue-in": "queue", "nat-in": "NAT", "route": "route",
    "firewall": "firewall", "nat-out": "NAT", "neighbour": "neighbor", "egress": "leaves",
    "queue-out": "queue", "fast-path": "fast path",
}  # fmt: skip

_OUTCOMES = {"same": "proved", "differs": "DIFFERS", "unknown": "not known"}
_OUTCOME_COLOURS = {"same": "green", "differs": "red", "unknown": "white"}


@click.command("path", cls=Command)
@click.argument("source")
@click.argument("destination")
@click.argument("protocol", default="tcp")
@click.argument("port", type=click.IntRange(0, 65_535), default=0)
@click.option("--in", "in_interface", help="The interface that it comes in by.")
@click.option("--from-router", is_flag=True, help="The router sends it itself.")
@click.option("--source-port", type=click.IntRange(0, 65_535), default=0)
@click.option("--vlan", type=click.IntRange(1, 4_094), help="Its tag on that interface.")
@click.option("--tos", type=click.IntRange(0, 255), default=0, help="The byte of DSCP and ECN.")
@click.option("--state", type=click.Choice(STATES), help="Of its connection.")
@click.option("--candidate", is_flag=True, help="With what is pending of yours.")
@click.option("--prove", is_flag=True, help="Send a frame, which is caught before it leaves, and compare.")
@pass_session
def path(session: Session, /, prove: bool, **packet: Any) -> None:
    """What would the router do with this packet? Exit code 1 when it drops it; with --prove when the
    frame did something else than was foretold."""
    if prove:
        _prove(session, packet)
        return
    for name in ("from_router", "candidate"):
        packet[name] = "true" if packet[name] else None
    found = session.client.get("/diagnosis/path", **packet)
    if session.json:
        output.show_json(found)
    else:
        _show(found)
    if found["fate"] in ("dropped", "rejected"):
        click.get_current_context().exit(REFUSED)


def _prove(session: Session, packet: Json) -> None:
    for name in ("candidate", "state"):
        if packet.pop(name):
            raise click.UsageError(
                f"--prove goes without --{name}: a frame begins a connection, by what runs"
            )
    body = {name: value for name, value in packet.items() if value is not None}
    found = session.client.write("POST", "/diagnosis/path/prove", body)
    if session.json:
        output.show_json(found)
    else:
        _show_proof(found)
    if found["outcome"] == "differs":
        click.get_current_context().exit(REFUSED)


def _show_proof(found: Json) -> None:
    click.echo(output.clean(found["sentence"]))
    click.echo()
    for step in found["steps"]:
        outcome = click.style(f"{_OUTCOMES[step['outcome']]:<9}", fg=_OUTCOME_COLOURS[step["outcome"]])
        told = step["predicted"]
        said = told["sentence"] if told is not None else "Nothing was foretold."
        click.echo(f"{outcome} {_PLACES[step['at']]:<9} {output.clean(said)}")
        click.echo(f"{'':<20}{output.clean(step['sentence'])}")


def _show(found: Json) -> None:
    click.echo(output.clean(found["sentence"]))
    click.echo()
    for step in found["steps"]:
        state = click.style(f"{_WORDS[step['state']]:<9}", fg=_COLOURS[step["state"]])
        click.echo(f"{state} {_PLACES[step['at']]:<9} {output.clean(step['sentence'])}")
        for text in step["details"]:
            click.echo(f"{'':<20}{output.clean(text)}")
        if step["not_known"]:
            click.echo(f"{'':<20}not known: {output.clean('; '.join(step['not_known']))}")


def register(main: click.Group) -> None:
    main.add_command(path)
