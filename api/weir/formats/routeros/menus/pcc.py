# SPDX-License-Identifier: Apache-2.0
"""/ip firewall mangle: connections that are shared over several ways out (RouterOS manual, Per connection
classifier) become uplinks with weights. That is taken as a whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_interface

from weir.formats.identity import slug
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import Menu, Row
from weir.model.address import parse_host
from weir.model.problem import Invalid

_ROUTES = "/ip route"
_EVERYTHING = "0.0.0.0/0"
_CLASS = re.compile(r"([a-z-]{1,40}):([0-9]{1,3})/([0-9]{1,3})")
_PAIRS = "both-addresses"
_MOST_WAYS = 16
_NO_MARKS = "Weir marks no packets and connections."
_BY_ITSELF = (
    "Weir's uplinks do this by themselves: a connection keeps its uplink, and answers leave where it came in."
)
_WHO = {"in-interface", "in-interface-list"}
_SAID = {"chain", "action", "comment", "disabled", "log", "log-prefix", "passthrough"}
_OF_NEW = {"connection-mark", "connection-state", "dst-address-type", "per-connection-classifier", *_WHO}
_USUAL = {"connection-mark": "no-mark", "connection-state": "new", "dst-address-type": "!local"}


@dataclass(slots=True)
class _Shared:
    """`routes` are the lines of routes that uplinks are in the place of."""

    routes: dict[LineDraft, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Way:
    """A routing table's way out, and how many parts of the connections take it."""

    table: str
    weight: int
    rows: list[Row]
    route: Row
    interface: str
    gateway: str | None


def _shared(router: Router) -> _Shared:
    return router.once("shared connections", _Shared)


def takes_route(router: Router, row: Row) -> bool:
    """Whether a route is part of an uplink, which its line says then."""
    words = _shared(router).routes.get(row.line)
    if words:
        row.changed("uplink", words)
    return words is not None


def _keep(_router: Router, _row: Row) -> None:
    """Rules are looked at together, in `_settle`."""


def _settle(router: Router) -> None:
    rows = [row for row in router.rows.get(MANGLE.path, ()) if row.line.fate != "left-out"]
    sharing = [row for row in rows if "per-connection-classifier" in row.given and not row.is_disabled]
    ways: list[_Way] = []
    reason = _NO_MARKS
    if sharing:
        try:
            ways = _ways(router, rows, sharing)
        except (ValueError, Invalid) as problem:
            why = problem.message if isinstance(problem, Invalid) else str(problem)
            reason = f"{_NO_MARKS} It would be uplinks with weights, but {why}."
    for way in ways:
        _make(router, way)
    if ways:
        _pass_over(router, ways)
    marks = {row.given["new-connection-mark"] for row in sharing} if ways else set()
    for row in rows:
        if ways and row in sharing:
            continue
        if marks and _is_by_itself(row, marks):
            row.changed("uplink", _BY_ITSELF)
        else:
            row.leave_out("mangle", reason)


def _is_by_itself(row: Row, marks: Collection[str]) -> bool:
    given = row.given
    if given.get("action") == "mark-routing":
        return given.get("connection-mark") in marks
    if given.get("action") == "mark-connection":
        return given.get("new-connection-mark") in marks
    narrow = _SAID | _WHO | {"dst-address", "dst-address-list", "dst-address-type"}
    return given.get("action", "accept") == "accept" and given.keys() <= narrow and "dst-address" in given


def _ways(router: Router, rows: list[Row], sharing: list[Row]) -> list[_Way]:
    """Raises `ValueError` with what is missing, as the end of a sentence."""
    parts = _parts(sharing)
    found = []
    for mark, taken in parts.items():
        tables = {
            row.given.get("new-routing-mark", "")
            for row in rows
            if (row.given.get("action"), row.given.get("chain")) == ("mark-routing", "prerouting")
            and row.given.get("connection-mark") == mark
            and not row.is_disabled
        }
        if len(tables) != 1:
            raise ValueError(f"connections marked {quoted(mark)} have no routing table of their own")
        table = next(iter(tables))
        found.append(_way(router, table, taken))
    if len({way.table for way in found}) < len(found) or not 2 <= len(found) <= _MOST_WAYS:
        raise ValueError("it does not lead to several routing tables")
    if len({way.interface for way in found}) < len(found):
        raise ValueError("two of its ways leave by one interface")
    return found


