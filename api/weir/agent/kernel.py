# SPDX-License-Identifier: Apache-2.0
"""All backends as one: do a plan and verify it, or bring everything to what is wanted.

Parts are done in one order. The firewall is first, so that no interface comes up without it; nothing is
forwarded before the limits are in place, and routes are last, so that traffic comes when everything else is
ready for it. A change of the firewall has a step
before it, in which what the new rules must see leaves the fast path, and one after the ports are settled,
for the flow table that names them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar, assert_never

from weir.agent.leases import Leases
from weir.backends.backend import Backend
from weir.backends.fast import Sight
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.forwarding import ForwardingBackend
from weir.backends.htb import HtbBackend, HtbWanted
from weir.backends.modes import Decision
from weir.backends.network import NetworkBackend, NetworkDifference
from weir.backends.ports import PortsBackend, PortsDifference, PortsWanted
from weir.backends.routes import RoutesBackend
from weir.backends.tables import PackedTables, TablesBackend, TablesDifference, record_of
from weir.backends.tuning import TuningBackend
from weir.compiler import ClassSpec, Compiled, Delta, FirewallRule, Plan, PortSpec, Step
from weir.model.problem import NotFound, Problem

log = logging.getLogger(__name__)

Part = Literal["firewall", "network", "tuning", "tables", "htb", "ports", "forwarding", "routes"]
PARTS: tuple[Part, ...] = (
    "firewall",
    "network",
    "tuning",
    "tables",
    "htb",
    "ports",
    "forwarding",
    "routes",
)

KEPT_STEPS = 1000

T = TypeVar("T")
Job = tuple[Part, Backend[Any, Any, Any], Any]


@dataclass(slots=True)
class Synced:
    """What was different and is repaired now, what could not be repaired, which interfaces are absent, and
    what of others stands in the way of ports.

    Of each part the first `KEPT_STEPS`: a kernel that holds nothing yet differs in 300,000 entries.
    """

    repaired: list[tuple[Part, Step]] = field(default_factory=list)
    faults: dict[Part, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    foreign: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Timing:
    apply_ms: float
    verify_ms: float


class Kernel:
    """Not thread-safe: the configuration calls it under its lock."""

    def __init__(
        self,
        *,
        firewall: FirewallBackend,
        network: NetworkBackend,
        tuning: TuningBackend,
        tables: TablesBackend,
        htb: HtbBackend,
        ports: PortsBackend,
        forwarding: ForwardingBackend,
        routes: RoutesBackend,
        leases: Leases | None = None,
    ) -> None:
        self.firewall, self.network, self.tuning, self.tables = firewall, network, tuning, tables
        self.htb, self.ports, self.forwarding, self.routes = htb, ports, forwarding, routes
        self.leases = leases or Leases(None)
        self.decisions: dict[str, Decision] = {}

    def execute(self, plan: Plan, before: Compiled, packed: PackedTables | None = None) -> Timing:
        """Apply a plan and read back what it touched. Raises what a backend raised; the kernel is then
        somewhere between before and after, and `sync` of `touched(plan)` brings it to either.

        With `packed`, what the plan asks of the tables is stored from there, and not read back.
        """
        started = time.perf_counter()
        jobs: dict[Part, Job] = {}
        for make in self._makers(plan, before, packed):
            job = make()
            if job is not None and job[2]:
                if job[0] in jobs:  # a part done in two steps: the second changes what the first did
                    _verify(jobs[job[0]])
                jobs[job[0]] = job
                job[1].apply(job[2])
        applied = time.perf_counter()
        for done in jobs.values():
            _verify(done)
        verified = time.perf_counter()
        return Timing((applied - started) * 1000, (verified - applied) * 1000)

    def prepared(self, plan: Plan) -> PackedTables:
        """What `execute` may store at once. Looks at the plan only."""
        return PackedTables.of(plan.shaping)

    def sync(self, wanted: Compiled, parts: Iterable[Part] = PARTS) -> Synced:
        """Read, compare and repair part by part; a part that fails does not keep the others waiting."""
        found = Synced()
        chosen = set(parts)
        for part in PARTS:
            if part in chosen:
                try:
                    self._sync_part(part, wanted, found)
                except Problem as problem:
                    log.warning("%s cannot be brought to what is configured: %s", part, problem.message)
                    found.faults[part] = problem.message
        return found

    def refuse_missing(self, plan: Plan) -> None:
        """Raise `NotFound` for a newly configured interface that does not exist; one that is made
        here may wait for what it is made on."""
        added = [new.ifname for old, new in plan.network.set if old is None and not new.is_made]
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

    def _makers(
        self, plan: Plan, before: Compiled, packed: PackedTables | None
    ) -> list[Callable[[], Job | None]]:
        """One per touched part; a difference is worked out when the parts before it are done."""
        makers: list[Callable[[], Job | None]] = []
        rules = before.firewall if plan.firewall is None else plan.firewall[1]
        network = after(before.network, plan.network, _ifname)
        if plan.firewall is not None:
            # What the new rules must see goes up the stack before they are there, so that none gets past.
            makers.append(lambda: self._ports_job(before.shaping.ports, rules, tighten=True))
            makers.append(lambda: self._firewall_job(before.shaping.ports, rules))
        if plan.network:
            makers.append(lambda: self._job("network", self.network, self.leases.on(network)))
        overrides = plan.tuning
        if overrides is not None:
            makers.append(lambda: self._job("tuning", self.tuning, overrides[1]))
        if packed is not None:
            makers.append(partial(self.tables.store, packed))
        elif plan.shaping.classes or plan.shaping.prefixes:
            makers.append(lambda: ("tables", self.tables, TablesDifference.of(plan.shaping)))
        if plan.shaping.classes or plan.shaping.ports:
            makers.append(lambda: self._htb_job(plan, before))
        if plan.shaping.ports or plan.firewall is not None:
            ports = after(before.shaping.ports, plan.shaping.ports, _ifname)
            makers.append(lambda: self._ports_job(ports, rules))
            makers.append(lambda: self._firewall_job(ports, rules))
        if plan.network:
            makers.append(lambda: self._job("forwarding", self.forwarding, bool(network)))
        if plan.routes or _leased(plan):
            routes = after(before.routes, plan.routes, _id)
            makers.append(lambda: self._job("routes", self.routes, self.leases.routes(network, routes)))
        return makers

    def _job(self, part: Part, backend: Backend[Any, Any, Any], wanted: object) -> Job:
        return part, backend, backend.diff(backend.read(), wanted)

    def _ports_job(
        self, ports: Mapping[str, PortSpec], rules: Sequence[FirewallRule], *, tighten: bool = False
    ) -> Job | None:
        """`tighten`: only if the rules have to see packets, and so ports may have to leave the fast path."""
        wanted = PortsWanted(ports, rules)
        if tighten and not Sight.of(rules, "").filtered:
            return None
        self.decisions = self.ports.decisions(wanted)
        return self._job("ports", self.ports, wanted)

    def _firewall_job(self, ports: Mapping[str, PortSpec], rules: Sequence[FirewallRule]) -> Job:
        devices = self.ports.flow_devices(self.ports.decisions(PortsWanted(ports, rules)))
        return self._job("firewall", self.firewall, FirewallWanted(tuple(rules), devices))

    def _htb_job(self, plan: Plan, before: Compiled) -> Job | None:
        ports = after(before.shaping.ports, plan.shaping.ports, _ifname)
        if plan.shaping.ports:
            self.decisions = self.ports.decisions(PortsWanted(ports, before.firewall))
        chosen = self._htb_ports(ports)
        if not chosen:
            return None
        delta = plan.shaping.classes
        classes = after(before.shaping.classes, delta, lambda spec: spec.slot)
        wanted = HtbWanted(chosen, classes)
        quick = None if plan.shaping.ports else self.htb.diff_changed(wanted, delta.set, delta.removed)
        return self._job("htb", self.htb, wanted) if quick is None else ("htb", self.htb, quick)

    def _htb_ports(self, ports: Mapping[str, PortSpec]) -> dict[str, PortSpec]:
        return {
            name: port
            for name, port in ports.items()
            if name in self.decisions and self.decisions[name].mode == "htb"
        }

    def _sync_part(self, part: Part, wanted: Compiled, found: Synced) -> None:
        backend, asked = self._wanted(part, wanted)
        difference = backend.diff(backend.read(), asked)
        if isinstance(difference, NetworkDifference | PortsDifference):
            found.missing.update(difference.missing)
        if isinstance(difference, PortsDifference):
            found.foreign.extend(difference.foreign)
        if difference:
            steps = list(islice(difference.steps(), KEPT_STEPS))
            backend.apply(difference)
            backend.verify(difference)
            found.repaired.extend((part, step) for step in steps)

    def _wanted(self, part: Part, wanted: Compiled) -> tuple[Backend[Any, Any, Any], object]:
        shaping = wanted.shaping
        ports = PortsWanted(shaping.ports, wanted.firewall)
        if part in ("firewall", "htb", "ports"):
            self.decisions = self.ports.decisions(ports)
        match part:
            case "firewall":
                devices = self.ports.flow_devices(self.decisions)
                return self.firewall, FirewallWanted(wanted.firewall, devices)
            case "network":
                return self.network, self.leases.on(wanted.network)
            case "tuning":
                return self.tuning, wanted.tuning
            case "tables":
                return self.tables, shaping
            case "htb":
                return self.htb, HtbWanted(self._htb_ports(shaping.ports), shaping.classes)
            case "ports":
                return self.ports, ports
            case "forwarding":
                return self.forwarding, bool(wanted.network)
            case "routes":
                return self.routes, self.leases.routes(wanted.network, wanted.routes)
        assert_never(part)


def _verify(job: Job) -> None:
    _, backend, difference = job
    backend.verify(difference)


def touched(plan: Plan) -> list[Part]:
    """The parts that executing a plan may change."""
    shaping = plan.shaping
    flags: dict[Part, bool] = {
        "firewall": bool(shaping.ports or plan.firewall is not None),
        "network": bool(plan.network),
        "tuning": plan.tuning is not None,
        "tables": bool(shaping.classes or shaping.prefixes),
        "htb": bool(shaping.classes or shaping.ports),
        "ports": bool(shaping.ports or plan.firewall is not None),
        "forwarding": bool(plan.network),
        "routes": bool(plan.routes or _leased(plan)),
    }
    return [part for part in PARTS if flags[part]]


def _leased(plan: Plan) -> bool:
    """Whether it touches an interface whose lease brings routes."""
    changed = [*(spec for pair in plan.network.set for spec in pair), *plan.network.removed]
    return any(spec is not None and spec.dhcp for spec in changed)


def after(before: Mapping[Any, T], delta: Delta[T], key: Callable[[T], Any]) -> Mapping[Any, T]:
    """The mapping that a delta leads to; `before` itself when nothing changes."""
    if not delta:
        return before
    mapping = dict(before)
    for item in delta.removed:
        mapping.pop(key(item), None)
    for old, new in delta.set:
        if old is not None:
            mapping.pop(key(old), None)
        mapping[key(new)] = new
    return mapping


def _ifname(item: Any) -> str:
    return str(item.ifname)


def _id(item: Any) -> str:
    return str(item.id)
