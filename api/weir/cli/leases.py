# SPDX-License-Identifier: Apache-2.0
"""`weir lease`: who has which address."""

from __future__ import annotations

import click

from weir.cli import output
from weir.cli.group import Group, Session, pass_session


@click.group("lease", cls=Group)
def lease() -> None:
    """Addresses that this router's DHCP servers gave."""


@lease.command("list")
@click.option("--search", "words", help="Part of address, MAC or host name.")
@pass_session
def list_(session: Session, words: str | None) -> None:
    """List the leases that have not ended, by address."""
    found = list(session.client.pages("/leases", q=words))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("ADDRESS", "MAC", "HOST NAME", "SERVER", "UNTIL", "RESERVATION"),
        [
            (
                item["address"],
                item["mac"] or "-",
                item["hostname"] or "-",
                item["server"],
                item["expires_at"],
                item["reservation"] or "-",
            )
            for item in found
        ],
    )


def register(main: click.Group) -> None:
    main.add_command(lease)
