# SPDX-License-Identifier: Apache-2.0
"""The stages around ports: how a port shapes decides what the firewall and the trees of HTB are, and the
rules decide which packets ports may forward themselves. What rules look at is filled before them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from weir.agent.fetched import FetchedSets
from weir.agent.stages import Asking, Execution, Job, PartStage, Running, Stage, Target
from weir.backends.fast import Sight
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.htb import HtbBackend, HtbWanted
from weir.backends.modes import Decision
from weir.backends.ports import PortsBackend, PortsDifference, PortsState, PortsWanted
from weir.backends.rule_effects import entries_judged
from weir.backends.sets import SetsBackend, SetsDifference
from weir.compiler import Plan, PortSpec
from weir.model.objects import ConfigObject
from weir.model.schedule import closed_windows
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.fetched import FETCHED
from weir.parts.filter import looked_up
from weir.parts.firewall import FIREWALL, Rules
from weir.parts.sets import SETS, Contents, SetChange, SetsDelta, Values


class SetsStage(PartStage):
    """By what a plan says: nobody reads 100,000 entries for the change of one. A set that goes does so behind
    the rules that name it; those that come are filled before them."""

    moves_ports = False

    def __init__(self, backend: SetsBackend, fetched: FetchedSets) -> None:
        super().__init__(SETS, backend)
        self._fetched = fetched

    def is_touched(self, plan: Plan) -> bool:
        return super().is_touched(plan) or FETCHED in plan.parts

    def wanted(self, target: Target) -> Contents:
        """With what is in fetched sets."""
        own: Contents = target.of(SETS)
        learnt = self._fetched.contents(target.of(FETCHED))
        both = {head: {**own[head], **held} for head, held in learnt.items() if head in own}
        return {**own, **learnt, **both}

    def jobs(self, execution: Execution) -> Iterator[Job]:
        delta, keeps = execution.plan.of(SETS), FIREWALL in execution.plan.parts
        if FETCHED in execution.plan.parts:
            job = self.job(self.wanted(execution.after))
            yield Job(self, job.difference.keeping(self.backend.read())) if keeps else job
        elif delta is not None:
            yield self._by(delta, execution, keeps=keeps)

    def _by(self, delta: SetsDelta, execution: Execution, *, keeps: bool) -> Job:
        """What the plan says; what fetched sets hold stays, also where it was an entry too."""
        learnt = self._fetched.contents(execution.after.of(FETCHED))
        changes = tuple(_beside(change, learnt.get(change.head)) for change in delta.changes)
        difference = SetsDifference.of(replace(delta, changes=changes), keeps=keeps)
        return Job(self, replace(difference, after=self.wanted(execution.after)))

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        """By the rules that look at them. An entry is done in less time than its sessions are counted in."""
        rules = execution.before.of(FIREWALL), execution.after.of(FIREWALL)
        yield from entries_judged(asking.changes, *rules, asking.sessions if asking.is_question else None)

    def job_behind_rules(self, execution: Execution) -> Job | None:
        if FETCHED in execution.plan.parts:
            return self.job(self.wanted(execution.after))
        delta = execution.plan.of(SETS)
        if delta is None or not any(change.gone for change in delta.changes):
            return None
        return self._by(delta, execution, keeps=False)


class _Settled(NamedTuple):
    """What ports were brought to, among which interfaces: rules that look at packets alike change nothing."""

    ports: Mapping[str, PortSpec]
    sight: Sight
    interfaces: frozenset[tuple[int, str]]
    decisions: Mapping[str, Decision]


def _beside(change: SetChange, learnt: Values | None) -> SetChange:
    """What becomes of one of the kernel's sets that holds this besides, so that it neither comes nor goes."""
    if learnt is None:
        return change
    added = [key for key in change.added if key not in learnt]
    return SetChange(change.head, added, [key for key in change.removed if key not in learnt])


