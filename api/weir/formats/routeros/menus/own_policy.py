# SPDX-License-Identifier: Apache-2.0
"""Commands that Weir wrote for zones and its policy become these again (`weir.formats.routeros.marks`)."""

from __future__ import annotations

from weir.formats.routeros.marks import mark_of
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import Row
from weir.kinds.firewall import Firewall
from weir.model.zones import BUILT_IN

_NO_PING = "no-ping"
_LOG = "log"
_ALLOWED = "allowed services"
_FOLLOWS = "Weir's zones and policy do this by themselves."


def zone(router: Router, row: Row) -> str | None:
    """The zone that an interface list is; it is wanted from now on."""
    mark = mark_of(row.given)
    if mark is None or mark.head[0] != "zone" or len(mark.head) not in (2, 3):
        return None
    name = mark.head[1]
    if name not in BUILT_IN:
        reaches = mark.head[2].split(",") if mark.head[2:] else []
        router.want("zone", name, row.line, {"reaches": reaches, "comment": mark.words})
    return name


def rule(router: Router, row: Row) -> bool:
    """Whether a filter rule is one that follows from zones and the policy."""
    mark = mark_of(row.given)
    if mark is None:
        return False
    kind, *head = mark.head
    if kind == "zone-policy" and len(head) >= 4:
        said: Json = dict(zip(("from_zone", "to_zone", "action"), head[1:4], strict=True))
        body = {**said, "log": head[4:] == [_LOG], "comment": mark.words}
        router.want("zone-policy", head[0], row.line, body)
    else:
        row.changed("own-policy", _FOLLOWS)
    if kind == "firewall" and (mark.words == _ALLOWED or _NO_PING in head):
        _keep_policy(router, row, answers_ping=_NO_PING not in head)
    return True


def _keep_policy(router: Router, row: Row, *, answers_ping: bool) -> None:
    """What the policy lets in, as the file has it."""
    if not answers_ping:
        router.want_single("firewall", row.line, {"allow_ping_from_wan": False})
        return
    ports = {int(port) for port in row.get("ports", ())}
    present = router.want_single("firewall", row.line, {})
    ports.update(present.body.get("allowed_wan_tcp_ports", Firewall().allowed_wan_tcp_ports))
    present.body["allowed_wan_tcp_ports"] = sorted(ports)
