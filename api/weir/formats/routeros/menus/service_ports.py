# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections: /ip firewall service-port.

RouterOS has them on from the start, and an export names those alone that differ. Here one opens ports for who
asked for it: what the file does not name is not turned on, and what is on here stays so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weir.fields import Port
from weir.formats.routeros.menus.convert import flag
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import Menu, Property, Row
from weir.kinds.connection_helper import MAX_PORTS, SPOKEN, ConnectionHelper
from weir.kinds.firewall import Firewall

PATH = "/ip firewall service-port"
LACKING = ("h323", "irc", "rtsp")
_OF_CONNTRACK = ("dccp", "sctp", "udplite")
_NAMES = (*SPOKEN, *LACKING, *_OF_CONNTRACK)
_LASTS = ("1h", "1h0m", "1h0s", "1h0m0s", "01:00:00")
"""How long SIP's connections are kept by the kernel as well."""


def _named(name: str) -> Callable[[str, Row], Any]:
    return lambda _value, _row: name


def _found(value: str, _row: Row) -> str:
    if value not in _NAMES:
        raise ValueError("no helper of RouterOS has this name")
    return value


def _ports(value: str, _row: Row) -> list[int]:
    texts = [text.strip() for text in value.split(",") if text.strip()]
    found = sorted({Port.parse(int(text) if text.isascii() and text.isdigit() else text) for text in texts})
    if len(found) > MAX_PORTS:
        raise ValueError(f"a helper has up to {MAX_PORTS} ports")
    return found


def _service_port(_router: Router, row: Row) -> None:
    name = row.need("service", "name of a protocol")
    if row.is_disabled:
        row.leave_out("helper-off", "Weir helps a protocol only where you say so.")
    elif name in LACKING:
        row.leave_out("no-helper", f"Weir has no helper for {name}.")
    elif name in _OF_CONNTRACK:
        row.leave_out("no-helper", f"Weir has nothing to set for {name}.")


def _finish(router: Router) -> None:
    present = router.existing.single(Firewall).helpers
    rows = {row.helper: row for row in present}
    for row in router.rows.get(PATH, ()):
        if row.line.fate == "left-out":
            continue
        name = row.need("service", "name of a protocol")
        before = rows.get(name, ConnectionHelper(name))
        ports = before.ports if row.get("ports") is None else tuple(row.get("ports"))
        rows[name] = replace(before, ports=() if ports == (SPOKEN[name].port,) else ports)
        router.want_single("firewall", row.line, {"helpers": [_body(item) for item in rows.values()]})


def _body(row: ConnectionHelper) -> dict[str, Any]:
    return {"helper": row.helper, "ports": list(row.ports), "servers": list(row.servers)}


SERVICE_PORT = Menu(
    PATH,
    "a helper of connections, where the line names ports or says that it is on",
    _service_port,
    {
        **{name: Property("service", _named(name)) for name in _NAMES},
        "find name": Property("service", _found),
        "ports": Property("ports", _ports),
        "disabled": Property("disabled", flag),
    },
    {"sip-direct-media": ("yes",), "sip-timeout": _LASTS},
    ("set",),
    after=_finish,
)
