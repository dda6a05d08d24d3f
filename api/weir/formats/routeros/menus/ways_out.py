# SPDX-License-Identifier: Apache-2.0
"""Default routes of which one takes over from another when its gateway is silent (`check-gateway`, RouterOS
manual, IP Routing) become uplinks with a check of the gateway. That is taken as a whole or not at all."""

from __future__ import annotations

from typing import NamedTuple

from weir.formats.identity import slug
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.pcc import distance_of, is_default, way_of
from weir.formats.routeros.menus.router import Json, Router, Wanted
from weir.formats.routeros.menus.table import Row
from weir.kinds.uplink import MOST_UPLINKS, Uplink
from weir.kinds.uplink_check import UplinkCheck
from weir.model.codec import to_stored_json
from weir.model.problem import Invalid

GATEWAY_CHECK: Json = {"type": "ping", "interval_s": 10, "timeout_ms": 10_000}
"""As RouterOS asks a gateway."""
GATEWAY_VERDICT: Json = {"fail_after": 2, "recover_after": 1}
_MOST_DISTANCE = 100
"""Of the priorities of uplinks; what is behind stays a route."""
_CHECKS = ("ping", "arp")
_KNOWN = frozenset(("dst-address", "gateway", "distance", "check-gateway", "comment", "disabled"))
_USUAL = {"routing-table": "main", "scope": "30", "target-scope": "10", "pref-src": "", "type": "unicast"}
_SESSIONS = ("pppoe", "wireguard", "gre")
"""Types of interfaces behind which there is one other end."""


class _Way(NamedTuple):
    distance: int
    row: Row
    interface: str
    gateway: str | None
    check: str | None


def takes_route(router: Router, row: Row) -> bool:
    """Whether a route became an uplink."""
    return row.line in router.once("checked ways out", lambda: _settled(router))


def finish(router: Router) -> None:
    """Say of DHCP clients that are no uplinks what is not taken."""
    used = router.once("checked ways out", lambda: _settled(router))
    for row in router.rows.get("/ip dhcp-client", ()):
        if row.line not in used and row.line.fate != "left-out" and row.get("distance", 1) != 1:
            row.warn("not-taken", f"Not taken: {row.shown('default-route-distance')}.")


def _settled(router: Router) -> set[LineDraft]:
    """The lines of routes that are uplinks now."""
    try:
        ways = _ways(router)
    except (ValueError, Invalid):
        return set()
    if len(ways) < 2 or not any(way.check for way in ways):
        return set()
    for way in ways:
        _make(router, way)
    return {way.row.line for way in ways}


def _ways(router: Router) -> list[_Way]:
    """The best first. Raises `ValueError` where one of them cannot be an uplink."""
    rows = [row for row in router.rows.get("/ip route", ()) if is_default(row.given, "main")]
    found = [_route(router, row) for row in rows if distance_of(row) <= _MOST_DISTANCE]
    found += [_leased(router, row) for row in router.rows.get("/ip dhcp-client", ()) if _leads_out(row)]
    found.sort(key=lambda way: way.distance)
    apart = {way.distance for way in found}, {way.interface for way in found}
    if any(len(each) < len(found) for each in apart) or len(found) > MOST_UPLINKS:
        raise ValueError("two of them are used at once, or leave by one interface")
    if any(kind == "uplink" for kind, _ in router.wanted):
        raise ValueError("connections are shared")
    sessions = (item.body.get("pppoe") or {} for item in router.interfaces() if not item.body.get("disabled"))
    if any(one.get("default_route") and one["distance"] <= _MOST_DISTANCE for one in sessions):
        raise ValueError("a session has a default route among them")
    return found


def _route(router: Router, row: Row) -> _Way:
    given = row.given
    unfit = given.keys() - _KNOWN - _USUAL.keys()
    unfit |= {key for key, usual in _USUAL.items() if given.get(key, usual) != usual}
    check = given.get("check-gateway", "none")
    if unfit or check not in (*_CHECKS, "none"):
        raise ValueError("a default route says more")
    interface, gateway = way_of(router, row)
    body = _interface(router, interface)
    if gateway is None and not any(body.get(group) for group in _SESSIONS):
        raise ValueError("an interface alone leads to nobody")
    return _Way(distance_of(row), row, interface, gateway, None if check == "none" else check)


def _leads_out(row: Row) -> bool:
    is_used = row.line.fate != "left-out" and row.given.get("add-default-route", "yes") == "yes"
    return is_used and not row.is_disabled and row.get("distance", 1) <= _MOST_DISTANCE


def _leased(router: Router, row: Row) -> _Way:
    interface = router.interface_id(row.need("interface", "interface"))
    _interface(router, interface)
    return _Way(row.get("distance", 1), row, interface, None, None)


def _interface(router: Router, name: str) -> Json:
    body = router.interface_of_id(name).body
    if body.get("vrf") or body.get("disabled"):
        raise ValueError("its interface is in a VRF, or disabled")
    return body


def _make(router: Router, way: _Way) -> None:
    """What the file does not say of an uplink of that interface stays as it is here."""
    present = next((item for item in router.only_here(Uplink) if item.interface == way.interface), None)
    object_id = router.id_of(
        "uplink", way.interface, present.id if present is not None else slug(way.interface, "uplink")
    )
    body = {} if present is None else to_stored_json(present)
    body |= {"interface": way.interface, "priority": way.distance, "gateway": way.gateway, "weight": None}
    if way.row.values.get("comment") and way.gateway is not None:
        body["comment"] = way.row.values["comment"]
    line = way.row.line
    if way.check is None:
        router.want("uplink", object_id, None, body).also_of(line)
        text = f"Its way out is the uplink {quoted(object_id)}, which is down only while its interface is."
        way.row.changed("uplink", text)
        return
    router.want("uplink", object_id, line, body | GATEWAY_VERDICT)
    _check(router, object_id, way).also_of(line)
    text = f"It is the uplink {quoted(object_id)}, whose gateway is pinged. Ask somebody behind it as well: "
    way.row.changed("uplink", text + "a gateway answers also when nothing else does.")


def _check(router: Router, uplink: str, way: _Way) -> Wanted:
    same = (item for item in router.only_here(UplinkCheck) if item.uplink == uplink)
    present = next((item.id for item in same if item.target == way.gateway), f"{uplink}-gateway")
    object_id = router.id_of("uplink-check", uplink, present)
    body = {"uplink": uplink, "target": way.gateway, **GATEWAY_CHECK}
    return router.want("uplink-check", object_id, None, body)
