# SPDX-License-Identifier: Apache-2.0
"""kea-dhcp4: who gets which address (docs/adr/0171).

A running Kea is given its configuration by its socket. It looks at all of it before it takes any of it, keeps
its leases, and answers with the digest of what it has. The checker is asked before a start only: it takes as
long as the change itself.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters.daemon import Daemon, Program
from weir.adapters.kea import CAPABILITIES, RELAYED_CAPABILITIES, Kea
from weir.adapters.kea_leases import Lease
from weir.backends.backend import Comparison, Look, Topic
from weir.backends.daemons import SETTLED_S, DaemonBackend, DaemonDifference, DaemonState
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.kea_config import (
    config_text,
    links_of,
    servers_of,
    subnet_id,
    tag_of,
    without_subnets_on,
)
from weir.kinds.dhcp_server import DhcpServer
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.problem import Problem
from weir.parts.dhcp import DHCP, DHCP_RELAYED, DhcpPart, ReservationSpec, ServerSpec, Wanted
from weir.parts.effect import Effect
from weir.parts.explained import Line

CONF = "kea.conf"
UNIT = "weir-dhcp.service"
UNIT_DATA = Path("/var/lib/weir-dhcp")
"""The unit's folder of state: its user cannot reach the agent's."""
RELAYED_UNIT, RELAYED_UNIT_DATA = "weir-dhcp-relayed.service", Path("/var/lib/weir-dhcp-relayed")
"""The same of the server for networks behind relay agents."""


class DhcpBackend(DaemonBackend[Wanted]):
    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons", "links"))
    learns = ("dhcp-server",)
    part: ClassVar[DhcpPart] = DHCP
    unit: ClassVar[str] = UNIT
    unit_data: ClassVar[Path] = UNIT_DATA

    def __init__(
        self, folder: Path, data: Path, leases: LeaseTable | None = None, *, is_unit: bool = False
    ) -> None:
        """Leases are kept in `data`, which lasts, and shown in `leases`, a table of its own without one. With
        `is_unit` systemd runs Kea, as a unit of the image, which has a folder of its own for them."""
        name = self.part.name
        self._kea = Kea(
            folder,
            self.unit_data if is_unit else data,
            name=name,
            makes_data=not is_unit,
            capabilities=RELAYED_CAPABILITIES if self.part.is_relayed else CAPABILITIES,
        )
        self.leases = leases or LeaseTable()
        self.leases.follow(self._kea.leases)
        self._wanted: Wanted = {}
        """What was asked for last: state is told about it."""
        self._links: Mapping[str, int] = {}
        self._known: frozenset[str] = frozenset()
        """Interfaces that are in what Kea has."""
        self._rendered: tuple[Wanted, Mapping[str, int], str] | None = None

        def command(config: Path) -> Sequence[str]:
            return self._kea.command(config / CONF, "-c")

        def check(config: Path) -> Sequence[str]:
            return self._kea.command(config / CONF, "-t")

        super().__init__(Daemon(Program(name, command, check), folder, self.unit if is_unit else ""))

    # -- what it has -----------------------------------------------------------------------------------------

    def read(self) -> DaemonState:
        self._links = {name: index for index, name in socket.if_nameindex()}
        return super().read()

    def files(self, wanted: Wanted) -> Mapping[str, str]:
        """None while no interface of a server is there."""
        self._wanted = wanted
        links = {
            spec.ifname: self._links[spec.ifname] for spec in servers_of(wanted) if spec.ifname in self._links
        }
        if not links:
            return {}
        if self._rendered is None or self._rendered[0] is not wanted or self._rendered[1] != links:
            text = config_text(wanted, links, self._kea.socket, self._kea.leases)
            self._rendered = (wanted, links, text)
        return {CONF: self._rendered[2]}

    def expected(self, wanted: Wanted) -> object:
        text = self.files(wanted).get(CONF)
        return None if text is None else tag_of(text)

    def loaded(self, timeout_s: float) -> object:
        return self._kea.ask("server-tag-get", None, timeout_s)["server-tag"]

    # -- what it is given ------------------------------------------------------------------------------------

    def apply(self, difference: DaemonDifference) -> None:
        if difference.wanted:
            self._kea.make_folders()
        held = difference.held.files.get(CONF)
        is_in_force = held is not None and difference.held.loaded == tag_of(held)
        self._known = links_of(held) if held is not None and is_in_force else frozenset()
        super().apply(difference)

    def start(self) -> None:
        self._kea.forget_process()
        super().start()

    def check(self, difference: DaemonDifference, deadline_s: float) -> None:
        """Kea that runs refuses by itself what it does not like."""
        if difference.held.process is None or difference.held.loaded is None:
            super().check(difference, deadline_s)

    def reload(self) -> None:
        """Kea 2.6 looks for interfaces again after it has looked at the subnets, and refuses one on an
        interface that it has not seen. So it is shown that first, and serves the others meanwhile."""
        text = self.daemon.read()[CONF]
        unknown = links_of(text) - self._known
        if unknown:
            self._kea.ask("config-set", without_subnets_on(text, unknown), SETTLED_S)
        self._kea.ask("config-set", text, SETTLED_S)

    # -- what it costs ---------------------------------------------------------------------------------------

    def effects(self, look: Look[DaemonState, Wanted, DaemonDifference]) -> Iterator[Effect]:
        """Leases stay. A host whose address is not given any more gets another when it renews its lease."""
        yield from super().effects(look)
        for spec in look.delta.removed:
            if isinstance(spec, ServerSpec):
                text = f"nobody {spec.where} gets an address any more; leases hold until they end"
                yield Effect("dhcp-server", spec.id, "resets", text)
        for old, new in look.delta.set:
            if isinstance(old, ServerSpec) and old.network != new.network:
                text = f"clients {new.where} get other addresses when they renew theirs"
                yield Effect("dhcp-server", new.id, "resets", text)
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
            leases = self.leases.held()
        except Problem:
            return {}
        wanted = self._wanted
        names = wanted if ids is None else (f"reservation {name}" for name in ids)
        specs = [spec for spec in map(wanted.get, names) if isinstance(spec, ReservationSpec)]
        return {spec.id: {"leased_until": _until(leases.get(spec.address), spec)} for spec in specs}

    def is_heard(self, spec: ServerSpec) -> bool | None:
        """Whether Kea has a socket for it; None when it cannot be found out."""
        if self.daemon.identity() is None:
            return False
        try:
            return self._has_socket(spec)
        except OSError:
            return False
        except Problem:
            return None

    def _has_socket(self, spec: ServerSpec) -> bool:
        """Raises `OSError` where there is no such interface, `Unavailable` when it cannot be found out."""
        return socket.if_nametoindex(spec.ifname) in self._kea.listens_on()


class RelayedDhcpBackend(DhcpBackend):
    """The servers for networks behind relay agents: a process of its own, as Kea has sockets of one sort."""

    part, unit, unit_data = DHCP_RELAYED, RELAYED_UNIT, RELAYED_UNIT_DATA

    def _has_socket(self, spec: ServerSpec) -> bool:
        return self._kea.is_asked_at(spec.router)


def _until(lease: Lease | None, spec: ReservationSpec) -> str | None:
    """When the host's lease ends; None for nobody's, and for one that another host still has."""
    if lease is None or (spec.by == "hw-address" and lease.mac.replace(":", "") != spec.value):
        return None
    return moment(lease.expires_s * 1000)
