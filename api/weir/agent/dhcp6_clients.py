# SPDX-License-Identifier: Apache-2.0
"""A DHCPv6 client for each WAN that asks for a prefix, as long as it is there and up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from weir.adapters.dhcp_wire import Dhcp6Wire
from weir.adapters.netlink import Link, Links
from weir.agent.delegations import Delegations
from weir.agent.dhcp6_client import Delegation, Dhcp6Client
from weir.agent.lease_clients import Closing, LeaseClients
from weir.model.delegation import Dhcpv6
from weir.model.problem import Problem
from weir.parts.network import NetworkSpec

log = logging.getLogger(__name__)


class Dhcp6Clients(LeaseClients):
    def __init__(
        self, links: Links, delegations: Delegations, follow: Callable[[Callable[[], bool]], None]
    ) -> None:
        """`follow(note)` calls `note`, and where that says that something changed, brings it to the kernel
        and to the hosts."""
        super().__init__("dhcp6", links)
        self._delegations = delegations
        self._follow = follow

    def follow(self, network: Mapping[str, NetworkSpec]) -> None:
        super().follow(network)
        self._delegations.remember(network)
        if self._delegations.has_aged():
            self._bring(lambda: True)

    def wish(self, spec: NetworkSpec) -> object:
        return spec.dhcpv6

    def held(self) -> Collection[str]:
        return self._delegations.known()

    def drop(self, name: str) -> None:
        self._bring(lambda: self._delegations.forget(name))

    def made(self, link: Link, wish: object, *, is_other: bool) -> tuple[Dhcp6Client, Closing]:
        """One that asks for something else starts without what was given."""
        assert isinstance(wish, Dhcpv6)
        name, wire = link.name, Dhcp6Wire(link.name)
        known = None if is_other else self._delegations.held().get(name)
        take = lambda held, failure: self._take(name, held, failure)  # noqa: E731
        return Dhcp6Client(name, link.mac, wish, wire, take, known=known), wire

    def _take(self, name: str, held: Delegation | None, failure: str) -> None:
        self._bring(lambda: self._delegations.note(name, held, failure))
        if held is None or failure:
            log.warning("DHCPv6 on %s: %s%s", name, failure, "" if held else "; it has no prefix")
        else:
            log.info("DHCPv6 on %s: %s %s", name, held.prefix, held.address)

    def _bring(self, note: Callable[[], bool]) -> None:
        """Also called by clients' threads, which must survive what the kernel says."""
        try:
            self._follow(note)
        except Problem as problem:
            log.warning("DHCPv6: %s", problem.message)
