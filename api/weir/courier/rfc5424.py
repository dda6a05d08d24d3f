# SPDX-License-Identifier: Apache-2.0
"""An entry of the journal as a message of syslog (RFC 5424), and its frame on a stream (RFC 6587, 5425)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

DAEMON, NOTICE, INFO = 3, 5, 6
MOST_BYTES = {"udp": 2048, "tcp": 8192, "tls": 8192}
"""What receivers should take (RFC 5426, 3.2; RFC 5425, 4.3.1)."""
NIL = "-"


def message_of(line: bytes, facility: int | None, router: str, most_bytes: int) -> bytes | None:
    """One line of `journalctl --output=json`; None for what is no entry."""
    try:
        entry = json.loads(line)
        at_us = int(entry["__REALTIME_TIMESTAMP"])
    except (ValueError, KeyError, TypeError):
        return None
    severity = _number(entry.get("PRIORITY"), INFO, 7)
    own = _number(entry.get("SYSLOG_FACILITY"), DAEMON, 23)
    name = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM")
    process = entry.get("SYSLOG_PID") or entry.get("_PID")
    number = (own if facility is None else facility) * 8 + severity
    return _message(number, at_us, router, (name, process), _text(entry.get("MESSAGE")), most_bytes)


def note(text: str, facility: int | None, router: str, at_us: int) -> bytes:
    """What the sender itself has to say."""
    number = (DAEMON if facility is None else facility) * 8 + NOTICE
    return _message(number, at_us, router, ("weir", None), text, MOST_BYTES["udp"])


def framed(message: bytes) -> bytes:
    """By octet counting (RFC 6587, 3.4.1)."""
    return b"%d %s" % (len(message), message)


def _message(
    number: int, at_us: int, router: str, source: tuple[Any, Any], text: str, most_bytes: int
) -> bytes:
    when = datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    name, process = _word(source[0], 48), _word(source[1], 128)
    head = f"<{number}>1 {when} {_word(router, 255)} {name} {process} {NIL} {NIL} "
    data = (head + text).encode("utf-8", "replace")
    return data[:most_bytes].decode("utf-8", "ignore").encode()  # not in the middle of a character


def _word(value: object, most: int) -> str:
    """PRINTUSASCII (RFC 5424, 6)."""
    text = str(value) if isinstance(value, str | int) else ""
    return "".join(char if "!" <= char <= "~" else "?" for char in text)[:most] or NIL


def _text(value: object) -> str:
    """The journal has what is no UTF-8 as a list of bytes, and null for what is too long."""
    if isinstance(value, list):
        value = bytes(item for item in value if type(item) is int and 0 <= item < 256).decode(
            "utf-8", "replace"
        )
    text = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() or char == "\t" else " " for char in text)


def _number(value: object, default: int, most: int) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and int(text) <= most else default