def _parts(sharing: list[Row]) -> dict[str, list[Row]]:
    """The rules by their marks; together they are about each connection once."""
    found: dict[str, list[Row]] = {}
    seen: list[tuple[int, int]] = []
    for row in sharing:
        given = row.given
        if (given.get("action"), given.get("chain")) != ("mark-connection", "prerouting"):
            raise ValueError("a rule with a classifier marks no connections as they come in")
        unfit = sorted(given.keys() - _SAID - _OF_NEW - {"new-connection-mark"})
        unfit += [key for key, usual in _USUAL.items() if given.get(key, usual) != usual]
        if unfit:
            raise ValueError(f"a rule with a classifier also has {', '.join(unfit)}")
        match = _CLASS.fullmatch(given["per-connection-classifier"])
        if match is None or not given.get("new-connection-mark"):
            raise ValueError("a rule has no classifier such as both-addresses:2/0, or no mark")
        if match[1] != _PAIRS:
            row.changed("pairs", "Weir shares by pairs of addresses.")
        seen.append((int(match[2]), int(match[3])))
        found.setdefault(given["new-connection-mark"], []).append(row)
    count = seen[0][0]
    if sorted(seen) != [(count, part) for part in range(count)]:
        raise ValueError("its rules are not about each connection once")
    return found


def _way(router: Router, table: str, rows: list[Row]) -> _Way:
    routes = [row for row in router.rows.get(_ROUTES, ()) if is_default(row.given, table)]
    nearest = min((distance_of(row) for row in routes), default=None)
    first = [row for row in routes if distance_of(row) == nearest]
    if len(first) != 1:
        raise ValueError(f"the table {quoted(table)} has no default route of its own, or several")
    interface, host = way_of(router, first[0])
    return _Way(table, len(rows), rows, first[0], interface, host)


def way_of(router: Router, row: Row) -> tuple[str, str | None]:
    """The interface by which a route leads, and its gateway; None where the interface is all that it says.
    Raises `ValueError` and `Invalid`."""
    gateway, _, device = row.given.get("gateway", "").partition("@")[0].partition("%")
    try:
        host: str | None = parse_host(gateway)
    except Invalid:
        host, device = None, gateway
    return router.interface_id(device) if device else _beside(router, host or ""), host


def is_default(given: Mapping[str, str], table: str) -> bool:
    named = given.get("routing-table", given.get("routing-mark", "main"))
    is_on = given.get("disabled", "no").lower() in ("no", "false")
    return is_on and named == table and given.get("dst-address", _EVERYTHING) == _EVERYTHING


def distance_of(row: Row) -> int:
    text = row.given.get("distance", "1")
    return int(text) if text.isdecimal() and len(text) < 4 else 255


def _beside(router: Router, gateway: str) -> str:
    """The interface in whose network a gateway is."""
    host = ip_address(gateway)
    for item in router.interfaces():
        for text in item.body.get("addresses", ()):
            if host in ip_interface(text).network:
                return item.id
    raise ValueError(f"no interface of the file has a network with the gateway {gateway}")


def _make(router: Router, way: _Way) -> None:
    object_id = router.id_of("uplink", way.table, slug(way.interface, "uplink"))
    body: Json = {"interface": router.interface_of_id(way.interface).id, "weight": way.weight}
    body |= {"gateway": way.gateway} if way.gateway is not None else {}
    if way.route.given.get("comment"):
        body["comment"] = way.route.given["comment"]
    wanted = router.want("uplink", object_id, way.route.line, body)
    for row in way.rows:
        wanted.of(row.line)
        row.changed("uplink", f"It is the weight of the uplink {object_id}, for all new connections.")


def _pass_over(router: Router, ways: list[_Way]) -> None:
    """Default routes that uplinks are in the place of: of their tables, and of the main one by their ways."""
    routes = _shared(router).routes
    gateways = {way.route.given.get("gateway", "").partition("@")[0] for way in ways}
    for row in _default_routes(router, {"main", *(way.table for way in ways)}):
        text = row.given.get("gateway", "").partition("@")[0]
        if row.given.get("routing-table", row.given.get("routing-mark", "main")) != "main":
            routes[row.line] = "The uplinks share, and take over from one another."
        elif text in gateways or _names_one(router, text, ways):
            routes[row.line] = "An uplink is in its place."
    for way in ways:
        words = (
            "It became an uplink. Add a check to it, of something behind the gateway: without one it is down "
        )
        routes[way.route.line] = words + "only while its interface is."


def _default_routes(router: Router, tables: Collection[str]) -> Iterator[Row]:
    for row in router.rows.get(_ROUTES, ()):
        if any(is_default(row.given, table) for table in tables):
            yield row


def _names_one(router: Router, text: str, ways: list[_Way]) -> bool:
    gateway = text.partition("%")[0]
    return gateway in {way.gateway for way in ways if way.gateway is not None}


MANGLE = Menu(
    "/ip firewall mangle",
    "uplinks with weights, where connections are shared by `per-connection-classifier`",
    _keep,
    must_fit=True,
    after=_settle,
)
