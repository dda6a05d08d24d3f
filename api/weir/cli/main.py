# SPDX-License-Identifier: Apache-2.0
"""`weir`: the command line. It does nothing that the REST API cannot do."""

from __future__ import annotations

import click

from weir import __version__
from weir.cli import (
    accounts,
    alerts,
    backup,
    changes,
    decisions,
    doctor,
    drops,
    figures,
    files,
    hosts,
    incidents,
    kinds,
    leases,
    log,
    network,
    path,
    queues,
    search,
    sets,
    speed,
    store,
    support_file,
    system,
    tools,
    tuning,
    tunnels,
    updates,
    why,
)
from weir.cli.group import Group, Session


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--url", envvar="WEIR_URL", help="The router, as in http://192.0.2.1:8080 (WEIR_URL).")
@click.option("--token", envvar="WEIR_TOKEN", help="An API token (WEIR_TOKEN); or use `weir login`.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's answers as JSON.")
@click.version_option(__version__, prog_name="weir", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context, url: str | None, token: str | None, as_json: bool) -> None:
    """Configure and watch a Weir router."""
    session = context.obj = Session(url, token)
    session.json = as_json
    context.call_on_close(session.close)


for group in (
    accounts,
    alerts,
    backup,
    changes,
    decisions,
    doctor,
    drops,
    figures,
    files,
    hosts,
    incidents,
    leases,
    log,
    network,
    path,
    queues,
    search,
    sets,
    speed,
    store,
    support_file,
    system,
    tools,
    tuning,
    tunnels,
    updates,
    why,
    kinds,
):
    group.register(main)

if __name__ == "__main__":
    main()
