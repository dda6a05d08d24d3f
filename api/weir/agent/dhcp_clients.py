# SPDX-License-Identifier: Apache-2.0
"""A DHCP client for each interface that is to have one, as long as it is there and up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weir.adapters.arp_probe import holder_of
from weir.adapters.dhcp_wire import DhcpWire
from weir.adapters.netlink import Link, Links
from weir.agent.dhcp_client import DhcpClient, Lease, since_boot_s
from weir.agent.leases import Leases
from weir.host import host_name
from weir.loop import Loop
from weir.model.problem import Problem
from weir.parts.network import NetworkSpec

log = logging.getLogger(__name__)

AGAIN_S = 10.0
"""After a client failed by what nobody foresaw; its lease goes on."""
GRACE_S = 10
"""After a lease's end the kernel removes the address, should nobody be left to do it."""


@dataclass(slots=True)
class _Running:
    client: DhcpClient
    wire: DhcpWire
    loop: Loop
    index: int
    mac: str
    carrier: bool


class DhcpClients:
    """`follow` and `stop` belong to one thread; each client has its own."""

    def __init__(self, links: Links, leases: Leases, take_lease: Callable[[str, Lease | None], None]) -> None:
        """`take_lease(interface, lease)` brings it to the kernel; None: there is none any more."""
        self._links = links
        self._leases = leases
        self._take_lease = take_lease
        self._running: dict[str, _Running] = {}

    def follow(self, network: Mapping[str, NetworkSpec]) -> None:
        """Start and stop what the configuration and the interfaces that are there ask for."""
        wanted = {name for name, spec in network.items() if spec.dhcp and spec.up}
        if not wanted and not self._running and not self._leases.held():
            return
        links = self._links.links()
        for name in set(self._running) - wanted:
            self._end(name, give_back=True)
        for name in self._leases.held().keys() - wanted:
            self._take_lease(name, None)
        for name in sorted(wanted):
            link, running = links.get(name), self._running.get(name)
            if running is not None and (
                link is None or (link.index, link.mac) != (running.index, running.mac)
            ):
                self._end(name, give_back=False)
                running = None
            if running is not None and link is not None:
                if link.carrier and not running.carrier:
                    running.client.confirm()
                running.carrier = link.carrier
            elif link is not None and link.ethernet and link.up:
                self._begin(link)

    def stop(self) -> None:
        """Addresses and leases stay, for the agent that comes next."""
        for name in list(self._running):
            self._end(name, give_back=False)

    def _begin(self, link: Link) -> None:
        name, wire = link.name, DhcpWire(link.name)
        client = DhcpClient(
            link.mac,
            wire,
            lambda lease: self._take(name, lease),
            known=self._leases.held().get(name),
            hostname=host_name(),
            holder_of=lambda address: holder_of(name, bytes.fromhex(link.mac.replace(":", "")), address),
            declined=lambda address, holder: self._leases.note_declined(name, address, holder),
        )
        loop = Loop(f"dhcp-{name}", client.run, again_s=AGAIN_S)
        self._running[name] = _Running(client, wire, loop, link.index, link.mac, link.carrier)
        loop.start()

    def _end(self, name: str, *, give_back: bool) -> None:
        running = self._running.pop(name)
        running.client.stop()
        running.loop.stop()
        self._leases.forget_declined(name)
        if give_back:
            running.client.release()
        running.wire.close()

    def _take(self, name: str, lease: Lease | None) -> None:
        """Called by the client's thread, which must survive what the kernel says."""
        try:
            self._take_lease(name, lease)
            if lease is None:
                log.warning("DHCP on %s: no address any more", name)
            else:
                seconds = max(int(lease.expires_at - since_boot_s()), 0) + GRACE_S
                if self._is_ours(name, lease.address):
                    self._links.limit_address(name, lease.address, seconds)
                log.info("DHCP on %s: %s from %s, %d s", name, lease.address, lease.server, seconds - GRACE_S)
        except Problem as problem:
            log.warning("DHCP on %s: %s", name, problem.message)

    def _is_ours(self, name: str, address: str) -> bool:
        index = self._links.link(name).index
        held = self._links.addresses()
        return any((item.ifindex, item.text, item.ours) == (index, address, True) for item in held)
