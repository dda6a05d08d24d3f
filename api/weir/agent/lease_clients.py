# SPDX-License-Identifier: Apache-2.0
"""A client of a protocol for each interface that is to have one, as long as it is there and up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from weir.adapters.netlink import Link, Links
from weir.agent.lease_client import LeaseClient
from weir.loop import Loop
from weir.parts.network import NetworkSpec

AGAIN_S = 10.0
"""After a client failed by what nobody foresaw; what it holds goes on."""


class Closing(Protocol):
    def close(self) -> None: ...


@dataclass(slots=True)
class _Running:
    client: LeaseClient[Any]
    wire: Closing
    loop: Loop
    index: int
    mac: str
    carrier: bool
    wish: object


class LeaseClients(ABC):
    """`follow` and `stop` belong to one thread; each client has its own."""

    def __init__(self, protocol: str, links: Links) -> None:
        self._protocol = protocol
        self._links = links
        self._running: dict[str, _Running] = {}

    @abstractmethod
    def wish(self, spec: NetworkSpec) -> object:
        """What an interface asks for; None or False: for nothing."""

    @abstractmethod
    def held(self) -> Collection[str]:
        """The interfaces of which something is held or known."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Nothing is asked for there any more."""

    @abstractmethod
    def made(self, link: Link, wish: object, *, is_other: bool) -> tuple[LeaseClient[Any], Closing]:
        """A client, and what it speaks by. `is_other`: something else was asked for before."""

    def ended(self, name: str) -> None:
        """A client has ended."""
        return

    def follow(self, network: Mapping[str, NetworkSpec]) -> None:
        """Start and stop what the configuration and the interfaces that are there ask for."""
        wanted = {name: wish for name, spec in network.items() if spec.up and (wish := self.wish(spec))}
        if not wanted and not self._running and not self.held():
            return
        links = self._links.links()
        for name in self._running.keys() - wanted.keys():
            self._end(name, give_back=True)
        for name in set(self.held()) - wanted.keys():
            self.drop(name)
        for name, wish in sorted(wanted.items()):
            self._keep(name, wish, _asking(links, network[name]))

    def _keep(self, name: str, wish: object, link: Link | None) -> None:
        running, is_other = self._running.get(name), False
        if running is not None:
            is_other = running.wish != wish
            if link is None or is_other or (link.index, link.mac) != (running.index, running.mac):
                self._end(name, give_back=False)
                running = None
        if running is not None and link is not None:
            if link.carrier and not running.carrier:
                running.client.confirm()
            running.carrier = link.carrier
        elif link is not None and link.ethernet and link.up:
            client, wire = self.made(link, wish, is_other=is_other)
            loop = Loop(f"{self._protocol}-{name}", client.run, again_s=AGAIN_S)
            self._running[name] = _Running(client, wire, loop, link.index, link.mac, link.carrier, wish)
            loop.start()

    def stop(self) -> None:
        """What is held stays, for the agent that comes next."""
        for name in list(self._running):
            self._end(name, give_back=False)

    def _end(self, name: str, *, give_back: bool) -> None:
        running = self._running.pop(name)
        running.client.stop()
        running.loop.stop()
        self.ended(name)
        if give_back:
            running.client.release()
        running.wire.close()


def _asking(links: Mapping[str, Link], spec: NetworkSpec) -> Link | None:
    """What a client asks by. Servers know a session, which has no hardware address, by that of what it is on,
    as a client is one whatever it asks by (RFC 8415, 11)."""
    link, below = links.get(spec.ifname), links.get(spec.dialled)
    if link is None or below is None:
        return link
    return replace(link, mac=below.mac, ethernet=below.ethernet)
