# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections as `/ip firewall service-port`.

RouterOS helps all protocols that it knows unless it is told not to, and each helper lets connections in that
nobody asked for by a rule. So those that Weir does not have on are switched off by name. `find` passes over a
name that a release lacks, where a `set` of it would end the import of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from weir.formats.routeros.menus.service_ports import LACKING, PATH
from weir.formats.routeros.writing.script import Property, UnsaidError, command, not_written, section
from weir.kinds.connection_helper import SPOKEN, ConnectionHelper

_OF_ONE_PORT = ("pptp",)
"""RouterOS has no `ports` at these."""


def lines(helpers: Collection[ConnectionHelper]) -> Iterator[str]:
    """What says that these are on and no others."""
    rows = {row.helper: row for row in helpers}
    said, unsaid = [], []
    for name in sorted((*SPOKEN, *LACKING)):
        row = rows.get(name)
        try:
            properties = _on(row) if row else [("disabled", "yes")]
        except UnsaidError as problem:
            properties = [("disabled", "yes")]
            unsaid.append(f"{not_written(f'the helper {name}', str(problem))}\n")
        said.append(command(properties, f"set [ find name={name} ]"))
    yield from section(PATH, said)
    yield from unsaid


def _on(row: ConnectionHelper) -> list[Property]:
    if row.servers:
        raise UnsaidError("RouterOS has no helpers for some servers alone")
    if row.helper not in _OF_ONE_PORT:
        return [("disabled", "no"), ("ports", ",".join(map(str, row.at)))]
    if row.at != (SPOKEN[row.helper].port,):
        raise UnsaidError("its port cannot be set in RouterOS")
    return [("disabled", "no")]
