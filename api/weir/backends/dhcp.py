# SPDX-License-Identifier: Apache-2.0
"""kea-dhcp4: the servers for hosts on a link, and those that relay agents ask (docs/adr/0249)."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters.kea import UDP_CAPABILITIES
from weir.adapters.kea_leases import Lease
from weir.backends.backend import Comparison, Look
from weir.backends.daemons import DaemonDifference, DaemonState
from weir.backends.dhcp_leases import Client
from weir.backends.kea import KeaBackend
from weir.backends.kea_config import config_text, servers_of, subnet_id
from weir.kinds.dhcp_server import DhcpServer
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.problem import Problem
from weir.parts.dhcp import DHCP, DHCP_RELAYED, DhcpPart, ReservationSpec, ServerSpec, Wanted
from weir.parts.effect import Effect
from weir.parts.explained import Line


class DhcpBackend(KeaBackend[Wanted]):
    """The servers for hosts on a link, which have raw sockets."""

    learns = ("dhcp-server",)
    part: ClassVar[DhcpPart] = DHCP
    unit, unit_data = "weir-dhcp.service", Path("/var/lib/weir-dhcp")

    def served(self, wanted: Wanted) -> Sequence[ServerSpec]:
        return servers_of(wanted)

    def text(self, wanted: Wanted, links: Mapping[str, int]) -> str:
        return config_text(wanted, links, self._kea.socket, self._kea.leases)

    def blocked(self, wanted: Wanted) -> Mapping[Client, str]:
        """A lease of IPv4 says the MAC address of its host alone, as Kea keeps no client id that it does not
        look at (`match-client-id`), and no port of a switch. Of such hosts the reserved address is meant."""
        numbers = {spec.id: subnet_id(spec.network) for spec in servers_of(wanted)}
        found: dict[Client, str] = {}
        for spec in wanted.values():
            if isinstance(spec, ReservationSpec) and spec.block:
                number = numbers[spec.server]
                by_mac = Client(number, "mac", bytes.fromhex(spec.value).hex(":"))
                at = by_mac if spec.by == "hw-address" else Client(number, "address", spec.address)
                found[at] = spec.id
        return found

    # -- what it costs ---------------------------------------------------------------------------------------

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """Leases stay. A host whose address is not given any more gets another when it renews its lease."""
        for spec in look.delta.removed:
            if isinstance(spec, ServerSpec):
                text = f"nobody {spec.where} gets an address any more; leases hold until they end"
                yield Effect("dhcp-server", spec.id, "resets", text)
        for old, new in look.delta.set:
            if isinstance(old, ServerSpec) and old.network != new.network:
                text = f"clients {new.where} get other addresses when they renew theirs"
                yield Effect("dhcp-server", new.id, "resets", text)
            elif isinstance(new, ReservationSpec) and new.block:
                if not isinstance(old, ReservationSpec) or not old.block:
                    text = "the host gets no answer any more, and its address ends with the lease that it has"
                    yield Effect("dhcp-reservation", new.id, "drops-sessions", text)
            elif isinstance(old, ReservationSpec) and old.address != new.address:
                text = f"the host gets {new.address} when it renews {old.address}"
                yield Effect("dhcp-reservation", new.id, "resets", text)

    # -- what it says ----------------------------------------------------------------------------------------

    def explain(
        self,
        found: Comparison[DaemonState, Wanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        if isinstance(item, DhcpServer) and (item.relayed is not None) != self.part.is_relayed:
            return  # the other process does it
        yield from super().explain(found, item, told)
        spec = self._wanted.get(f"server {item.id}") if isinstance(item, DhcpServer) else None
        if isinstance(spec, ServerSpec) and found.difference.wanted and told:
            listens = self.is_heard(spec)
            where = f"{spec.ifname}, at {spec.router}" if spec.relays else spec.ifname
            words = f"it listens on {where}" if listens else f"it does not listen on {where}"
            yield Line("interface", f"it listens on {where}", words, listens)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Of servers; nothing while the leases cannot be read."""
        try:
            leases = self.leases.held()
        except Problem:
            return {}
        counts = Counter(lease.subnet_id for lease in leases.values())
        return {
            spec.id: {
                "serving": self.is_heard(spec),
                "lease_count": counts[subnet_id(spec.network)],
                "address_count": spec.address_count,
            }
            for spec in servers_of(self._wanted)
            if ids is None or spec.id in ids
        }

    def learn_reservations(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """As `learn`, of reservations."""
        try:
            leases, left = self.leases.held(), self.left_to_blocked()
        except Problem:
            return {}
        wanted = self._wanted
        names = wanted if ids is None else (f"reservation {name}" for name in ids)
        specs = [spec for spec in map(wanted.get, names) if isinstance(spec, ReservationSpec)]
        return {
            spec.id: {
                "leased_until": _until(leases.get(spec.address), spec),
                "keeps_until": left.get(spec.id),
            }
            for spec in specs
        }

    def _has_socket(self, spec: ServerSpec) -> bool:
        return socket.if_nametoindex(spec.ifname) in self._kea.listens_on()


class RelayedDhcpBackend(DhcpBackend):
    """The servers for networks behind relay agents: a process of its own, as Kea has sockets of one sort."""

    part, capabilities = DHCP_RELAYED, UDP_CAPABILITIES
    unit, unit_data = "weir-dhcp-relayed.service", Path("/var/lib/weir-dhcp-relayed")

    def _has_socket(self, spec: ServerSpec) -> bool:
        return self._kea.is_asked_at(spec.router)


def _until(lease: Lease | None, spec: ReservationSpec) -> str | None:
    """When the host's lease ends; None for nobody's, and for one that another host still has."""
    if lease is None or (spec.by == "hw-address" and lease.mac.replace(":", "") != spec.value):
        return None
    return moment(lease.expires_s * 1000)
