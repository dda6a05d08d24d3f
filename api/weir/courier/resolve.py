# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.courier.resolve PARENT SECONDS`: asks name servers for addresses of names, without rights.

An order as JSON at standard input; at standard output JSON that says of each name and family what became of
it. What a stranger sent is read here and nowhere else: who started this process gets texts that have to be
addresses (docs/adr/0255).
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weir.probes.confine import confine
from weir.probes.lookup import Malformed, answer, own_servers, query

WAIT_S, TRIES = 2.0, 2
"""For an answer, and how often each server is asked."""
AT_ONCE = 20
MOST_BYTES = 1232
"""Of an answer by UDP: no packet of it is in pieces (dnsflagday.net, 2020)."""
MOST_ALIASES = 16
MOST_ADDRESSES = 64
"""Of a name and family; who gets one more than that knows that there are too many."""
TYPES: Mapping[int, str] = {4: "A", 6: "AAAA"}
_TRUNCATED = 0x02
_MORE_BYTES = 11
"""Of a question, the record that says how long an answer may be."""
_FINAL = ("ok", "no such name")


class Told(NamedTuple):
    """`what`: `answer`, `denied` (there is no such name), or `failed` for the reason in `words`."""

    name: str
    family: int
    what: str
    words: str = ""
    ttl_s: int = 0
    addresses: tuple[str, ...] = ()


class _Question:
    """One name and family. Each try has a socket, and so a port, and a number of its own."""

    def __init__(self, name: str, family: int, servers: Sequence[str]) -> None:
        self.name, self.family = name, family
        self._servers = deque(list(servers) * TRIES)
        self.server = ""
        self.socket: socket.socket | None = None
        self.until_s = 0.0
        self.words = "the router has no name servers"
        self._packet = b""

    def ask(self) -> bool:
        """The next server; False when there is none left."""
        while self._servers:
            self.close()
            self.server = self._servers.popleft()
            number = int.from_bytes(os.urandom(2), "big")
            self._packet = query(number, self.name, TYPES[self.family], MOST_BYTES)
            self.socket = socket.socket(_family(self.server), socket.SOCK_DGRAM)
            self.until_s = time.monotonic() + WAIT_S
            try:
                self.socket.connect((self.server, 53))
                self.socket.send(self._packet)
                return True
            except OSError as error:
                self.words = f"{self.server}: {error.strerror or error}"
        return False

    def hear(self) -> Told | None:
        """What came, if it is the answer. Raises `OSError`: this server has none."""
        assert self.socket is not None
        data = self.socket.recv(4096)
        if answers(data, self._packet) and data[2] & _TRUNCATED:
            data = by_tcp(self.server, self._packet)
        return told_by(data, self._packet, self.name, self.family)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def answers(data: bytes, packet: bytes) -> bool:
    """Whether it repeats the number and the question of a packet that `query` made with `MOST_BYTES`."""
    end = len(packet) - _MORE_BYTES
    is_answer = len(data) >= end and bool(data[2] & 0x80)
    return is_answer and data[:2] == packet[:2] and data[12:end].lower() == packet[12:end].lower()


def told_by(data: bytes, packet: bytes, name: str, family: int) -> Told | None:
    """What an answer says; None for what is none to this packet. Raises `OSError`: this server has none."""
    if not answers(data, packet):
        return None
    try:
        status, rows = answer(data, int.from_bytes(packet[:2], "big"))
    except (Malformed, struct.error, IndexError, ValueError):
        return None
    if status not in _FINAL:
        raise OSError(0, status)
    if status != "ok":
        return Told(name, family, "denied", status)
    ttl_s, addresses = addresses_of(name, TYPES[family], rows)
    return Told(name, family, "answer", "", ttl_s, addresses)


def addresses_of(name: str, kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[int, tuple[str, ...]]:
    """What the records of an answer say of a name, along its aliases, and for how many seconds: the fewest
    of all records on the way. At most `MOST_ADDRESSES` and one more."""
    aliases = {row["name"].lower(): row for row in rows if row["type"] == "CNAME"}
    owner, ttls = name.lower(), []
    for _ in range(MOST_ALIASES):
        alias = aliases.pop(owner, None)
        if alias is None:
            break
        owner = alias["value"].lower()
        ttls.append(alias["ttl_s"])
    own = [row for row in rows if row["type"] == kind and row["name"].lower() == owner]
    ttls += [row["ttl_s"] for row in own]
    found = tuple(dict.fromkeys(row["value"] for row in own))
    return min(ttls, default=0), found[: MOST_ADDRESSES + 1]


def by_tcp(server: str, packet: bytes) -> bytes:
    """The whole of an answer that is too long for UDP. Raises `OSError`."""
    with socket.create_connection((server, 53), timeout=WAIT_S) as handle:
        handle.sendall(struct.pack("!H", len(packet)) + packet)
        with handle.makefile("rb") as stream:
            head = stream.read(2)
            return stream.read(int.from_bytes(head, "big"))


def resolved(names: Sequence[str], servers: Sequence[str], seconds: float) -> list[Told]:
    """All of them within so many seconds, `AT_ONCE` at a time."""
    waiting = deque(_Question(name, family, servers) for name in names for family in TYPES)
    until_s = time.monotonic() + seconds
    found: list[Told] = []
    asked: dict[socket.socket, _Question] = {}
    with selectors.DefaultSelector() as selector:

        def begin(question: _Question) -> None:
            if time.monotonic() < until_s and question.ask():
                assert question.socket is not None
                selector.register(question.socket, selectors.EVENT_READ)
                asked[question.socket] = question
            else:
                question.close()
                found.append(Told(question.name, question.family, "failed", question.words))

        def end(question: _Question) -> None:
            assert question.socket is not None
            selector.unregister(question.socket)
            del asked[question.socket]

        def hear(question: _Question) -> None:
            try:
                told = question.hear()
            except OSError as error:
                question.words = f"{question.server}: {error.strerror or error}"
                end(question)
                begin(question)
                return
            if told is not None:
                end(question)
                question.close()
                found.append(told)

        while waiting or asked:
            while waiting and len(asked) < AT_ONCE:
                begin(waiting.popleft())
            if not asked:
                continue
            first_s = min(question.until_s for question in asked.values())
            for key, _ in selector.select(max(first_s - time.monotonic(), 0.0)):
                hear(asked[key.fileobj])  # type: ignore[index]  # it is the socket that was registered
            for question in [each for each in asked.values() if each.until_s <= time.monotonic()]:
                question.words = f"{question.server} did not answer within {WAIT_S:.0f} s"
                end(question)
                begin(question)
    return found


def _family(server: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in server else socket.AF_INET


def main(argv: list[str]) -> int:
    """0 whatever became of it, once that is said."""
    parent, seconds = argv
    servers = own_servers()
    confine(int(parent), float(seconds))
    order = json.load(sys.stdin)
    told = resolved(order["names"], order["servers"] or servers, order["seconds"])
    json.dump(told, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
