# SPDX-License-Identifier: Apache-2.0
"""The stages in which a plan is done: one for each registered part, three for shaping.

A stage knows its backend, what the backend is asked out of all that is wanted, and which plans touch it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from weir.agent.delegations import Delegations
from weir.agent.leases import Leases
from weir.agent.prefix_routes import PrefixRoutes, id_of
from weir.agent.uplinks import Uplinks
from weir.backends.backend import TOLD, Backend, Comparison, Look, PartBackend
from weir.backends.routes import RoutesBackend, RoutesDifference
from weir.backends.tables import PackedTables, TablesBackend, TablesDifference
from weir.compiler import ClassSpec, Compiled, Plan, PortSpec
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.parts.delta import Delta
from weir.parts.dhcp6 import DHCP6
from weir.parts.effect import Effect, Sessions
from weir.parts.explained import Line
from weir.parts.network import NETWORK, NetworkSpec
from weir.parts.part import Part, moved_over
from weir.parts.routes import ROUTES, RouteSpec
from weir.parts.uplinks import UPLINKS

W = TypeVar("W")
D = TypeVar("D")

SHAPING_STAGES = ("tables", "htb", "ports")


class Job(NamedTuple):
    """What a backend has to do at one moment of a plan."""

    stage: Stage
    difference: Any


class Target(Protocol):
    """All that is wanted: a compiled state, or one moved over a plan."""

    @property
    def classes(self) -> Mapping[int, ClassSpec]: ...
    @property
    def ports(self) -> Mapping[str, PortSpec]: ...
    def of(self, part: Part[W, Any]) -> W: ...


class Moved:
    """What a plan leads to from a compiled state. Nothing is worked out that is not asked for."""

    def __init__(self, before: Compiled, plan: Plan) -> None:
        self._before = before
        self._plan = plan

    @cached_property
    def classes(self) -> Mapping[int, ClassSpec]:
        return moved_over(self._before.shaping.classes, self._plan.shaping.classes, lambda spec: spec.slot)

    @cached_property
    def ports(self) -> Mapping[str, PortSpec]:
        return moved_over(self._before.shaping.ports, self._plan.shaping.ports, lambda spec: spec.ifname)

    def of(self, part: Part[W, Any]) -> W:
        delta = self._plan.of(part)
        before = self._before.of(part)
        return before if delta is None else part.applied(before, delta)


class Running(Moved):
    """A compiled state as it is."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled, Plan())
        self.compiled = compiled


class Execution(NamedTuple):
    """A plan that is being done. With `packed`, what it asks of the tables is stored from there."""

    plan: Plan
    before: Running
    after: Moved
    packed: PackedTables | None


class Asking:
    """Who wants to know what something costs: what changes, and how sessions are counted."""

    def __init__(
        self,
        changes: Iterable[Change],
        sessions: Callable[[Iterable[str]], Sessions],
        *,
        is_question: bool,
    ) -> None:
        """`is_question`: nothing is done yet, and there is time to count."""
        self._given = changes
        self.sessions = sessions
        self.is_question = is_question

    @cached_property
    def changes(self) -> Sequence[Change]:
        """Looked at when somebody asks: of 100,000 queues nobody does."""
        return list(self._given)

    @cached_property
    def changed(self) -> Collection[tuple[Kind, str]]:
        return [(change.kind, change.id) for change in self.changes]

    def look(
        self,
        backend: Backend[Any, Any, Any],
        wanted: object,
        delta: object,
        read: Callable[[], Any] | None = None,
    ) -> Look[Any, Any, Any]:
        return Look(backend, wanted, delta, self.changed, self.sessions, read)


