# SPDX-License-Identifier: Apache-2.0
"""All parts as one: do a plan and verify it, or bring everything to what is wanted.

Parts are done in one order. The firewall is first, so that no interface comes up without it; nothing is
forwarded before the limits are in place, and routes are last, so that traffic comes when everything else is
ready for it. The stages (`weir.agent.stages`) say what of a plan is theirs; here is what holds for all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from weir.adapters import sessions
from weir.agent.delegations import Delegations
from weir.agent.fetched import FetchedSets
from weir.agent.leases import Leases
from weir.agent.port_stages import FirewallStage, HtbStage, Ports, SetsStage
from weir.agent.prefix_routes import PrefixRoutes
from weir.agent.stages import (
    Asking,
    Execution,
    Job,
    Moved,
    NetworkStage,
    PartStage,
    PrefixesStage,
    RoutesStage,
    Running,
    Stage,
    TablesStage,
    UplinksStage,
)
from weir.agent.states import joined
from weir.agent.uplinks import Uplinks
from weir.backends.backend import PartBackend, Topic
from weir.backends.daemons import DaemonBackend, Learn
from weir.backends.firewall import FirewallBackend
from weir.backends.htb import HtbBackend
from weir.backends.modes import Decision
from weir.backends.network import NetworkBackend, NetworkDifference
from weir.backends.ports import PortsBackend, PortsDifference
from weir.backends.routes import RoutesBackend
from weir.backends.sets import SetsBackend
from weir.backends.tables import PackedTables, TablesBackend, record_of
from weir.backends.tuning import TuningBackend
from weir.compiler import ClassSpec, Compiled, Plan
from weir.model.document import Change
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import NotFound, Problem
from weir.parts.announcing import ANNOUNCING
from weir.parts.bonds import BONDS, unconfigured_members
from weir.parts.bridges import BRIDGES, unconfigured_ports
from weir.parts.delta import Step
from weir.parts.dhcp6 import DHCP6
from weir.parts.effect import Sessions, by_object
from weir.parts.explained import Line, unread
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.part import Parts
from weir.parts.registry import PARTS
from weir.parts.routes import ROUTES
from weir.parts.sets import SETS, Contents
from weir.parts.uplinks import UPLINKS

log = logging.getLogger(__name__)

KEPT_STEPS = KEPT_EFFECTS = 1000


@dataclass(slots=True)
class Synced:
    """What was different and is repaired now, what could not be repaired, which interfaces are absent, and
    what of others stands in the way of ports.

    Of each part the first `KEPT_STEPS`: a kernel that holds nothing yet differs in 300,000 entries.
    """

    repaired: list[tuple[str, Step]] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    foreign: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Timing:
    apply_ms: float
    verify_ms: float


class Executor:
    """Not thread-safe: the configuration calls it under its lock."""

    def __init__(
        self,
        *,
        sets: SetsBackend,
        firewall: FirewallBackend,
        network: NetworkBackend,
        tuning: TuningBackend,
        tables: TablesBackend,
        htb: HtbBackend,
        ports: PortsBackend,
        leases: Leases | None = None,
        known_uplinks: Uplinks | None = None,
        delegations: Delegations | None = None,
        prefixes: PrefixRoutes | None = None,
        fetched_sets: FetchedSets | None = None,
        parts: Parts = PARTS,
        **others: PartBackend[Any, Any, Any],
    ) -> None:
        """`others` are the backends of the parts that need nothing of other parts, by name. Raises
        `TypeError` for a part without a backend, and for a backend without a part."""
        self.sets, self.firewall = sets, firewall
        self.network, self.tuning, self.tables = network, tuning, tables
        self.htb, self.ports = htb, ports
        self.leases = leases or Leases(None)
        self.uplinks = known_uplinks or Uplinks(None)
        self.delegations = delegations or Delegations(None)
        self.prefixes = prefixes
        self.fetched_sets = fetched_sets or FetchedSets()
        self.registered = parts
        self._ports = Ports(ports)
        own: dict[str, Any] = {"sets": sets, "firewall": firewall, "network": network, "tuning": tuning}
        self.stages = self._stages({**own, **others})

    def _stages(self, backends: Mapping[str, PartBackend[Any, Any, Any]]) -> dict[str, Stage]:
        names = {part.name for part in self.registered}
        if names != backends.keys():
            odd = ", ".join(sorted(names ^ backends.keys()))
            raise TypeError(f"each part needs one backend of its name; this does not fit: {odd}")
        sets = self._sets = SetsStage(self.sets, self.fetched_sets)
        rules = self._rules = FirewallStage(self.firewall, self._ports, sets, self.fetched_sets)
        special: dict[str, Stage] = {
            SETS.name: sets,
            FIREWALL.name: rules,
            NETWORK.name: NetworkStage(self.network, self.leases, self.delegations),
        }
        routes = backends.get(ROUTES.name)
        if isinstance(routes, RoutesBackend):
            known = (self.leases, self.uplinks, self.delegations, self.prefixes)
            special[ROUTES.name] = RoutesStage(routes, *known)
        if UPLINKS.name in backends:
            special[UPLINKS.name] = UplinksStage(backends[UPLINKS.name], self.leases, self.uplinks)
        if ANNOUNCING.name in backends:
            follow = self.delegations.announced
            special[ANNOUNCING.name] = PrefixesStage(ANNOUNCING, backends[ANNOUNCING.name], follow)
        if DHCP6.name in backends:
            special[DHCP6.name] = PrefixesStage(DHCP6, backends[DHCP6.name], self.delegations.served)
        shaping: list[Stage] = [TablesStage(self.tables), HtbStage(self.htb, self._ports), rules.ports_stage]

        def stage_of(part: Any) -> Stage:
            return special.get(part.name) or PartStage(part, backends[part.name])

        ordered = [
            *map(stage_of, self.registered.before_shaping),
            *shaping,
            *map(stage_of, self.registered.after_shaping),
        ]
        return {stage.name: stage for stage in ordered}

    def contents(self, wanted: Compiled) -> Contents:
        """What the kernel's sets hold, those included that are fetched."""
        return self._sets.wanted(Running(wanted))

    def learners(self) -> dict[Kind, Learn]:
        """Who knows the state of which kind, among the backends that are done by a daemon."""
        found: dict[Kind, list[Learn]] = {}
        for daemon in self._daemons():
            for kind in daemon.learns:
                found.setdefault(kind, []).append(daemon.learn)
        return {kind: learns[0] if len(learns) == 1 else joined(*learns) for kind, learns in found.items()}

    def daemons(self) -> tuple[object, ...]:
        """Something that changes when a daemon ended or was started."""
        return tuple(daemon.daemon.identity() for daemon in self._daemons())

    def pass_time(self, wanted: Compiled) -> tuple[str, ...]:
        """The parts that are to be others now, at the time of `wanted`, by time alone."""
        over = [daemon.name for daemon in self._daemons() if daemon.pass_time()]
        if self._rules.pass_time(wanted.of(FIREWALL), wanted.now_local):
            over.append(FIREWALL.name)
        return tuple(over)

    def _daemons(self) -> Iterator[DaemonBackend[Any]]:
        for stage in self.stages.values():
            if isinstance(stage.backend, DaemonBackend):
                yield stage.backend

    @property
    def decisions(self) -> dict[str, Decision]:
        """How each port shapes, by interface."""
        return self._ports.decisions

    def looking_at(self, *topics: Topic) -> tuple[str, ...]:
        """The parts that look when something happens, in their order."""
        return tuple(
            name for name, stage in self.stages.items() if not stage.backend.topics.isdisjoint(topics)
        )

    def scanned(self) -> tuple[str, ...]:
        """The parts that are compared now and then without an event: all but one that is compared in a way
        of its own."""
        return tuple(name for name, stage in self.stages.items() if not stage.backend.is_scanned_apart)

    def touched(self, plan: Plan) -> list[str]:
        """The parts that executing a plan may change."""
        return [name for name, stage in self.stages.items() if stage.is_touched(plan)]

    def execute(self, plan: Plan, before: Compiled, packed: PackedTables | None = None) -> Timing:
        """Apply a plan and read back what it touched. Raises what a backend raised; the kernel is then
        somewhere between before and after, and `sync` of `touched(plan)` brings it to either.

        With `packed`, what the plan asks of the tables is stored from there, and not read back.
        """
        started = time.perf_counter()
        done: dict[str, Job] = {}
        for job in self._jobs(Execution(plan, Running(before), Moved(before, plan), packed)):
            if job.difference:
                if job.stage.name in done:  # done in two steps: the second changes what the first did
                    _verify(done[job.stage.name])
                done[job.stage.name] = job
                self._apply(job)
        applied = time.perf_counter()
        for job in done.values():
            _verify(job)
        verified = time.perf_counter()
        return Timing((applied - started) * 1000, (verified - applied) * 1000)

    def effects(
        self, plan: Plan, before: Compiled, changes: Iterable[Change], *, is_question: bool
    ) -> list[dict[str, Any]]:
        """What a plan costs those who send packets, of the first `KEPT_EFFECTS` objects whose change is not
        hitless. Nothing is done. Raises what a backend raises that cannot read."""
        execution = Execution(plan, Running(before), Moved(before, plan), None)
        touched = [stage for stage in self.stages.values() if stage.is_touched(plan)]
        asking = Asking(changes, _counted(before), is_question=is_question)
        found = by_object(effect for stage in touched for effect in stage.effects(execution, asking))
        return [effect.to_json() for effect in islice(found.values(), KEPT_EFFECTS)]

    def read_once(self) -> AbstractContextManager[None]:
        """Around what belongs to one plan: what ports are is read once, and again where it was changed."""
        return self._ports.read_once()

    def _apply(self, job: Job) -> None:
        try:
            job.stage.backend.apply(job.difference)
        finally:
            if job.stage.moves_ports:
                self._ports.changed()

    def _jobs(self, execution: Execution) -> Iterator[Job]:
        for stage in self.stages.values():
            yield from stage.jobs(execution)

    def prepared(self, plan: Plan) -> PackedTables:
        """What `execute` may store at once. Looks at the plan only."""
        return PackedTables.of(plan.shaping)

    def sync(self, wanted: Compiled, parts: Iterable[str] | None = None) -> Synced:
        """Read, compare and repair part by part (None: all); a part that fails does not keep the others
        waiting."""
        found = Synced()
        chosen = self.stages.keys() if parts is None else set(parts)
        target = Running(wanted)
        with self.read_once():
            for name, stage in self.stages.items():
                if name in chosen:
                    try:
                        self._sync_stage(stage, target, found)
                    except Problem as problem:
                        log.warning("%s cannot be brought to what is configured: %s", name, problem.message)
                        found.faults[name] = problem.message
        return found

    def follow_prefixes(self, wanted: Compiled, prefixes: Collection[str]) -> Synced:
        """Bring the routes to what routers behind have been given, or have no more, and compare no others
        where that is enough."""
        stage, found = self.stages[ROUTES.name], Synced()
        assert isinstance(stage, RoutesStage), "prefixes are delegated by an agent with routes of its own"
        try:
            job = stage.follow(prefixes)
            if job is None:
                return self.sync(wanted, (ROUTES.name,))
            if job.difference:
                self._apply(job)
                _verify(job)
        except Problem as problem:
            log.warning("%s cannot be brought to what is leased: %s", stage.name, problem.message)
            found.faults[stage.name] = problem.message
        else:
            found.repaired.extend((stage.name, step) for step in islice(job.difference.steps(), KEPT_STEPS))
        return found

    def _sync_stage(self, stage: Stage, target: Running, found: Synced) -> None:
        job = stage.job(stage.wanted(target))
        difference = job.difference
        if isinstance(difference, NetworkDifference | PortsDifference):
            network = target.of(NETWORK)
            found.missing.update(
                name for name in difference.missing if name not in network or not network[name].dialled
            )
        if isinstance(difference, PortsDifference):
            found.foreign.extend(difference.foreign)
        if difference:
            steps = list(islice(difference.steps(), KEPT_STEPS))
            self._apply(job)
            _verify(job)
            found.repaired.extend((stage.name, step) for step in steps)

    def explain(self, wanted: Compiled, item: ConfigObject) -> Iterator[tuple[str, Line]]:
        """What an object became in each part, and what the system has of it now. A part that cannot be read
        says why, and the others are asked all the same."""
        running = Running(wanted)
        for name, stage in self.stages.items():
            try:
                yield from [(name, line) for line in stage.explain(running, item)]
            except Problem as problem:
                yield name, unread("", problem.message)

    def refuse_missing(self, plan: Plan) -> None:
        """Raise `NotFound` for a newly configured interface, or a new port of a bridge or bond, that does not
        exist; one that is made here may wait for what it is made on. `Unsupported` for a rule that needs what
        the kernel does not have."""
        rules = plan.of(FIREWALL)
        if rules is not None:
            self.firewall.refuse_missing(rules)
        delta, links, bonds = plan.of(NETWORK), plan.of(BRIDGES), plan.of(BONDS)
        added = [] if delta is None else [n.ifname for old, n in delta.set if old is None and not n.is_made]
        added += () if links is None else unconfigured_ports(links)
        added += () if bonds is None else unconfigured_members(bonds)
        if not added:
            return
        present = self.network.read().links
        for name in added:
            if name not in present:
                raise NotFound(
                    f"there is no interface {name} on this router; it has {', '.join(sorted(present))}",
                    code="no-such-interface",
                    path=f"interface/{name}",
                )

    def waits(self, compiled: Compiled, spec: ClassSpec, way: str) -> tuple[str, bool]:
        """How one direction of a class waits on each port that limits it, in words; False when a port of
        a tree does not hold the qdisc that it should."""
        texts, right = [], True
        for name, port in compiled.shaping.ports.items():
            decision = self.decisions.get(name)
            if decision is None or decision.mode == "none" or (port.role == "wan") != (way == "upload"):
                continue
            text, agrees = str(decision.mode), True
            if decision.mode == "police":
                text = "nothing waits, it polices"
            elif decision.mode == "edt":
                limit_ns = record_of(spec).line(way).limit_ns
                text = f"departure times, at most {limit_ns // 1_000_000} ms" if limit_ns else "nothing waits"
            elif decision.mode == "htb":
                leaf, agrees = self.htb.leaf_text(spec, port)
                text = f"below HTB {leaf}"
            texts.append(f"{name}: {text}")
            right = right and agrees
        return "; ".join(texts), right

    def trees(self, compiled: Compiled, spec: ClassSpec, way: str) -> dict[str, list[str]]:
        """Of each port whose HTB tree limits one direction of a class: what of the tree is otherwise."""
        return {
            name: self.htb.wrong_classes(compiled.shaping.classes, spec, port)
            for name, port in compiled.shaping.ports.items()
            if (decision := self.decisions.get(name)) is not None
            and decision.mode == "htb"
            and (port.role == "wan") == (way == "upload")
        }


def _counted(before: Compiled) -> Callable[[Iterable[str]], Sessions]:
    """Counts sessions; where rules track connections, also those that pass through the router."""
    is_tracked = bool(before.of(FIREWALL))
    connections = sessions.Connections()

    def count(networks: Iterable[str]) -> Sessions:
        asked = list(networks)
        own = connections.own(asked)
        tracked = connections.tracked(asked) if is_tracked else None
        return Sessions(own, False) if tracked is None else Sessions(max(own, tracked), True)

    return count


def _verify(job: Job) -> None:
    job.stage.backend.verify(job.difference)
