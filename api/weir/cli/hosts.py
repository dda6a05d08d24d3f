# SPDX-License-Identifier: Apache-2.0
"""`weir host`: who is beside the router."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.group import Group, Session, pass_session


@click.group("host", cls=Group)
def host() -> None:
    """Stations beside the router, as ARP and neighbour discovery know them."""


@host.command("list")
@click.option(
    "--search", "words", help="Part of interface, MAC, address or name; or a whole address or prefix."
)
@pass_session
def list_(session: Session, words: str | None) -> None:
    """List every address with its state and the queue that limits it."""
    found = list(session.client.pages("/hosts", q=words))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("INTERFACE", "MAC", "ADDRESS", "NAME", "STATE", "SEEN", "QUEUE"),
        [
            (
                item["interface"],
                item["mac"] or "-",
                each["address"],
                each["name"] or "-",
                each["state"],
                _ago(each["confirmed_s"]),
                each["queue"]["name"] if each["queue"] else "-",
            )
            for item in found
            for each in item["addresses"]
        ],
    )


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.0f} s ago"


def register(main: click.Group) -> None:
    main.add_command(host)
