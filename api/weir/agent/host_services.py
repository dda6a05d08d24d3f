# SPDX-License-Identifier: Apache-2.0
"""What serves the hosts of a network: their addresses, names, and what routers announce to each other."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any

from weir.agent.configuration import Configuration
from weir.agent.known_hosts import KnownHosts
from weir.agent.lease_names import Asked, LeaseNames
from weir.agent.options import daemon_folder, lasting, state_folder
from weir.agent.prefix_routes import PrefixFollower, PrefixRoutes
from weir.backends.announcing import AnnouncingBackend
from weir.backends.arp import ArpBackend
from weir.backends.autoconf import AutoconfBackend
from weir.backends.daemons import Learn
from weir.backends.dhcp import DhcpBackend, RelayedDhcpBackend
from weir.backends.dhcp6 import Dhcp6Backend
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.dhcp_relay import DhcpRelayBackend
from weir.backends.dns import DnsBackend
from weir.parts import arp, dhcp6
from weir.parts.announcing import ANNOUNCING
from weir.parts.arp import ARP
from weir.parts.autoconf import AUTOCONF
from weir.parts.dhcp import DHCP, DHCP_RELAYED
from weir.parts.dhcp6 import DHCP6
from weir.parts.dhcp_relay import DHCP_RELAY
from weir.parts.dns import DNS
from weir.parts.network import NETWORK


@dataclass(frozen=True, slots=True)
class HostServices:
    """`autoconf` is the other side of `announcing`: what this router learns of others. `leases` are those of
    all DHCP servers, `prefixes` the routes to what those of IPv6 delegate."""

    leases: LeaseTable
    dhcp: DhcpBackend
    dhcp_relayed: RelayedDhcpBackend
    dhcp_relay: DhcpRelayBackend
    dhcp6: Dhcp6Backend
    dns: DnsBackend
    announcing: AnnouncingBackend
    autoconf: AutoconfBackend
    arp: ArpBackend
    prefixes: PrefixRoutes

    @classmethod
    def of(cls, options: argparse.Namespace) -> HostServices:
        """None of them is started before something of it is configured."""
        state_dir, lasts = state_folder(options), lasting(options)
        folder, is_unit = daemon_folder(state_dir), options.sets_clock
        leases, relayed = LeaseTable(), "dhcp-relayed"
        return cls(
            leases,
            DhcpBackend(folder / "dhcp", lasts / "dhcp", leases, is_unit=is_unit),
            RelayedDhcpBackend(folder / relayed, lasts / relayed, leases, is_unit=is_unit),
            DhcpRelayBackend(folder / "dhcp-relay", is_unit=is_unit),
            Dhcp6Backend(folder / "dhcp6", lasts / "dhcp6", leases, is_unit=is_unit),
            DnsBackend(folder / "dns", options.ca_bundle, is_unit=is_unit),
            AnnouncingBackend(folder / "announcing", lasts / "announced.json", is_unit=is_unit),
            AutoconfBackend(state_dir / "autoconf.json"),
            ArpBackend(leases, state_dir / "arp.json"),
            PrefixRoutes(leases, lasts / "delegated.json"),
        )

    @property
    def backends(self) -> dict[str, Any]:
        """By the name of the part that each brings in line, and `prefixes` for the routes."""
        return {
            DHCP.name: self.dhcp,
            DHCP_RELAYED.name: self.dhcp_relayed,
            DHCP_RELAY.name: self.dhcp_relay,
            DHCP6.name: self.dhcp6,
            DNS.name: self.dns,
            ANNOUNCING.name: self.announcing,
            AUTOCONF.name: self.autoconf,
            ARP.name: self.arp,
            "prefixes": self.prefixes,
        }

    def followers(self, configuration: Configuration) -> tuple[LeaseNames | PrefixFollower | KnownHosts, ...]:
        """What follows leases: names, routes, and which hosts are heard."""
        return (
            KnownHosts(self.arp, partial(_of_arp, configuration)),
            LeaseNames(self.leases, self.dns, partial(asked_of, configuration)),
            PrefixFollower(self.prefixes, partial(_delegating, configuration), configuration.follow_prefixes),
        )

    @property
    def learners(self) -> tuple[Learn, ...]:
        """Who says of interfaces what routers announce."""
        return self.announcing.learn, self.autoconf.learn


def _delegating(configuration: Configuration) -> dhcp6.Wanted:
    """The DHCPv6 servers of what runs, with what is delegated now."""
    with configuration.lock:
        if not configuration.loaded:
            return {}
        compiled = configuration.compiled
        return configuration.executor.delegations.served(compiled.of(DHCP6), compiled.of(NETWORK))


def _of_arp(configuration: Configuration) -> arp.Wanted:
    """What of ARP the configuration that runs asks for."""
    with configuration.lock:
        return configuration.compiled.of(ARP) if configuration.loaded else {}


def asked_of(configuration: Configuration) -> Asked:
    """What the name service and the DHCP servers are to do by the configuration that runs, with the networks
    that are delegated now."""
    with configuration.lock:
        if not configuration.loaded:
            return Asked({}, {}, {}, {})
        compiled = configuration.compiled
        given = configuration.executor.delegations.served(compiled.of(DHCP6), compiled.of(NETWORK))
        return Asked(compiled.of(DNS), compiled.of(DHCP), compiled.of(DHCP_RELAYED), given)
