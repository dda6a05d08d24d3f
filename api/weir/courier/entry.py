# SPDX-License-Identifier: Apache-2.0
"""An entry of the journal, as `journalctl --output=json` tells it (systemd.journal-fields(7))."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DAEMON, INFO = 3, 6
KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Entry:
    """Severity and facility are the numbers of RFC 5424. `text` is None where it is longer than the journal's
    reader tells (4,096 bytes). `unit` is the unit that it is of or about, or `kernel`."""

    at_us: int
    severity: int
    facility: int
    name: str
    process: str
    text: str | None
    unit: str
    cursor: str


def entry_of(line: bytes) -> Entry | None:
    """None for what is no entry."""
    try:
        found = json.loads(line)
        at_us = int(found["__REALTIME_TIMESTAMP"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(
        at_us,
        _number(found.get("PRIORITY"), INFO, 7),
        _number(found.get("SYSLOG_FACILITY"), DAEMON, 23),
        _word(found.get("SYSLOG_IDENTIFIER") or found.get("_COMM")),
        _word(found.get("SYSLOG_PID") or found.get("_PID")),
        _text(found["MESSAGE"]) if "MESSAGE" in found else "",
        _unit(found),
        _word(found.get("__CURSOR")),
    )


def _unit(found: dict[str, Any]) -> str:
    """A field with an underscore in front is journald's own word; others may only be believed of process 1
    and of root, as journalctl does for `--unit`."""
    if found.get("_TRANSPORT") == KERNEL:
        return KERNEL
    if _word(found.get("_PID")) == "1" and (about := _word(found.get("UNIT"))):
        return about
    if _word(found.get("_UID")) == "0" and (about := _word(found.get("COREDUMP_UNIT"))):
        return about
    return _word(found.get("_SYSTEMD_UNIT"))


def _text(value: object) -> str | None:
    """The journal has what is not printable as a list of bytes, and null for what is too long."""
    if isinstance(value, list):
        return bytes(item for item in value if type(item) is int and 0 <= item < 256).decode(
            "utf-8", "replace"
        )
    return value if isinstance(value, str) else None


def _word(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _number(value: object, default: int, most: int) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and int(text) <= most else default
