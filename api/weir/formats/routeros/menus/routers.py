# SPDX-License-Identifier: Apache-2.0
"""What BGP and OSPF name of other menus: ids of routers, and how soon BFD notices that one is gone."""

from __future__ import annotations

from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.menus.convert import COMMON, flag, milliseconds, text, whole
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.model.address import parse_host
from weir.model.codec import to_stored_json

PROFILE = "routeros"
_USUAL_MS, _USUAL_MULTIPLIER = 200, 5
"""Of RouterOS, where nothing says how often BFD asks."""
MAIN = "main"
"""The VRF, table and router ID that RouterOS has by itself."""


def _id(_router: Router, row: Row) -> None:
    if not row.get("id"):
        row.changed("router-id", "Weir chooses the ID where BGP or OSPF names it.")


ID = Menu(
    "/routing id",
    "the router ID of the BGP or OSPF that names it",
    _id,
    {**COMMON, "name": Property("name", text), "id": Property("id", text)},
    {"select-dynamic-id": ANY, "select-from-vrf": ANY, "comment": ANY},
)


def router_id(router: Router, value: str | None) -> Json:
    """The field, if the file says the id. Raises `Invalid` for what is none."""
    ids = router.once("router ids", lambda: _ids(router))
    said = ids.get(value, value) if value else None
    return {} if not said or said == MAIN else {"router_id": parse_host(said)}


def _ids(router: Router) -> dict[str, str | None]:
    """What the file calls an id; None for one that RouterOS chooses."""
    rows = router.rows.get(ID.path, ())
    return {row.values["name"]: row.get("id") for row in rows if row.get("name")}


def of_vrf(router: Router, name: str | None) -> str | None:
    """The id of the VRF; None for the main table. Raises `ValueError` for one that the file does not have."""
    return None if name in (None, "", MAIN) else router.interface_id(name)


def _bfd(router: Router, row: Row) -> None:
    if row.is_disabled or row.get("forbidden"):
        row.leave_out("bfd-off", "It was off.")
        return
    body = {
        "transmit_ms": row.get("transmit_ms", _USUAL_MS),
        "receive_ms": row.get("receive_ms", _USUAL_MS),
        "multiplier": row.get("multiplier", _USUAL_MULTIPLIER),
    }
    before = router.wanted.get(("bfd-profile", PROFILE))
    if before is None:
        router.want("bfd-profile", PROFILE, row.line, {**body, **row.some("comment")})
    elif any(before.body[name] != value for name, value in body.items()):
        row.leave_out(
            "one-profile", "All sessions have the times of the first of these commands: add a profile."
        )
    else:
        before.of(row.line)


BFD = Menu(
    "/routing bfd configuration",
    "the BFD profile of the sessions that use BFD",
    _bfd,
    {
        **COMMON,
        "min-tx": Property("transmit_ms", milliseconds),
        "min-rx": Property("receive_ms", milliseconds),
        "multiplier": Property("multiplier", whole),
        "forbid-bfd": Property("forbidden", flag),
    },
    {
        "interfaces": ANY,
        "addresses": ANY,
        "address-list": ANY,
        "vrf": ("main",),
        "min-echo-rx": ANY,
        "copy-from": ANY,
    },
)


def bfd_profile(router: Router, line: LineDraft) -> str:
    """The profile of a session that uses BFD."""
    found = router.wanted.get(("bfd-profile", PROFILE))
    if found is None:
        present = router.existing.get("bfd-profile", PROFILE)
        body = to_stored_json(present) if present is not None else {}
        usual = {"transmit_ms": _USUAL_MS, "receive_ms": _USUAL_MS, "multiplier": _USUAL_MULTIPLIER}
        found = router.want("bfd-profile", PROFILE, None, body or usual)
    found.also_of(line)
    return PROFILE


def say_filters(row: Row, *names: str | None) -> bool:
    """Whether a session has filters, which are not taken."""
    said = [quoted(name) for name in names if name]
    if said:
        row.warn("filters", f"Its filters are not taken, make policies of them: {', '.join(said)}.")
    return bool(said)
