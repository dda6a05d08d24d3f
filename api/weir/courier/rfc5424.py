# SPDX-License-Identifier: Apache-2.0
"""An entry of the journal as a message of syslog (RFC 5424), and its frame on a stream (RFC 6587, 5425)."""

from __future__ import annotations

from datetime import UTC, datetime

from weir.courier.entry import DAEMON, entry_of

NOTICE = 5
MOST_BYTES = {"udp": 2048, "tcp": 8192, "tls": 8192}
"""What receivers should take (RFC 5426, 3.2; RFC 5425, 4.3.1)."""
NIL = "-"


def message_of(line: bytes, facility: int | None, router: str, most_bytes: int) -> bytes | None:
    """One line of `journalctl --output=json`; None for what is no entry."""
    entry = entry_of(line)
    if entry is None:
        return None
    number = (entry.facility if facility is None else facility) * 8 + entry.severity
    text = "".join(char if char.isprintable() or char == "\t" else " " for char in entry.text or "")
    return _message(number, entry.at_us, router, (entry.name, entry.process), text, most_bytes)


def note(text: str, facility: int | None, router: str, at_us: int) -> bytes:
    """What the sender itself has to say."""
    number = (DAEMON if facility is None else facility) * 8 + NOTICE
    return _message(number, at_us, router, ("weir", ""), text, MOST_BYTES["udp"])


def framed(message: bytes) -> bytes:
    """By octet counting (RFC 6587, 3.4.1)."""
    return b"%d %s" % (len(message), message)


def _message(
    number: int, at_us: int, router: str, source: tuple[str, str], text: str, most_bytes: int
) -> bytes:
    when = datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    name, process = _word(source[0], 48), _word(source[1], 128)
    head = f"<{number}>1 {when} {_word(router, 255)} {name} {process} {NIL} {NIL} "
    data = (head + text).encode("utf-8", "replace")
    return data[:most_bytes].decode("utf-8", "ignore").encode()  # not in the middle of a character


def _word(text: str, most: int) -> str:
    """PRINTUSASCII (RFC 5424, 6)."""
    return "".join(char if "!" <= char <= "~" else "?" for char in text)[:most] or NIL
