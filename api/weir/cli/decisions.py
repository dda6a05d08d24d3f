# SPDX-License-Identifier: Apache-2.0
"""`weir firewall decide` and `ruleset`: which rule decides about a packet, and all that there are."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.group import Command
from weir.cli.kinds import group_of, session_now
from weir.kinds import DECLARED
from weir.kinds.firewall_rule import RAW, STATES


def decide(source: str, destination: str, protocol: str, port: int, **said: Any) -> None:
    session = session_now()
    found = session.client.get(
        "/firewall/decision",
        source=source,
        destination=destination,
        protocol=protocol,
        port=str(port),
        source_port=said["source_port"],
        source_mac=said["source_mac"],
        dscp=said["dscp"],
        in_interface=said["in_interface"],
        out_interface=said["out_interface"],
        state=said["state"],
        at=said["at"],
    )
    if session.json:
        output.show_json(found)
        return
    way = f"From {found['in_interface'] or 'the router'}"
    if found["chain"] != RAW:  # no route was looked up
        way += f" to {found['out_interface'] or 'the router'}"
    click.echo(f"{found['verdict']}: {found['decided_by']['text']}")
    click.echo(f"{way}, chain {found['chain']}.")
    for each in found["translations"]:
        click.echo(f"NAT: {each['text']}")
    for each in found["resting"]:
        click.echo(f"Not at {found['at'].replace('T', ' ')}: {each['text']}")
    for text in found["unsure"]:
        click.echo(f"Not known: {text}.")


def ruleset(chain: str | None) -> None:
    session = session_now()
    found = session.client.get("/firewall/ruleset", chain=chain)
    if session.json:
        output.show_json(found)
        return
    rows = [
        [*("" if item[name] is None else f"{item[name]:,}" for name in ("packets", "bytes")), item["text"]]
        for item in found["items"]
    ]
    output.table(["packets", "bytes", "rule"], rows, right=(0, 1))
    if found["uncounted"]:
        click.echo(f"Not counted: {found['uncounted']}.")
    left_out = found["total"] - len(found["items"])
    if left_out:
        click.echo(f"{left_out:,} more are not listed: ask for one chain.")


def register(main: click.Group) -> None:
    """The verbs of the firewall's policy, and one of its own."""
    group = group_of(DECLARED["firewall"])
    params: list[click.Parameter] = [
        click.Argument(["source"]),
        click.Argument(["destination"]),
        click.Argument(["protocol"], default="tcp"),
        click.Argument(["port"], type=click.IntRange(0, 65_535), default=0),
        click.Option(["--in", "in_interface"], help="The interface by which it arrives."),
        click.Option(["--out", "out_interface"], help="The interface by which it leaves."),
        click.Option(["--source-port"], type=click.IntRange(1, 65_535), help="The sender's port."),
        click.Option(["--source-mac"], help="The sender's hardware address."),
        click.Option(["--dscp"], type=click.IntRange(0, 63), help="Its DSCP."),
        click.Option(["--state"], type=click.Choice(STATES), help="Of its connection."),
        click.Option(["--at"], help="A local time of the router's, such as 2026-11-28T20:30; now otherwise."),
    ]
    said = "Say which rule decides about a packet."
    group.add_command(Command("decide", callback=decide, params=params, help=said))
    params = [click.Argument(["chain"], required=False)]
    said = "List every rule that runs, also those that the policy, zones and NAT add."
    group.add_command(Command("ruleset", callback=ruleset, params=params, help=said))
    main.add_command(group)
