# SPDX-License-Identifier: Apache-2.0
"""/user: an export has no passwords, so who makes the account here is told how."""

from __future__ import annotations

import re
import shlex

from weir.formats.report import quoted
from weir.formats.routeros.menus.convert import COMMON, text
from weir.formats.routeros.menus.router import Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row

_SCOPES = {"full": "admin", "write": "write", "read": "read"}
"""By the groups that RouterOS has from the start (RouterOS manual, User)."""
_NOT_OF_A_NAME = re.compile(r"[^a-z0-9_.-]+")
_MOST_CHARS = 32


def _user(_router: Router, row: Row) -> None:
    if row.is_disabled:
        row.leave_out("account", "It was disabled, so nobody needs it here.")
        return
    name, group = row.get("name") or row.get("found") or "", row.get("group")
    account = _NOT_OF_A_NAME.sub("-", name.lower())[:_MOST_CHARS].strip("-_.")
    if not account:
        row.leave_out("account", "It has no name that an account can have.")
        return
    scope = _SCOPES.get(group or "", "")
    said = shlex.join(("weir", "user", "add", account, "--scope", scope or "SCOPE"))
    row.leave_out("account", f"Make it here, which gives a one-time password: `{said}`.")
    if not scope:
        known = "a group of its own" if group is None else f"the group {quoted(group)}"
        row.leave_out("account", f"It has {known}: choose the scope admin, write or read.")
    if row.get("address"):
        where = quoted(row.get("address"))
        row.leave_out("account", f"It came from {where} only; here the management says that of all accounts.")


USER = Menu(
    "/user",
    "left out: its line names the command that makes the account",
    _user,
    {
        **COMMON,
        "name": Property("name", text),
        "find name": Property("found", text),
        "group": Property("group", text),
        "address": Property("address", text),
    },
    dict.fromkeys(("password", "inactivity-timeout", "inactivity-policy", "expired"), ANY),
    ("add", "set"),
)
