# SPDX-License-Identifier: Apache-2.0
"""From where the router may be managed, and port and networks of its SSH server: /ip service.

Weir's web interface and API are one service with one list of networks. People came by `www`, `www-ssl` and
WinBox, programs by the API: who could come by one of these may come, and nobody else. A service that the file
does not name is as RouterOS has it from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weir.formats.routeros.menus.convert import flag, prefix, text
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.admitted import MAX_SOURCES

PEOPLE = {"www": True, "winbox": True, "www-ssl": False}
"""Whether it is on from the start."""
PROGRAMS = ("api", "api-ssl")
OTHERS = ("ssh", "telnet", "ftp", "reverse-proxy")


def _networks(value: str, row: Row) -> list[str]:
    return [prefix(item.strip(), row) for item in value.split(",") if item.strip()]


def _named(name: str) -> Callable[[str, Row], Any]:
    return lambda _value, _row: name


def _service(router: Router, row: Row) -> None:
    name = row.need("service", "name of a service")
    if name == "ssh":
        _ssh(router, row)
    elif name in OTHERS:
        row.leave_out("no-service", f"Weir has no {name}.")
    elif "port" in row.values:
        row.warn("port", "Weir's web interface and API answer on the ports 80 and 443.")


def _ssh(router: Router, row: Row) -> None:
    """Its port and networks. Nobody comes before there are keys, so it is not switched on."""
    if row.is_disabled or not {"port", "sources"} & row.values.keys():
        row.leave_out("ssh", "Weir's SSH server is off until you switch it on; say there who may come.")
        return
    body = {"sources": row.get("sources", [])}
    if row.get("port", "").isdecimal():
        body["port"] = int(row.values["port"])
    router.want_single("ssh-server", row.line, body)
    row.changed("ssh", "Weir's SSH server takes keys only: add one, then switch the server on.")


def _finish(router: Router) -> None:
    rows = [row for row in router.rows.get("/ip service", ()) if row.line.fate != "left-out"]
    said: dict[str, Row] = {name: row for row in rows if (name := row.get("service", "")) not in OTHERS}
    on = {name: _is_on(name, said) for name in (*PEOPLE, *PROGRAMS)}
    everywhere = [name for name in PEOPLE if on[name] and not _sources(name, said)]
    networks = sorted({item for name in on if on[name] for item in _sources(name, said)})
    for name, row in said.items():
        if not on[name]:
            row.leave_out("service-off", "Weir always serves its web interface: say who reaches it.")
        elif not _sources(name, said):
            row.leave_out("sources", "It bounds nobody.")
        elif everywhere:
            row.warn("sources", f"Not taken: by {everywhere[0]} people came from everywhere.")
        elif len(networks) > MAX_SOURCES:
            row.leave_out("too-many-networks", f"Management has {MAX_SOURCES} networks at most.")
        else:
            router.want_single("management", row.line, {"sources": networks})


def _is_on(name: str, said: dict[str, Row]) -> bool:
    """Programs count only where the file says from where they come."""
    row = said.get(name)
    if row is None:
        return PEOPLE.get(name, False)
    return not row.is_disabled and (name in PEOPLE or bool(row.get("sources")))


def _sources(name: str, said: dict[str, Row]) -> list[str]:
    found: list[str] = said[name].get("sources", []) if name in said else []
    return found


SERVICE = Menu(
    "/ip service",
    "the networks from which the web interface and the API are reached, if every way to them was bounded; "
    "port and networks of the SSH server, which stays off",
    _service,
    {
        **{name: Property("service", _named(name)) for name in (*PEOPLE, *PROGRAMS, *OTHERS)},
        "address": Property("sources", _networks),
        "port": Property("port", text),
        "disabled": Property("disabled", flag),
    },
    {"certificate": ANY, "tls-version": ANY, "vrf": ("main",), "max-sessions": ANY},
    ("set",),
    after=_finish,
)