class Stage(ABC):
    moves_ports: ClassVar[bool] = True
    """Whether what it does may change interfaces, what is attached to them, or their queues."""

    def __init__(self, name: str, backend: Backend[Any, Any, Any]) -> None:
        self.name = name
        self.backend = backend

    @abstractmethod
    def is_touched(self, plan: Plan) -> bool:
        """Whether executing a plan may change something here."""

    @abstractmethod
    def wanted(self, target: Target) -> object:
        """What the backend is asked."""

    def jobs(self, execution: Execution) -> Iterator[Job]:
        """What there is to do, each worked out when what comes before it is done."""
        if self.is_touched(execution.plan):
            yield self.job(self.wanted(execution.after))

    def job(self, wanted: object) -> Job:
        return Job(self, self.backend.diff(self.backend.read(), wanted))

    @abstractmethod
    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        """What it costs to do that, without doing it."""

    def explain(self, running: Running, item: ConfigObject) -> Iterator[Line]:
        """What an object became here, and what the system has of it. A stage of shaping says nothing of its
        own: queues have `weir.agent.explain`."""
        return iter(())


class PartStage(Stage):
    """A registered part; its backend is asked what the part wants."""

    def __init__(self, part: Part[Any, Any], backend: PartBackend[Any, Any, Any]) -> None:
        super().__init__(part.name, backend)
        self.part = part
        self._does = backend

    def is_touched(self, plan: Plan) -> bool:
        return self.part in plan.parts

    def wanted(self, target: Target) -> object:
        return target.of(self.part)

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        delta = execution.plan.of(self.part)
        if delta is not None:
            yield from self._does.effects(asking.look(self._does, self.wanted(execution.after), delta))

    def explain(self, running: Running, item: ConfigObject) -> Iterator[Line]:
        if item.kind in self.part.made_of:
            told = list(islice(self.part.told(running.of(self.part), item), TOLD))
            yield from self._does.explain(Comparison(self._does, self.wanted(running)), item, told)


class NetworkStage(PartStage):
    """With the addresses of leases and delegated prefixes."""

    def __init__(self, backend: PartBackend[Any, Any, Any], leases: Leases, delegations: Delegations) -> None:
        super().__init__(NETWORK, backend)
        self._leases = leases
        self._delegations = delegations

    def wanted(self, target: Target) -> object:
        return self._delegations.on(self._leases.on(target.of(NETWORK)))


class PrefixesStage(PartStage):
    """With the parts of delegated prefixes: `follow` puts them in, of the networks that take them."""

    def __init__(
        self,
        part: Part[Any, Any],
        backend: PartBackend[Any, Any, Any],
        follow: Callable[[Any, Mapping[str, NetworkSpec]], object],
    ) -> None:
        super().__init__(part, backend)
        self._follow = follow

    def is_touched(self, plan: Plan) -> bool:
        """Also by another part of the same prefix."""
        network = plan.of(NETWORK)
        return super().is_touched(plan) or (network is not None and _takes_another_part(network))

    def wanted(self, target: Target) -> object:
        return self._follow(target.of(self.part), target.of(NETWORK))


