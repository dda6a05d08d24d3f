# SPDX-License-Identifier: Apache-2.0
"""A DHCP client for each interface that is to have one, as long as it is there and up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from weir.adapters.arp_probe import holder_of
from weir.adapters.dhcp_wire import DhcpWire
from weir.adapters.netlink import Link, Links
from weir.agent.dhcp_client import DhcpClient, Lease
from weir.agent.lease_client import since_boot_s
from weir.agent.lease_clients import Closing, LeaseClients
from weir.agent.leases import Leases
from weir.host import host_name
from weir.model.problem import Problem
from weir.parts.network import NetworkSpec

log = logging.getLogger(__name__)

GRACE_S = 10
"""After a lease's end the kernel removes the address, should nobody be left to do it."""


class DhcpClients(LeaseClients):
    def __init__(self, links: Links, leases: Leases, take_lease: Callable[[str, Lease | None], None]) -> None:
        """`take_lease(interface, lease)` brings it to the kernel; None: there is none any more."""
        super().__init__("dhcp", links)
        self._leases = leases
        self._take_lease = take_lease

    def wish(self, spec: NetworkSpec) -> object:
        return spec.dhcp

    def held(self) -> Collection[str]:
        return self._leases.held()

    def drop(self, name: str) -> None:
        self._take_lease(name, None)

    def made(self, link: Link, wish: object, *, is_other: bool) -> tuple[DhcpClient, Closing]:
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
        return client, wire

    def ended(self, name: str) -> None:
        self._leases.forget_declined(name)

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
