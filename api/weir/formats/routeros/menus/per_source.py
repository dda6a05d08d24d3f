# SPDX-License-Identifier: Apache-2.0
"""Limits of each source in RouterOS' firewall: `connection-limit`, and `dst-limit` by source address."""

from __future__ import annotations

import re

from weir.formats.quantity import time_ms
from weir.formats.routeros.menus.router import Json
from weir.formats.routeros.menus.table import Property, Row
from weir.kinds.source_limit import OVER, WITHIN

_CONNECTIONS = re.compile(r"([0-9]{1,7}),([0-9]{1,3})")
_RATE = re.compile(r"([0-9]{1,9})(?:/([0-9a-z:]{1,20}))?,([0-9]{1,9}),([a-z-]+)(?:/[0-9a-z:]{1,20})?")
_TIMES_MS = (("second", 1_000), ("minute", 60_000), ("hour", 3_600_000))


def _length_field(row: Row) -> str:
    return "ipv6_length" if row.menu.root == "/ipv6" else "ipv4_length"


def _connections(value: str, row: Row) -> Json:
    match = _CONNECTIONS.fullmatch(value)
    if match is None:
        raise ValueError("expected a number of connections and a prefix length")
    number, length = int(match[1]), int(match[2])
    if number < 1 or not 1 <= length <= (128 if row.menu.root == "/ipv6" else 32):
        raise ValueError("Weir counts one connection at least, by one bit of the address at least")
    return {"match": OVER, "connections": number, _length_field(row): length}


def _rate(value: str, row: Row) -> Json:
    match = _RATE.fullmatch(value)
    if match is None:
        raise ValueError("expected a number of packets in a time, a burst and a mode")
    if match[4] != "src-address":
        raise ValueError("Weir counts by source address")
    count, span_ms, burst = int(match[1]), time_ms(match[2]) if match[2] else 1000, int(match[3])
    for per, per_ms in _TIMES_MS:
        if span_ms and count and not count * per_ms % span_ms and 1 <= burst <= 100_000:
            rate = count * per_ms // span_ms
            whole = {_length_field(row): 128 if row.menu.root == "/ipv6" else 32}
            if rate <= 1_000_000:
                return {"match": WITHIN, "rate": rate, "per": per, "burst": burst, **whole}
    raise ValueError(
        "Weir's rates are whole packets per second, minute or hour, with a burst of one at least"
    )


SOURCE_LIMITS = {
    "connection-limit": Property("connection_limit", _connections),
    "dst-limit": Property("dst_limit", _rate),
}


def source_limit(row: Row, body: Json) -> None:
    """The rule's limit of each source; `unfit` where Weir has none such."""
    said = [key for key, known in SOURCE_LIMITS.items() if known.field in row.values]
    if not said:
        return
    limit: Json = row.values[SOURCE_LIMITS[said[0]].field]
    refused = ("accept", "return") if limit["match"] == OVER else ("drop", "reject")
    states = body.get("ct_state")
    if len(said) > 1:
        row.unfit.append("connection-limit and dst-limit at once")
    elif body["action"] in refused:
        row.unfit.append(f"{row.shown(said[0])} (what cannot be counted would pass)")
    elif "connections" in limit and states is not None and "new" not in states:
        row.unfit.append(f"{row.shown(said[0])} (connections are counted by their first packets)")
    else:
        body["source_limit"] = limit
        if "connections" in limit and states != ["new"]:
            text = "Weir counts connections by their first packets, and the rule matches these only."
            row.changed("first-packets", text)