class RoutesStage(PartStage):
    """With the routes of leases and PPPoE sessions, which come and go with what is asked of their interface,
    of uplinks, and of prefixes that routers behind this one have."""

    def __init__(
        self,
        backend: RoutesBackend,
        leases: Leases,
        uplinks: Uplinks,
        delegations: Delegations,
        prefixes: PrefixRoutes | None,
    ) -> None:
        super().__init__(ROUTES, backend)
        self._delegations = delegations
        self._prefixes = prefixes
        self._routes = backend
        self._leases = leases
        self._uplinks = uplinks

    def is_touched(self, plan: Plan) -> bool:
        return super().is_touched(plan) or _moves_others(plan)

    def wanted(self, target: Target) -> object:
        network = target.of(NETWORK)
        routes = self._leases.routes(network, target.of(ROUTES))
        routes = self._delegations.routes(network, routes)
        if self._prefixes is not None:
            servers = self._delegations.served(target.of(DHCP6), network)
            routes = self._prefixes.routes(servers, routes)
        return self._uplinks.routes(target.of(UPLINKS), network, self._leases.held(), routes)

    def explain(self, running: Running, item: ConfigObject) -> Iterator[Line]:
        """Of a DHCPv6 server the routes to the prefixes that it delegated, the first `TOLD`."""
        yield from super().explain(running, item)
        if not isinstance(item, Dhcpv6Server) or self._prefixes is None:
            return
        servers = self._delegations.served(running.of(DHCP6), running.of(NETWORK))
        spec = servers.get(item.id)
        if spec is None or not spec.delegates:
            return
        found: Comparison[Any, Any, Any] = Comparison(self._does, self.wanted(running))
        for prefix, route in islice(self._prefixes.routes_of(spec).items(), TOLD):
            origin = spec.origin_of(prefix)
            whose = f", a part of {origin.text}" if origin is not None else ""
            yield self._routes.explain_added(found, route, f"a route to {prefix}{whose}")

    def jobs(self, execution: Execution) -> Iterator[Job]:
        """By what the plan says where that is enough: for one route nobody compares 50,000."""
        delta = execution.plan.of(ROUTES)
        quick = None
        if delta is not None and not _moves_others(execution.plan):
            quick = self._routes.diff_changed(delta)
        if quick is None:
            yield from super().jobs(execution)
        else:
            yield Job(self, quick)

    def follow(self, prefixes: Iterable[str]) -> Job | None:
        """What the leases of these prefixes change; None: all routes have to be compared."""
        assert self._prefixes is not None, "somebody follows them"
        delta: Delta[RouteSpec] = Delta()
        for prefix in sorted(prefixes):
            old, new = self._routes.asked_of(id_of(prefix)), self._prefixes.route_to(prefix)
            if new is None and old is not None:
                delta.removed.append(old)
            elif new is not None and new != old:
                delta.set.append((old, new))
        quick = self._routes.diff_changed(delta, is_due=False) if delta else RoutesDifference()
        return None if quick is None else Job(self, quick)


class UplinksStage(PartStage):
    """With the gateways of leases, and what is known of each uplink."""

    def __init__(self, backend: PartBackend[Any, Any, Any], leases: Leases, uplinks: Uplinks) -> None:
        super().__init__(UPLINKS, backend)
        self._leases = leases
        self._uplinks = uplinks

    def is_touched(self, plan: Plan) -> bool:
        return super().is_touched(plan) or _moves_others(plan)

    def wanted(self, target: Target) -> object:
        return self._uplinks.wanted(target.of(UPLINKS), target.of(NETWORK), self._leases.held())


def _takes_another_part(network: Delta[NetworkSpec]) -> bool:
    pairs = [*network.set, *((old, None) for old in network.removed)]
    return any(_parts(old) != _parts(new) for old, new in pairs)


def _parts(spec: NetworkSpec | None) -> object:
    return None if spec is None else (spec.delegated, spec.pools)


def _moves_others(plan: Plan) -> bool:
    """Whether routes that are no static ones come or go."""
    if UPLINKS in plan.parts or DHCP6 in plan.parts:
        return True
    network = plan.of(NETWORK)
    changed = [] if network is None else [*(s for pair in network.set for s in pair), *network.removed]
    return any(spec is not None and (spec.dhcp or spec.dialled or spec.dhcpv6) for spec in changed)


class TablesStage(Stage):
    """Classes and prefixes: by what a plan says, without reading what it does not touch."""

    def __init__(self, backend: TablesBackend) -> None:
        super().__init__("tables", backend)
        self._tables = backend

    def is_touched(self, plan: Plan) -> bool:
        return bool(plan.shaping.classes or plan.shaping.prefixes)

    def wanted(self, target: Target) -> object:
        assert isinstance(target, Running), "only what runs is compared as a whole"
        return target.compiled.shaping

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        return iter(())  # classes and prefixes are stores into memory that packets read: docs/datapath.md

    def jobs(self, execution: Execution) -> Iterator[Job]:
        if execution.packed is not None:
            self._tables.store(execution.packed)
        elif self.is_touched(execution.plan):
            yield Job(self, TablesDifference.of(execution.plan.shaping))
