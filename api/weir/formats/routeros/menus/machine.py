# SPDX-License-Identifier: Apache-2.0
"""What the router is called and says, and its time: /system identity, /system note, /system clock, and what
/snmp says of the machine."""

from __future__ import annotations

import re

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import comment, flag, text
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.identity import MAX_ABOUT_CHARS, MAX_BANNER_CHARS, is_host_name, is_time_zone
from weir.model.limits import CONTROL_BUT_NEWLINE_OR_TAB

_NOT_OF_LABELS = re.compile(r"[^A-Za-z0-9.]+")
_MOST_OF_A_LABEL = 63
_MANUAL = "manual"


def _identity(router: Router, row: Row) -> None:
    given = row.need("name", "name")
    if (name := host_name_of(given)) is None:
        raise ValueError("Nothing in it can be part of a host name.")
    if name != given:
        row.changed("host-name", f"A host name has letters, digits and '-': the router is called {name}.")
    router.want_single("identity", row.line, {"hostname": name})


def host_name_of(text: str) -> str | None:
    """The nearest name that a machine can have, such as Tower-7 for `Tower #7`; None without any."""
    labels = (_NOT_OF_LABELS.sub("-", label).strip("-") for label in text.split("."))
    name = ".".join(label[:_MOST_OF_A_LABEL].rstrip("-") for label in labels if label)
    while name and not is_host_name(name):
        name = name[:-1].rstrip("-.") if len(name) > _MOST_OF_A_LABEL else name.replace(".", "-")
    return name or None


def _note(router: Router, row: Row) -> None:
    note = CONTROL_BUT_NEWLINE_OR_TAB.sub(" ", row.get("note", "").replace("\r\n", "\n"))
    if not row.get("shown", True):
        row.leave_out("not-shown", "It is not shown at login, and Weir has no other place for it.")
        return
    if len(note) > MAX_BANNER_CHARS:
        row.warn("long-note", f"The first {MAX_BANNER_CHARS:,} characters are taken.")
    router.want_single("identity", row.line, {"login_banner": note[:MAX_BANNER_CHARS]})


def _clock(router: Router, row: Row) -> None:
    name = row.get("zone")
    if name is None or name == _MANUAL:
        row.leave_out("no-zone", "It names no time zone: choose one at the identity.")
        return
    if not is_time_zone(name):
        raise ValueError(f"This system has no time zone {quoted(name)}.")
    router.want_single("identity", row.line, {"time_zone": name})


def _snmp(router: Router, row: Row) -> None:
    about = {field: " ".join(row.get(field, "").split()) for field in ("contact", "location")}
    about = {field: words for field, words in about.items() if words}
    if not about:
        row.leave_out("no-snmp", "Weir has no SNMP yet.")
        return
    if row.get("enabled"):
        row.warn(
            "no-snmp", "Weir has no SNMP yet: only who looks after the router and where it stands are taken."
        )
    if any(len(words) > MAX_ABOUT_CHARS for words in about.values()):
        row.warn("long-note", f"The first {MAX_ABOUT_CHARS} characters are taken.")
    cut = {field: words[:MAX_ABOUT_CHARS] for field, words in about.items()}
    router.want_single("identity", row.line, cut)


IDENTITY = Menu(
    "/system identity",
    "the router's name",
    _identity,
    {"name": Property("name", text)},
    {},
    ("set",),
)
NOTE = Menu(
    "/system note",
    "the notice before sign-in",
    _note,
    {"note": Property("note", text), "show-at-login": Property("shown", flag)},
    {"show-at-cli-login": ("yes", "no")},
    ("set",),
)
CLOCK = Menu(
    "/system clock",
    "the router's time zone",
    _clock,
    {"time-zone-name": Property("zone", text)},
    dict.fromkeys(("time-zone-autodetect", "date", "time", "gmt-offset", "dst-active"), ANY),
    ("set",),
)
SNMP = Menu(
    "/snmp",
    "who looks after the router, and where it stands",
    _snmp,
    {
        "contact": Property("contact", comment),
        "location": Property("location", comment),
        "enabled": Property("enabled", flag),
    },
    {
        **dict.fromkeys(("engine-id", "engine-id-suffix", "src-address", "vrf"), ANY),
        **dict.fromkeys(("trap-community", "trap-generators", "trap-interfaces", "trap-target"), ANY),
        "trap-version": ANY,
    },
    ("set",),
)