class Ports:
    """How ports shape, which several stages have to know."""

    def __init__(self, backend: PortsBackend) -> None:
        self.backend = backend
        self.decisions: dict[str, Decision] = {}
        self._held: PortsState | None = None
        self._is_kept = False
        self._settled: _Settled | None = None

    @contextmanager
    def read_once(self) -> Iterator[None]:
        """Within, all stages go by one reading of ports and interfaces, until `changed` says that one of them
        may have made it untrue."""
        outer, self._is_kept, self._held = self._is_kept, True, None
        try:
            yield
        finally:
            self._is_kept, self._held = outer, None

    def changed(self) -> None:
        """What was read may not be so any more."""
        self._held = self._settled = None

    def held(self) -> PortsState:
        """Ports and interfaces as they are."""
        if self._held is None or not self._is_kept:
            self._held = self.backend.read()
        return self._held

    def asked(self, target: Target) -> PortsWanted:
        rules = target.of(FIREWALL)
        return PortsWanted(target.ports, rules)

    def decide(self, wanted: PortsWanted) -> dict[str, Decision]:
        self.decisions = self.would_be(wanted)
        return self.decisions

    def compared(self, wanted: PortsWanted) -> PortsDifference:
        """What there is to do. Where that is nothing, it stays so until something else is asked for, or the
        kernel told of something and ports are looked at again."""
        self._settled = None
        interfaces = _interfaces()
        held = self.held()
        difference = self.backend.diff(held, wanted)
        if not difference:
            decisions = self.backend.decisions(held, wanted)
            self._settled = _Settled(wanted.ports, Sight.of(wanted.rules, ""), interfaces, decisions)
        return difference

    def settled(self, wanted: PortsWanted) -> Mapping[str, Decision] | None:
        """The decisions, if ports are as these rules need them without a look at the kernel; else None."""
        known = self._settled
        if known is None or known.ports != wanted.ports:
            return None
        same = Sight.of(wanted.rules, "") == known.sight
        return known.decisions if same and known.interfaces == _interfaces() else None

    def would_be(self, wanted: PortsWanted) -> dict[str, Decision]:
        """The decisions for what is not done yet."""
        return self.backend.decisions(self.held(), wanted)


def _interfaces() -> frozenset[tuple[int, str]]:
    return frozenset(socket.if_nameindex())


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
        if self._may_move(execution):
            yield self.job(self.wanted(execution.after))
            yield self._firewall.job(self._firewall.wanted(execution.after))

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        if self._may_move(execution):
            asked = self._ports.asked(execution.after)
            look = asking.look(self.backend, asked, None, self._ports.held)
            yield from self._ports.backend.effects(look)

    def _may_move(self, execution: Execution) -> bool:
        """Not by rules that look at packets as those before them do."""
        if not self.is_touched(execution.plan):
            return False
        return self._ports.settled(self._ports.asked(execution.after)) is None

    def job(self, wanted: PortsWanted) -> Job:  # type: ignore[override]  # ports are asked for nothing else
        return Job(self, self._ports.compared(wanted))

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

    moves_ports = False

    def __init__(self, backend: FirewallBackend, ports: Ports, sets: SetsStage, fetched: FetchedSets) -> None:
        super().__init__(FIREWALL, backend)
        self._ports = ports
        self._fetched = fetched
        self._sets = sets
        self.ports_stage = PortsStage(ports, self)
        self._now_local = datetime.min
        """By what rules are in force: it moves by `pass_time` alone, so that no edge looks like drift."""

    def is_touched(self, plan: Plan) -> bool:
        return super().is_touched(plan) or bool(plan.shaping.ports)

    def wanted(self, target: Target) -> FirewallWanted:
        asked = self._ports.asked(target)
        return self._with_devices(asked, self._ports.decide(asked), target)

    def effects(self, execution: Execution, asking: Asking) -> Iterator[Effect]:
        """By the rules alone: what ports will do is not decided for a question."""
        delta = execution.plan.of(FIREWALL)
        if delta is not None:
            yield from self._does.effects(asking.look(self.backend, None, delta))

    def pass_time(self, rules: Rules, now_local: datetime) -> bool:
        """Whether other rules are in force now than were. Ports see all of them at any time."""
        windows = {rule.time for rule in rules}
        before, self._now_local = self._now_local, now_local
        return closed_windows(windows, before) != closed_windows(windows, now_local)

    def _with_devices(
        self, asked: PortsWanted, decisions: Mapping[str, Decision], target: Target
    ) -> FirewallWanted:
        closed = closed_windows({rule.time for rule in asked.rules}, self._now_local)
        rules = looked_up(asked.rules, self._fetched.looked_at(target.of(FETCHED)))
        return FirewallWanted(tuple(rules), self._ports.backend.flow_devices(decisions), closed)

    def jobs(self, execution: Execution) -> Iterator[Job]:
        if FIREWALL not in execution.plan.parts:
            return
        rules = execution.after.of(FIREWALL)
        wanted = PortsWanted(execution.before.ports, rules)
        decisions = self._ports.settled(wanted)
        if decisions is None:
            tightened = self.ports_stage.tightened(wanted)
            if tightened is not None:
                yield tightened
            decisions = self._ports.would_be(wanted)
        yield self.job(self._with_devices(wanted, decisions, execution.after))
        unnamed = self._sets.job_behind_rules(execution)
        if unnamed is not None:
            yield unnamed


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
