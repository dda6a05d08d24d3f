# SPDX-License-Identifier: Apache-2.0
"""kea-dhcp6: the servers for IPv6 (docs/adr/0264). A delegated prefix that comes or changes is a change of
its file."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters.kea import UDP_CAPABILITIES
from weir.adapters.kea_leases import Lease
from weir.backends.backend import Comparison, Look, Topic
from weir.backends.daemons import DaemonDifference, DaemonState
from weir.backends.dhcp_leases import Client
from weir.backends.kea import KeaBackend
from weir.backends.kea6_config import config6_text, subnet_ids
from weir.backends.kea_config import subnet_id
from weir.kinds.dhcp6_pools import PoolState
from weir.kinds.dhcp6_server import MAX_SHOWN_POOLS, Dhcpv6Server
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.prefix import parse_prefix
from weir.model.problem import Problem
from weir.parts.dhcp6 import DHCP6, Reserved, Server6Spec, Wanted
from weir.parts.effect import Effect
from weir.parts.explained import Line


class Dhcp6Backend(KeaBackend[Wanted]):
    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons", "links", "leases"))
    learns = ("dhcpv6-server",)
    part, family, capabilities = DHCP6, 6, UDP_CAPABILITIES
    unit, unit_data = "weir-dhcp6.service", Path("/var/lib/weir-dhcp6")

    def served(self, wanted: Wanted) -> Sequence[Server6Spec]:
        """Not those of a delegated prefix that is not there, or that is deprecated (RFC 9096)."""
        return [spec for spec in wanted.values() if _is_served(spec)]

    def text(self, wanted: Wanted, links: Mapping[str, int]) -> str:
        return config6_text(self.served(wanted), links, self._kea.socket, self._kea.leases)

    def blocked(self, wanted: Wanted) -> Mapping[Client, str]:
        return {
            Client(number, "client" if one.by == "duid" else "mac", one.value): one.id
            for spec in wanted.values()
            for number in subnet_ids(spec)
            for one in spec.reserved
            if one.block
        }

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """Leases stay. A client whose address is not given any more gets another when it renews it."""
        for spec in look.delta.removed:
            text = f"nobody on {spec.ifname} gets an IPv6 address any more; leases hold until they end"
            yield Effect("dhcpv6-server", spec.id, "resets", text)
        for old, new in look.delta.set:
            if old is not None and (old.network, old.ifname) != (new.network, new.ifname):
                text = f"clients on {new.ifname} get other addresses when they renew theirs"
                yield Effect("dhcpv6-server", new.id, "resets", text)
            before = {} if old is None else {one.id: one for one in old.reserved}
            for one in new.reserved:
                if one.block:
                    if one.id not in before or not before[one.id].block:
                        text = "the host gets no answer any more, and what it has ends with its lease"
                        yield Effect("dhcpv6-reservation", one.id, "drops-sessions", text)
                    continue
                if one.id in before and before[one.id].end != one.end and one.end is not None:
                    text = f"the host gets {new.address_of(one.end)} when it renews its address"
                    yield Effect("dhcpv6-reservation", one.id, "resets", text)
                if one.id in before and before[one.id].prefix not in (None, one.prefix):
                    text = f"its router has {before[one.id].prefix} no more when it renews"
                    yield Effect("dhcpv6-reservation", one.id, "resets", text)
            for whole in () if old is None else sorted(_pools(old) - _pools(new)):
                text = f"routers on {new.ifname} that have a prefix of {whole[0]} lose it"
                yield Effect("dhcpv6-server", new.id, "resets", text)

    def explain(
        self,
        found: Comparison[DaemonState, Wanted, DaemonDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        yield from super().explain(found, item, told)
        spec = self._wanted.get(item.id) if isinstance(item, Dhcpv6Server) else None
        if spec is None or not told:
            return
        if not _is_served(spec):
            words = f"{spec.failure or f'{spec.ifname} has no prefix now'}, so nobody is answered"
            yield Line("interface", "a delegated prefix", words, True)
        elif found.difference.wanted:
            listens = self.is_heard(spec)
            words = f"it {'listens' if listens else 'does not listen'} on {spec.ifname}, for {spec.network}"
            words += f", a part of {spec.origin.text}" if spec.origin is not None else ""
            yield Line("interface", f"it listens on {spec.ifname}", words, listens)
            for pool in spec.prefix_pools:
                if pool.origin is not None:
                    words = f"/{pool.length} of {pool.prefix}, a part of {pool.origin.text}"
                    words += "" if pool.preferred_s else ", which is deprecated, so no more are given"
                    yield Line("delegated_pools", f"prefixes of {pool.origin.uplink}'s prefix", words, True)
        for _, why in spec.pool_failures:
            yield Line("delegated_pools", "prefixes of a delegated prefix", f"{why}, so none is given", True)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Nothing while the leases cannot be read."""
        try:
            leases = self.leases.held()
        except Problem:
            return {}
        six = [lease for lease in leases.values() if lease.family == self.family]
        counts = Counter(lease.subnet_id for lease in six if not lease.is_prefix)
        prefixes = [lease.address for lease in six if lease.is_prefix]
        return {
            spec.id: {
                "serving": _is_served(spec) and self.is_heard(spec),
                "network": spec.network,
                "origin": spec.origin and spec.origin.text,
                "failure": spec.failure or None,
                "lease_count": 0 if spec.network is None else counts[subnet_id(spec.network)],
                "address_count": 0 if spec.network is None else spec.address_count,
                "delegated_count": sum(map(spec.gave, prefixes)) if spec.delegates else 0,
                "prefix_count": sum(pool.capacity for pool in spec.prefix_pools),
                "pools": _pools_now(spec, prefixes),
            }
            for spec in self._wanted.values()
            if ids is None or spec.id in ids
        }

    def learn_reservations(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """As `learn`, of reservations."""
        try:
            leases, left = self.leases.held(), self.left_to_blocked()
        except Problem:
            return {}
        return {
            one.id: {
                "leased_until": _until(_lease_of(leases, spec, one), one),
                "keeps_until": left.get(one.id),
            }
            for spec in self._wanted.values()
            for one in spec.reserved
            if ids is None or one.id in ids
        }

    def _has_socket(self, spec: Server6Spec) -> bool:
        return self._kea.is_asked_by_group(socket.if_nametoindex(spec.ifname))


def _pools(spec: Server6Spec) -> set[tuple[str, int]]:
    """What is configured, in words."""
    delegated = {(f"{pool.uplink}'s prefix", pool.length) for pool in spec.delegated_pools}
    return {(pool.prefix, pool.length) for pool in spec.prefix_pools} | delegated


def _pools_now(spec: Server6Spec, given: Sequence[str]) -> list[dict[str, Any]]:
    """The state of its pools; `given` are the prefixes that routers have of any."""
    held = [parse_prefix(text) for text in given] if spec.prefix_pools else []
    found = [
        PoolState(
            pool.prefix,
            pool.length,
            sum(map(pool.covers, held)),
            pool.origin and pool.origin.text,
            None if pool.preferred_s else "it is deprecated",
        )
        for pool in spec.prefix_pools
    ]
    found += [PoolState(length=length, failure=why) for length, why in spec.pool_failures]
    return [asdict(one) for one in found[:MAX_SHOWN_POOLS]]


def _is_served(spec: Server6Spec) -> bool:
    return spec.network is not None and spec.preferred_s > 0


def _lease_of(leases: Mapping[str, Lease], spec: Server6Spec, one: Reserved) -> Lease | None:
    """Of its address, or of its prefix where it has none."""
    return leases.get((one.prefix or "") if one.end is None else spec.address_of(one.end))


def _until(lease: Lease | None, one: Reserved) -> str | None:
    """When the host's lease ends; None for nobody's, and for one that another host still has."""
    if lease is None or one.value != (lease.client_id if one.by == "duid" else lease.mac):
        return None
    return moment(lease.expires_s * 1000)
