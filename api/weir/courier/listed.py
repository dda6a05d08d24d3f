# SPDX-License-Identifier: Apache-2.0
"""Reads a list of addresses as they are published: one address or prefix a line, behind it a comment (`#` or
`;`) or other columns of CSV. What is no such list is refused as a whole.

As Spamhaus DROP, the `netset` of FireHOL, Tor's exits and plain lists of hosts are written.
"""

from __future__ import annotations

import re
import socket

from weir.courier.dial import Failed
from weir.model.prefix import WIDTH, parse_prefix
from weir.model.prefix_groups import Groups, Shape
from weir.model.problem import Invalid

LONGEST_LINE = 4096
ODD_LINES, ODD_SHARE = 1, 20
"""So many lines may be no addresses, such as the heads of columns; and one of so many that are."""
_END_OF_ENTRY = re.compile(rb"[#;]")
_COLUMNS = re.compile(rb"[\s,]+")
_PAGES = {b"<": "a web page or XML", b"{": "JSON", b"[": "JSON"}
_SHOWN = 40


class Listed:
    """Takes the list in pieces as they come, and holds no more of it than one line and the addresses."""

    def __init__(self, most_entries: int) -> None:
        self._most = most_entries
        self._rest = b""
        self._lines = 0
        self._has_begun = False
        self._good = self._odd = 0
        self._first_odd = ""
        self._count = 0
        self._found: dict[Shape, set[bytes]] = {}

    def take(self, data: bytes) -> None:
        """Raises `Failed` as soon as it is no list that can be taken."""
        lines = re.split(rb"\r\n|\r|\n", self._rest + data)
        self._rest = lines.pop()
        if data.endswith(b"\r"):  # perhaps the half of one end of line
            self._rest = lines.pop() + b"\r"
        for line in lines:
            self._line(line)
        if len(self._rest) > LONGEST_LINE:
            raise self._too_long()

    def end(self) -> tuple[Groups, int]:
        """What is in it, and how many lines are no addresses. Raises `Failed`."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        if not self._good:
            what = f"there is no address in it: {self._first_odd}" if self._odd else "it is empty"
            raise Failed(what)
        if self._odd > ODD_LINES + self._good // ODD_SHARE:
            lines = self._good + self._odd
            raise Failed(f"{self._odd} of its {lines} lines are no addresses: {self._first_odd}")
        return {shape: frozenset(networks) for shape, networks in self._found.items()}, self._odd

    def _line(self, line: bytes) -> None:
        self._lines += 1
        if len(line) > LONGEST_LINE:
            raise self._too_long()
        text = line.strip().removeprefix(b"\xef\xbb\xbf")  # UTF-8's mark, which some editors leave
        if not text:
            return
        if not self._has_begun and text[:1] in _PAGES:
            raise Failed(f"it is {_PAGES[text[:1]]}, and no list of addresses")
        self._has_begun = True
        entry = _END_OF_ENTRY.split(text, maxsplit=1)[0].strip()
        if entry:
            self._entry([column.strip(b"\"'") for column in _COLUMNS.split(entry)])

    def _entry(self, columns: list[bytes]) -> None:
        first = columns[0]
        ends = first.split(b"-", 1) if b"-" in first else [first, *(c for c in columns[1:3] if c != b"-")][:2]
        prefix = _prefix(ends[0])
        if prefix is not None and len(ends) == 2 and _is_address(ends[1]):
            raise Failed(f"line {self._lines} has two addresses: ranges are not taken, only prefixes")
        if prefix is None or b"-" in first:
            self._odd += 1
            shown = first[:_SHOWN].decode("utf-8", "replace")
            self._first_odd = self._first_odd or f"line {self._lines} begins with {shown!r}"
            return
        shape, network = prefix
        if not shape.length:
            text = f"line {self._lines} has every address of IPv{shape.family}: such a list is not taken"
            raise Failed(text)
        self._good += 1
        networks = self._found.setdefault(shape, set())
        if network not in networks:
            networks.add(network)
            self._count += 1
            if self._count > self._most:
                raise Failed(f"it has more than {self._most} entries (max_entries)")

    def _too_long(self) -> Failed:
        return Failed(f"line {self._lines + 1} has more than {LONGEST_LINE} characters")


def _prefix(text: bytes) -> tuple[Shape, bytes] | None:
    """None: it is none, or has host bits, and nobody knows which of both is meant."""
    try:
        family, value, length = parse_prefix(text.decode("ascii"))
    except (Invalid, UnicodeDecodeError):
        return None
    return Shape(family, length), value.to_bytes(WIDTH[family] // 8, "big")


def _is_address(text: bytes) -> bool:
    return any(_parses(family, text) for family in (socket.AF_INET, socket.AF_INET6))


def _parses(family: int, text: bytes) -> bool:
    try:
        socket.inet_pton(family, text.decode("ascii"))
    except (OSError, ValueError):
        return False
    return True
