# SPDX-License-Identifier: Apache-2.0
"""What torch has to know of the agent: the datapath's maps, classes of a queue, and names of addresses."""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol, Self

from weir.adapters import listeners
from weir.adapters.datapath_records import Port, Role
from weir.agent.configuration import Configuration
from weir.agent.hosts import queue_in
from weir.compiler import NO_SLOT, ClassSpec
from weir.compiler.types import MAIN_DOMAIN
from weir.model.problem import Conflict, NotFound
from weir.tools.torch import MAPS, Torch

METERED = 5
"""Addresses that the lookup meter asks for."""
MOST_ADDRESSES = 128
"""In one question."""
_QUESTION_BYTES = 1 << 14
_FAST = (
    "The fast path is on at {}: what it forwards is listed with the addresses that it leaves with, after NAT."
)
_UPLOADS = " Uploads whose address NAT changes are then not found in a queue."
_TAGGED = " What {} receives by it is listed at the port that carries the VLAN."


class Sees(Protocol):
    """The part of `Datapath` that is asked here."""

    def lookup(self, domain: int, family: int, address: int) -> int: ...
    def attached(self) -> dict[str, Port]: ...
    def map_fd(self, name: str) -> int: ...
    @property
    def library(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Seat:
    """A run's place at the agent: what is told first, and whom it may ask. `note`: what it cannot see."""

    note: str
    told: bytes
    maps: tuple[int, ...]
    named: Callable[[Sequence[str]], dict[str, Any]]

    def serve(self, run: socket.socket) -> None:
        """Tell what is needed, then answer until the process is gone."""
        with run:
            try:
                socket.send_fds(run, [self.told], list(self.maps))
                while question := run.recv(_QUESTION_BYTES):
                    run.send(json.dumps(self.named(json.loads(question)[:MOST_ADDRESSES])).encode())
            except (OSError, ValueError):
                return  # it has ended, or what it asks makes no sense

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.maps:
            os.close(descriptor)


def library_seat(library: str, crowds: Sequence[tuple[str, int]] = ()) -> Seat:
    """Of a run that needs libweir, and maybe `crowds` of listening sockets, and asks nothing."""
    told = json.dumps({"library": library, "listeners": crowds})
    return Seat("", told.encode(), (), lambda _addresses: {})


def crowded() -> list[tuple[str, int]]:
    """The addresses on which most sockets listen, and how many. Raises `Unavailable`."""
    return [(chain.address, chain.sockets) for chain in listeners.chains(METERED)]


class TorchDesk:
    """Thread-safe. `names` gives what hosts are called, by address."""

    def __init__(
        self,
        configuration: Configuration,
        datapath: Sees,
        names: Callable[[], Mapping[str, str]],
    ) -> None:
        self._configuration = configuration
        self._datapath = datapath
        self._names = names

    def seat(self, asked: Torch) -> Seat:
        """Raises `NotFound` (the interface or the queue) or `Conflict` (no packets of a queue are seen)."""
        with self._configuration.lock:
            ports = self._datapath.attached()
            if asked.queue is not None:
                slots = self._slots(asked.queue)
                indexes = [port.ifindex for port in ports.values() if _shapes(port)]
                if not indexes:
                    raise Conflict("no interface with a role shapes now", code="nothing-shaped")
            else:
                slots, indexes = b"", [_index(str(asked.interface))]
            told = {
                "library": self._datapath.library,
                "ifindexes": indexes,
                "slots": base64.b64encode(slots).decode(),
            }
            with ExitStack() as opened:
                maps = []
                for name in MAPS:
                    maps.append(self._datapath.map_fd(name))
                    opened.callback(os.close, maps[-1])
                opened.pop_all()
        domains = {port.domain for port in ports.values()} or {MAIN_DOMAIN}
        if (port := ports.get(str(asked.interface))) is not None:
            domains = {port.domain}

        def named(addresses: Sequence[str]) -> dict[str, Any]:
            return self._named(addresses, sorted(domains))

        return Seat(_note(asked, ports), json.dumps(told).encode(), tuple(maps), named)

    def _slots(self, queue_id: str) -> bytes:
        """A bit for the class of the queue and of each that it is above."""
        compiled = self._configuration.compiled
        top = compiled.class_of(queue_id)
        if top is None:
            if self._configuration.document.queue(queue_id) is None:
                raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
            raise Conflict(
                f"queue {queue_id} is not in force now, so it carries nothing", code="not-in-force"
            )
        classes = compiled.shaping.classes
        within: dict[int, bool] = {NO_SLOT: False, top.slot: True}
        bits = bytearray((max(classes) // 64 + 1) * 8)
        for slot in classes:
            if _is_within(slot, classes, within):
                bits[slot // 8] |= 1 << slot % 8
        return bytes(bits)

    def _named(self, addresses: Sequence[str], domains: Sequence[int]) -> dict[str, Any]:
        called = self._names()
        found = {}
        with self._configuration.lock:
            classes = self._configuration.compiled.shaping.classes
            document = self._configuration.document
            for address in addresses:
                text = str(ip_address(address))
                ids = (queue_in(self._datapath, classes, domain, text) for domain in domains)
                queue = document.queue(next((queue_id for queue_id in ids if queue_id), None))
                found[address] = {"host": called.get(text), "queue": queue.name if queue else None}
        return found


def _is_within(slot: int, classes: Mapping[int, ClassSpec], within: dict[int, bool]) -> bool:
    """Whether a class is one of those, or below one; `within` learns it of all on the way."""
    way = []
    while slot not in within:
        way.append(slot)
        slot = classes[slot].parent_slot if slot in classes else NO_SLOT
    within.update(dict.fromkeys(way, within[slot]))
    return within[slot]


def _shapes(port: Port) -> bool:
    """Members shape for a bridge or bond that yields."""
    return port.alive and bool(port.roles & (Role.CLASSIFY | Role.SHAPE)) and not port.roles & Role.YIELDS


def _index(ifname: str) -> int:
    try:
        return socket.if_nametoindex(ifname)
    except OSError as error:
        raise NotFound(f"there is no interface {ifname}", code="no-such-interface") from error


def _note(asked: Torch, ports: Mapping[str, Port]) -> str:
    fast = sorted(name for name, port in ports.items() if port.roles & Role.FAST)
    if not fast:
        return ""
    note = _FAST.format(", ".join(fast))
    if asked.queue is not None:
        note += _UPLOADS
    elif (port := ports.get(str(asked.interface))) is not None and port.roles & Role.TAGGED:
        note += _TAGGED.format(asked.interface)
    return note
