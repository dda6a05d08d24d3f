# SPDX-License-Identifier: Apache-2.0
"""Where logs are sent: /system logging action, and by which rules: /system logging."""

from __future__ import annotations

from weir.formats.identity import slug
from weir.formats.routeros.menus.convert import COMMON, choice, flag, host, text, whole
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.syslog_target import PORTS, SEVERITIES

BUILT_IN = {"0": "memory", "1": "disk", "2": "echo", "3": "remote"}
"""Actions that every router has, by the numbers that exports have for them."""
NOWHERE = "0.0.0.0"
_FACILITIES = {"syslog-facility": Property("facility", text)}
_LEVELS = {name: name for name in ("debug", "info", "warning", "error", "critical")}


def _action(router: Router, row: Row) -> None:
    name = row.get("name") or row.get("found") or BUILT_IN.get(row.get("number", ""), "")
    is_remote = row.get("target", "remote" if name == "remote" else "") == "remote"
    address = row.get("address", NOWHERE)
    if not name or not is_remote or address == NOWHERE:
        row.leave_out("no-server", "Weir keeps its own log; only servers that get it are taken.")
        return
    protocol = row.get("protocol", "udp")
    body: Json = {"address": address, "protocol": protocol, **row.some("comment")}
    if row.get("port", PORTS[protocol]) != PORTS[protocol]:
        body["port"] = row.get("port")
    if row.get("facility") not in (None, "daemon"):
        body["facility"] = row.get("facility")
    object_id = router.id_of("syslog-target", name, slug(name, "logs"))
    router.want("syslog-target", object_id, row.line, body)


def _rule(router: Router, row: Row) -> None:
    """Weir sends by severity alone: the least severe that any rule of the action asks for."""
    name = row.get("action", "")
    target = router.wanted.get(("syslog-target", router.id_of("syslog-target", name, slug(name, "logs"))))
    if target is None:
        row.leave_out("own-log", "Weir keeps its own log.")
        return
    if row.is_disabled:
        row.leave_out("disabled", "It was off.")
        return
    topics = [topic.strip() for topic in row.get("topics", "").split(",") if topic.strip()]
    levels = [_LEVELS[topic] for topic in topics if topic in _LEVELS] or ["info"]
    wanted = max(levels, key=SEVERITIES.index)
    before = target.of(row.line).body.get("severity")
    target.body["severity"] = wanted if before is None else max(before, wanted, key=SEVERITIES.index)
    others = [topic for topic in topics if topic not in _LEVELS]
    if others:
        row.changed("topics", f"Weir sends by severity, whatever it is about: not by {', '.join(others)}.")


def _finish(router: Router) -> None:
    """A server that no rule sends to gets nothing here, either."""
    for item in router.wanted.values():
        if item.kind == "syslog-target" and "severity" not in item.body:
            item.body["disabled"] = True
            for line in item.lines:
                line.note("warning", "no-rule", "No rule sends to it, so it is disabled.")


ACTION = Menu(
    "/system logging action",
    "a syslog target, if it is a server",
    _action,
    {
        **COMMON,
        "name": Property("name", text),
        "find name": Property("found", text),
        "number": Property("number", text),
        "target": Property("target", text),
        "remote": Property("address", host),
        "remote-port": Property("port", whole),
        "remote-protocol": Property("protocol", choice({"udp": "udp", "tcp": "tcp"})),
        **_FACILITIES,
    },
    {
        "bsd-syslog": ANY,
        "syslog-severity": ANY,
        "syslog-time-format": ANY,
        "remote-log-format": ANY,
        "src-address": (NOWHERE,),
        "vrf": ("main",),
        **dict.fromkeys(
            ("memory-lines", "memory-stop-on-full", "disk-file-name", "disk-file-count", "remember"), ANY
        ),
        **dict.fromkeys(("disk-lines-per-file", "disk-stop-on-full", "email-to", "email-start-tls"), ANY),
    },
    ("add", "set"),
)
RULE = Menu(
    "/system logging",
    "the severity of the syslog target that it names",
    _rule,
    {
        "action": Property("action", text),
        "topics": Property("topics", text),
        "disabled": Property("disabled", flag),
    },
    {"prefix": ("",), "regex": ("",)},
    ("add", "set"),
    after=_finish,
)
