# SPDX-License-Identifier: Apache-2.0
"""Kea: who gets which address, by the server of either family (docs/adr/0171).

A running Kea is given its configuration by its socket. It looks at all of it before it takes any of it, keeps
its leases, and answers with the digest of what it has. The checker is asked before a start only: it takes as
long as the change itself.
"""

from __future__ import annotations

import socket
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from weir.adapters.daemon import Daemon, Program
from weir.adapters.kea import CAPABILITIES, Kea
from weir.backends.backend import Look, Topic
from weir.backends.daemons import SETTLED_S, DaemonBackend, DaemonDifference, DaemonState
from weir.backends.dhcp_leases import Client, LeaseTable
from weir.backends.kea_config import links_of, tag_of, without_subnets_on
from weir.model.moment import moment
from weir.model.problem import Problem
from weir.parts.effect import Effect
from weir.parts.part import Part

CONF = "kea.conf"
W = TypeVar("W", bound=Mapping[str, Any])


class Served(Protocol):
    """What a server of either family is on."""

    @property
    def ifname(self) -> str: ...


class KeaBackend(DaemonBackend[W]):
    """One process of Kea. Who derives says which, and renders its file."""

    topics: ClassVar[frozenset[Topic]] = frozenset(("daemons", "links"))
    part: ClassVar[Part[Any, Any]]
    unit: ClassVar[str]
    unit_data: ClassVar[Path]
    """The unit's folder of state: its user cannot reach the agent's."""
    family: ClassVar[Literal[4, 6]] = 4
    capabilities: ClassVar[Sequence[str]] = CAPABILITIES

    def __init__(
        self, folder: Path, data: Path, leases: LeaseTable | None = None, *, is_unit: bool = False
    ) -> None:
        """Leases are kept in `data`, which lasts, and shown in `leases`, a table of its own without one. With
        `is_unit` systemd runs Kea, as a unit of the image, which has a folder of its own for them."""
        name = self.part.name
        self._kea = Kea(
            folder,
            self.unit_data if is_unit else data,
            family=self.family,
            name=name,
            makes_data=not is_unit,
            capabilities=self.capabilities,
        )
        self.leases = leases or LeaseTable()
        self.leases.follow(self._kea.leases)
        self._wanted: W | Mapping[str, Any] = {}
        """What was asked for last: state is told about it."""
        self._links: Mapping[str, int] = {}
        self._known: frozenset[str] = frozenset()
        """Interfaces that are in what Kea has."""
        self._rendered: tuple[object, Mapping[str, int], str] | None = None

        def command(config: Path) -> Sequence[str]:
            return self._kea.command(config / CONF, "-c")

        def check(config: Path) -> Sequence[str]:
            return self._kea.command(config / CONF, "-t")

        super().__init__(Daemon(Program(name, command, check), folder, self.unit if is_unit else ""))

    @abstractmethod
    def served(self, wanted: W) -> Sequence[Served]:
        """The servers in what is wanted that Kea can have now."""

    @abstractmethod
    def text(self, wanted: W, links: Mapping[str, int]) -> str:
        """Its file; `links` are the indexes of the interfaces that are there, by name."""

    @abstractmethod
    def blocked(self, wanted: W) -> Mapping[Client, str]:
        """Whose leases count no more, by what blocks them."""

    # -- what it has -----------------------------------------------------------------------------------------

    def read(self) -> DaemonState:
        self._links = {name: index for index, name in socket.if_nameindex()}
        return super().read()

    def files(self, wanted: W) -> Mapping[str, str]:
        """None while no interface of a server is there."""
        if self._wanted is not wanted:
            self._wanted = wanted
            self.leases.block(self._kea.leases, self.blocked(wanted))
        servers = self.served(wanted)
        links = {spec.ifname: self._links[spec.ifname] for spec in servers if spec.ifname in self._links}
        if not links:
            return {}
        if self._rendered is None or self._rendered[0] is not wanted or self._rendered[1] != links:
            self._rendered = (wanted, links, self.text(wanted, links))
        return {CONF: self._rendered[2]}

    def expected(self, wanted: W) -> object:
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

    def start(self, deadline_s: float) -> None:
        self._kea.forget_process()
        super().start(deadline_s)

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

    def effects(self, look: Look[DaemonState, W, DaemonDifference]) -> Iterator[Effect]:
        """A Kea that runs takes whatever its file says: what a change costs is told without one."""
        return iter(())

    # -- what it says ----------------------------------------------------------------------------------------

    def left_to_blocked(self) -> Mapping[str, str]:
        """Until when a client that is blocked may go on with what it has, by reservation. Raises
        `Unavailable`."""
        return {name: moment(end_s * 1000) for name, end_s in self.leases.left_out(self._kea.leases).items()}

    def is_heard(self, spec: Any) -> bool | None:
        """Whether Kea has a socket for it; None when it cannot be found out."""
        if self.daemon.identity() is None:
            return False
        try:
            return self._has_socket(spec)
        except OSError:
            return False
        except Problem:
            return None

    @abstractmethod
    def _has_socket(self, spec: Any) -> bool:
        """Raises `OSError` where there is no such interface, `Unavailable` when it cannot be found out."""
