# SPDX-License-Identifier: Apache-2.0
"""lookup: one question to a name server, and all of its answer (RFC 1035)."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from weir.probes.output import Output
from weir.tools.lookup import TRIES, WAIT_S, Lookup

RESOLVERS = Path("/etc/resolv.conf")
MOST_SERVERS = 3
"""As resolv.conf(5)."""
_HEADER = struct.Struct("!HHHHHH")
_NUMBERS = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28}
_NAMES = {number: name for name, number in _NUMBERS.items()}
_STATUS = {
    0: "ok",
    1: "format error",
    2: "server failure",
    3: "no such name",
    4: "not implemented",
    5: "refused",
}
_RECURSION, _TRUNCATED = 0x0100, 0x0200
_OPT = 41
_MOST_JUMPS = 64


class Malformed(Exception):
    """What came is no answer to the question."""


def run(asked: Lookup, output: Output, confine: Callable[[], None]) -> None:
    servers = [asked.server] if asked.server else own_servers()
    confine()
    if not servers:
        raise OSError(0, "the router has no name servers: name one")
    name, kind = question_of(asked)
    for _ in range(TRIES):
        for server in servers:
            why = _ask(output, server, name, kind)
            if not why:
                return
            output.tell("silent", server=server, why=why)
    raise OSError(0, "no name server answered")


def own_servers() -> list[str]:
    """The router's own name servers."""
    try:
        lines = RESOLVERS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = (line.split() for line in lines)
    return [item[1] for item in words if len(item) > 1 and item[0] == "nameserver"][:MOST_SERVERS]


def question_of(asked: Lookup) -> tuple[str, str]:
    """Name and type: an address is asked for by its name in the reverse tree."""
    try:
        address = ip_address(asked.name)
    except ValueError:
        return asked.name, asked.type or "A"
    return address.reverse_pointer, asked.type or "PTR"


def _ask(output: Output, server: str, name: str, kind: str) -> str:
    """Why the server gave no answer; "" = it did."""
    number = int.from_bytes(os.urandom(2), "big")
    packet = query(number, name, kind)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as handle:
        begun_ns, until_s = time.monotonic_ns(), time.monotonic() + WAIT_S
        try:
            handle.connect((server, 53))
            handle.send(packet)
            while output.wait(handle.fileno(), until_s):
                data = handle.recv(4096)
                took_us = (time.monotonic_ns() - begun_ns) // 1000
                try:
                    status, found = answer(data, number)
                except (Malformed, struct.error, IndexError):
                    continue
                for row in found:
                    output.tell("answer", **row)
                output.tell("summary", server=server, status=status, answers=len(found), took_us=took_us)
                return ""
        except OSError as error:  # the next one is asked
            if error.errno == errno.ECONNREFUSED:
                return "nothing listens on its port 53"
            return f"not asked: {error.strerror or error}"
    return f"no answer in {WAIT_S:.0f} s"


def query(number: int, name: str, kind: str, most_bytes: int = 0) -> bytes:
    """With `most_bytes` it says how long an answer by UDP may be (RFC 6891), which is 512 otherwise."""
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".") if label]
    if any(not 0 < len(label) < 64 for label in labels):
        raise OSError(0, f"{name} is no name: a part of it has more than 63 characters")
    packed = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    more = b"\0" + struct.pack("!HHIH", _OPT, most_bytes, 0, 0) if most_bytes else b""
    head = _HEADER.pack(number, _RECURSION, 1, 0, 0, bool(most_bytes))
    return head + packed + struct.pack("!HH", _NUMBERS[kind], 1) + more


def answer(data: bytes, number: int) -> tuple[str, list[dict[str, Any]]]:
    """The status in words, and the records. Raises `Malformed`, `struct.error` or `IndexError`."""
    found, flags, questions, answers, _, _ = _HEADER.unpack_from(data)
    if found != number or not flags & 0x8000:
        raise Malformed
    at = _HEADER.size
    for _ in range(questions):
        _, at = _name(data, at)
        at += 4
    rows = []
    for _ in range(answers):
        owner, at = _name(data, at)
        kind, _, ttl_s, length = struct.unpack_from("!HHIH", data, at)
        at += 10
        if kind in _NAMES and at + length <= len(data):
            value = _value(data, at, length, _NAMES[kind])
            rows.append({"name": owner, "type": _NAMES[kind], "value": value, "ttl_s": ttl_s})
        at += length
    status = _STATUS.get(flags & 15, f"status {flags & 15}")
    return (f"{status}, cut short" if flags & _TRUNCATED else status), rows


def _name(data: bytes, at: int) -> tuple[str, int]:
    """A name and where it ends; it may refer to another place (RFC 1035, 4.1.4)."""
    labels: list[str] = []
    end = None
    for _ in range(_MOST_JUMPS * 2):
        length = data[at]
        if length & 0xC0 == 0xC0:
            end = at + 2 if end is None else end
            at = (length & 0x3F) << 8 | data[at + 1]
        elif length:
            labels.append(data[at + 1 : at + 1 + length].decode("ascii", "replace"))
            at += 1 + length
        else:
            return ".".join(labels) or ".", at + 1 if end is None else end
    raise Malformed


def _value(data: bytes, at: int, length: int, kind: str) -> str:
    raw = data[at : at + length]
    match kind:
        case "A" | "AAAA":
            return str(ip_address(raw))
        case "MX":
            return f"{int.from_bytes(raw[:2], 'big')} {_name(data, at + 2)[0]}"
        case "TXT":
            parts, place = [], 0
            while place < length:
                parts.append(raw[place + 1 : place + 1 + raw[place]].decode("utf-8", "replace"))
                place += 1 + raw[place]
            return "".join(parts)
        case "SOA":
            primary, place = _name(data, at)
            return f"{primary} {_name(data, place)[0]}"
    return _name(data, at)[0]
