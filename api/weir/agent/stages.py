# SPDX-License-Identifier: Apache-2.0
"""The stages in which a plan is done: one for each registered part, three for shaping.

A stage knows its backend, what the backend is asked out of all that is wanted, and which plans touch it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from weir.agent.leases import Leases
from weir.backends.backend import TOLD, Backend, Comparison, Look, PartBackend
from weir.backends.fast import Sight
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.htb import HtbBackend, HtbWanted
from weir.backends.modes import Decision
from weir.backends.ports import PortsBackend, PortsWanted
from weir.backends.rule_effects import entries_judged
from weir.backends.sets import SetsBackend, SetsDifference
from weir.backends.tables import PackedTables, TablesBackend, TablesDifference
from weir.compiler import ClassSpec, Compiled, Plan, PortSpec
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.parts import FIREWALL, NETWORK, ROUTES, SETS, Part
from weir.parts.effect import Effect, Sessions
from weir.parts.explained import Line
from weir.parts.part import moved_over

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

    def look(self, backend: Backend[Any, Any, Any], wanted: object, delta: object) -> Look[Any, Any, Any]:
        return Look(backend, wanted, delta, self.changed, self.sessions)


class Stage(ABC):
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
    """With the addresses of leases."""

    def __init__(self, backend: PartBackend[Any, Any, Any], leases: Leases) -> None:
        super().__init__(NETWORK, backend)
        self._leases = leases

    def wanted(self, target: Target) -> object:
        return self._leases.on(target.of(NETWORK))


class RoutesStage(PartStage):
    """With the routes of leases, which come and go with what is asked of their interface."""

    def __init__(self, backend: PartBackend[Any, Any, Any], leases: Leases) -> None:
        super().__init__(ROUTES, backend)
        self._leases = leases

    def is_touched(self, plan: Plan) -> bool:
        network = plan.of(NETWORK)
        changed = [] if network is None else [*(s for pair in network.set for s in pair), *network.removed]
        return super().is_touched(plan) or any(spec is not None and spec.dhcp for spec in changed)

    def wanted(self, target: Target) -> object:
        return self._leases.routes(target.of(NETWORK), target.of(ROUTES))


class SetsStage(PartStage):
    """By what a plan says: nobody reads 100,000 entries for the change of one. A set that goes does so behind
    the rules that name it; those that come are filled before them."""

    def __init__(self, backend: SetsBackend) -> None:
        super().__init__(SETS, backend)

    def jobs(self, execution: Execution) -> Iterator[Job]:
        delta = execution.plan.of(SETS)
        if delta is not None:
            yield Job(self, SetsDifference.of(delta, keeps=FIREWALL in execution.plan.parts))

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        """By the rules that look at them. An entry is done in less time than its sessions are counted in."""
        rules = execution.before.of(FIREWALL), execution.after.of(FIREWALL)
        yield from entries_judged(asking.changes, *rules, asking.sessions if asking.is_question else None)

    def job_behind_rules(self, execution: Execution) -> Job | None:
        delta = execution.plan.of(SETS)
        if delta is None or not any(change.gone for change in delta.changes):
            return None
        return Job(self, SetsDifference.of(delta))


class Ports:
    """How ports shape, which several stages have to know."""

    def __init__(self, backend: PortsBackend) -> None:
        self.backend = backend
        self.decisions: dict[str, Decision] = {}

    def asked(self, target: Target) -> PortsWanted:
        rules = target.of(FIREWALL)
        return PortsWanted(target.ports, rules)

    def decide(self, wanted: PortsWanted) -> dict[str, Decision]:
        self.decisions = self.backend.decisions(wanted)
        return self.decisions


class PortsStage(Stage):
    """Ports; and behind them the flow table of the firewall, which names them."""

    def __init__(self, ports: Ports, firewall: FirewallStage) -> None:
        super().__init__("ports", ports.backend)
        self._ports = ports
        self._firewall = firewall

    def is_touched(self, plan: Plan) -> bool:
        return bool(plan.shaping.ports or FIREWALL in plan.parts)

    def wanted(self, target: Target) -> PortsWanted:
        wanted = self._ports.asked(target)
        self._ports.decide(wanted)
        return wanted

    def jobs(self, execution: Execution) -> Iterator[Job]:
        if self.is_touched(execution.plan):
            yield self.job(self.wanted(execution.after))
            yield self._firewall.job(self._firewall.wanted(execution.after))

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        if self.is_touched(execution.plan):
            asked = self._ports.asked(execution.after)
            yield from self._ports.backend.effects(asking.look(self.backend, asked, None))

    def explain(self, running: Running, item: ConfigObject) -> Iterator[Line]:
        """Of an interface that packets are shaped at, or judged."""
        if item.kind == "interface":
            for report in self._ports.backend.reports(self._ports.asked(running)):
                if report.ifname == item.id:
                    held = "; ".join(report.wrong) or "programs, record and qdiscs are so"
                    yield Line("port", report.meant, held, not report.wrong)

    def tightened(self, wanted: PortsWanted) -> Job | None:
        """If the rules have to see packets, and so ports may have to leave the fast path."""
        if not Sight.of(wanted.rules, "").filtered:
            return None
        self._ports.decide(wanted)
        return self.job(wanted)


class FirewallStage(PartStage):
    """The rules. What new ones must see goes up the stack before they are there, so that none gets past."""

    def __init__(self, backend: FirewallBackend, ports: Ports, sets: SetsStage) -> None:
        super().__init__(FIREWALL, backend)
        self._ports = ports
        self._sets = sets
        self.ports_stage = PortsStage(ports, self)

    def is_touched(self, plan: Plan) -> bool:
        return super().is_touched(plan) or bool(plan.shaping.ports)

    def wanted(self, target: Target) -> FirewallWanted:
        asked = self._ports.asked(target)
        return self._with_devices(asked, self._ports.decide(asked))

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        """By the rules alone: what ports will do is not decided for a question."""
        delta = execution.plan.of(FIREWALL)
        if delta is not None:
            yield from self._does.effects(asking.look(self.backend, None, delta))

    def _with_devices(self, asked: PortsWanted, decisions: Mapping[str, Decision]) -> FirewallWanted:
        return FirewallWanted(tuple(asked.rules), self._ports.backend.flow_devices(decisions))

    def jobs(self, execution: Execution) -> Iterator[Job]:
        if FIREWALL not in execution.plan.parts:
            return
        rules = execution.after.of(FIREWALL)
        wanted = PortsWanted(execution.before.ports, rules)
        tightened = self.ports_stage.tightened(wanted)
        if tightened is not None:
            yield tightened
        yield self.job(self._with_devices(wanted, self._ports.backend.decisions(wanted)))
        unnamed = self._sets.job_behind_rules(execution)
        if unnamed is not None:
            yield unnamed


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


class HtbStage(Stage):
    """The trees of ports that shape by HTB."""

    def __init__(self, backend: HtbBackend, ports: Ports) -> None:
        super().__init__("htb", backend)
        self._htb = backend
        self._ports = ports

    def is_touched(self, plan: Plan) -> bool:
        return bool(plan.shaping.classes or plan.shaping.ports)

    def wanted(self, target: Target) -> HtbWanted:
        self._ports.decide(self._ports.asked(target))
        return HtbWanted(self._chosen(target.ports), target.classes)

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        return iter(())  # a tree is changed class by class, and one that comes or goes is a port's

    def jobs(self, execution: Execution) -> Iterator[Job]:
        shaping = execution.plan.shaping
        if not self.is_touched(execution.plan):
            return
        ports = execution.after.ports
        if shaping.ports:
            rules = execution.before.of(FIREWALL)
            self._ports.decide(PortsWanted(ports, rules))
        chosen = self._chosen(ports)
        if chosen:
            wanted = HtbWanted(chosen, execution.after.classes)
            classes = shaping.classes
            quick = None if shaping.ports else self._htb.diff_changed(wanted, classes.set, classes.removed)
            yield self.job(wanted) if quick is None else Job(self, quick)

    def _chosen(self, ports: Mapping[str, PortSpec]) -> dict[str, PortSpec]:
        decisions = self._ports.decisions
        return {
            name: port for name, port in ports.items() if name in decisions and decisions[name].mode == "htb"
        }
