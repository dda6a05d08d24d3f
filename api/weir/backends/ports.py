# SPDX-License-Identifier: Apache-2.0
"""Interfaces under the datapath: programs attached, mode chosen, and the qdisc that the mode needs.

EDT needs fq at every transmit queue: it is put in place first and looked at before any packet is given a
departure time. A foreign root qdisc stays unless the port needs its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

from weir.adapters import nft, tc
from weir.adapters.datapath_records import Above, Mode, Port, Role, Tag
from weir.adapters.netlink import Link, Links
from weir.adapters.tc import Qdisc
from weir.backends.backend import Look, Topic, refuse, step
from weir.backends.fast import Answers, Around, FastPaths, Sight
from weir.backends.modes import Decision, PortModes
from weir.compiler.types import PortSpec
from weir.model.objects import Kind
from weir.model.problem import ApplyFailed, NotFound, Unsupported
from weir.parts.delta import Action, Step
from weir.parts.effect import Effect, for_each
from weir.parts.rule import PacketRule

QUEUES_MS = 1000
"""A session sends what was lost again within this."""
_WAITING = "what waits in them is lost once"
OUR_ROOTS = {tc.FQ_MAJOR: "fq", tc.MQ_MAJOR: "mq", tc.HTB_MAJOR: "htb"}


class Attachments(Protocol):
    """The part of `Datapath` that this backend uses."""

    def attach(
        self,
        ifname: str,
        roles: Role = ...,
        mode: Mode = ...,
        overhead_bytes: int = ...,
        slot_for_interface_target: int = ...,
        domain: int = ...,
        tag: Tag = ...,
        above: Above = ...,
        largest_bytes: int = ...,
    ) -> None: ...
    def detach(self, ifname: str) -> None: ...
    def attached(self) -> dict[str, Port]: ...


@dataclass(frozen=True, slots=True)
class PortsState:
    """`foreign`: a chain that is not ours and sees forwarded packets, "" = none. `answers` are of the same
    time."""

    links: Mapping[str, Link]
    ports: Mapping[str, Port]
    qdiscs: Mapping[str, Sequence[Qdisc]]
    foreign: str
    answers: Answers = field(default_factory=Answers, compare=False)


@dataclass(frozen=True, slots=True)
class PortsWanted:
    """Ports by name, and the rules that say which packets the stack must see."""

    ports: Mapping[str, PortSpec]
    rules: Sequence[PacketRule]


@dataclass(frozen=True, slots=True)
class PortChange:
    """One port to be made so. `absent`: no living link of ours is there; `reattach`: a dead one is."""

    spec: PortSpec
    link: Link
    decision: Decision
    install_fq: bool
    attach: bool
    absent: bool
    reattach: bool
    remove_root: bool

    @property
    def action(self) -> Action:
        return "add" if self.absent else "change"

    @property
    def text(self) -> str:
        fast = f"; fast path {'on' if self.decision.fast else 'off'}, {self.decision.fast_reason}"
        return f"{self.spec.ifname} {self.decision.mode}, {self.decision.reason}{fast}"


@dataclass(frozen=True, slots=True)
class PortReport:
    """One port for people: how it is meant to be, and in what the kernel differs, in words."""

    ifname: str
    meant: str
    wrong: tuple[str, ...]


@dataclass(slots=True)
class PortsDifference:
    changes: list[PortChange] = field(default_factory=list)
    detach: list[tuple[str, bool]] = field(default_factory=list)
    """(interface, whether its root qdisc is ours and goes too)"""
    missing: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Root qdiscs of others, in words: they are left alone, and may hold or drop what Weir lets pass."""
    sight: Sight = field(default_factory=lambda: Sight(filtered=False, foreign=""))
    wanted: Mapping[str, PortSpec] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changes or self.detach)

    def steps(self) -> Sequence[Step]:
        return [
            *(step("shaping", change.action, "port", change.text) for change in self.changes),
            *(step("shaping", "remove", "port", name) for name, _ in self.detach),
        ]


class PortsBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "firewall", "routing", "hooks"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, datapath: Attachments, links: Links, modes: PortModes, fast: FastPaths) -> None:
        self._datapath = datapath
        self._links = links
        self._modes = modes
        self._fast = fast

    def unpaced(self, ifname: str) -> str:
        """As `PortModes.unpaced`."""
        return self._modes.unpaced(ifname)

    def read(self) -> PortsState:
        qdiscs: dict[str, list[Qdisc]] = {}
        for qdisc in tc.qdiscs():
            qdiscs.setdefault(qdisc.ifname, []).append(qdisc)
        return PortsState(
            self._links.links(), self._datapath.attached(), qdiscs, nft.foreign_forwarding_chain()
        )

    def diff(self, held: PortsState, wanted: PortsWanted) -> PortsDifference:
        found = PortsDifference(sight=Sight.of(wanted.rules, held.foreign), wanted=wanted.ports)
        around = self._around(held, wanted.ports, found.sight)
        for name, spec in around.ports.items():
            link = held.links.get(name)
            if link is None:
                found.missing.append(name)
            else:
                change = self._change(held, spec, link, around)
                found.foreign += _foreign_root(held.qdiscs.get(name, ()), change)
                if change.install_fq or change.attach or change.remove_root:
                    found.changes.append(change)
        for name in held.ports:
            if name not in around.ports or name not in held.links:
                root = _root(held.qdiscs.get(name, ()))
                found.detach.append((name, root is not None and _is_ours(root)))
        return found

    def apply(self, difference: PortsDifference) -> None:
        for change in difference.changes:
            self._apply_change(change, difference.sight)
        for name, remove_root in difference.detach:
            self._detach(name)
            if remove_root:
                _delete_root(name)

    def verify(self, difference: PortsDifference) -> None:
        held = self.read()
        around = self._around(held, difference.wanted, difference.sight)
        wrong: list[str] = []
        for change in difference.changes:
            name = change.spec.ifname
            link, port = held.links.get(name), held.ports.get(name)
            if link is None or port is None:
                wrong.append(f"{name} is not attached")
                continue
            decision = self._decide(change.spec, link, around)
            wrong += [f"{name}: {words}" for words in _deviations(port, change.spec, decision, link)]
            if decision.mode == "edt" and not paces(held.qdiscs.get(name, ()), link.tx_queues):
                wrong.append(f"{name} has no fq at every transmit queue")
        wrong += [f"{name} is still attached" for name, _ in difference.detach if name in held.ports]
        refuse("shaping", wrong)

    def effects(self, look: Look[PortsState, PortsWanted, PortsDifference]) -> Iterator[Effect]:
        """Programs and records of a port are exchanged between two packets; its queues are not."""
        changed = {name for kind, name in look.changed if kind == "interface"}
        for change in look.difference.changes:
            name = change.spec.ifname
            objects: list[tuple[Kind, str]] = [("interface", name)] if name in changed else list(look.changed)
            if change.install_fq or change.remove_root:
                yield from for_each(objects, "resets", f"{name} gets other queues, and {_WAITING}", QUEUES_MS)
            if change.absent and change.link.kind == "physical":
                text = f"{name} gets a program, for which many network cards start again"
                yield from for_each(objects, "resets", text)
        for name, has_queues in look.difference.detach:
            if has_queues and name in changed:
                text = f"{name} gets the kernel's queues, and {_WAITING}"
                yield from for_each([("interface", name)], "resets", text, QUEUES_MS)

    def decisions(self, held: PortsState, wanted: PortsWanted) -> dict[str, Decision]:
        """How every wanted port whose interface exists shapes, and whether it takes the fast path."""
        links = held.links
        around = self._around(held, wanted.ports, Sight.of(wanted.rules, held.foreign))
        return {
            name: self._decide(spec, links[name], around)
            for name, spec in around.ports.items()
            if name in links
        }

    def reports(self, wanted: PortsWanted) -> list[PortReport]:
        """What is asked of every port and what the kernel holds: programs, record, qdisc."""
        held = self.read()
        around = self._around(held, wanted.ports, Sight.of(wanted.rules, held.foreign))
        return [self._report(held, spec, around) for spec in around.ports.values()]

    def _report(self, held: PortsState, spec: PortSpec, around: Around) -> PortReport:
        name = spec.ifname
        link, port = held.links.get(name), held.ports.get(name)
        if link is None:
            return PortReport(name, "attached", ("there is no such interface",))
        change, qdiscs = self._change(held, spec, link, around), held.qdiscs.get(name, ())
        meant = f"{change.decision.mode}{', fast path' if change.decision.fast else ''}"
        if port is None:
            return PortReport(name, meant, ("it is not attached",))
        wrong = _deviations(port, spec, change.decision, link)
        if change.install_fq:
            wrong.append("fq is not at every transmit queue")
        if change.remove_root:
            wrong.append("it has a qdisc that it should not have")
        return PortReport(name, meant, (*wrong, *_foreign_root(qdiscs, change)))

    def flow_devices(self, decisions: Mapping[str, Decision]) -> tuple[str, ...]:
        """The ports whose connections belong into the flow table."""
        return tuple(sorted(name for name, decision in decisions.items() if Role.FLOW in decision.fast))

    def _around(self, held: PortsState, ports: Mapping[str, PortSpec], sight: Sight) -> Around:
        links = held.links
        found = Around.of(links, ports, sight, held.answers)
        modes = {
            self._modes.decide(spec, links[name].index).mode
            for name, spec in found.ports.items()
            if name in links
        }
        return replace(found, policed=modes == {"police"})

    def _decide(self, spec: PortSpec, link: Link, around: Around) -> Decision:
        decision = around.yielding.decision(spec.ifname) or self._modes.decide(spec, link.index)
        return replace(self._fast.decide(spec, decision, around), full=around.full)

    def _change(self, held: PortsState, spec: PortSpec, link: Link, around: Around) -> PortChange:
        decision = self._decide(spec, link, around)
        port, qdiscs = held.ports.get(spec.ifname), held.qdiscs.get(spec.ifname, ())
        root = _root(qdiscs)
        replaced = port is not None and (not port.alive or port.ifindex != link.index)
        needed = {"edt": ("fq", "mq"), "htb": ("htb",)}.get(decision.mode, ())
        return PortChange(
            spec,
            link,
            decision,
            install_fq=decision.mode == "edt" and not paces(qdiscs, link.tx_queues),
            attach=port is None or replaced or bool(_deviations(port, spec, decision, link)),
            absent=port is None or replaced,
            reattach=replaced,
            remove_root=root is not None and _is_ours(root) and root.kind not in needed,
        )

    def _apply_change(self, change: PortChange, sight: Sight) -> None:
        name, decision = change.spec.ifname, change.decision
        if change.install_fq:
            decision = self._install_fq(change)
        if change.reattach:
            self._detach(name)
        try:
            self._attach(change, decision)
        except Unsupported as problem:
            if not decision.fast:
                raise
            self._fast.refuse(name, change.link.index, problem.message)
            self._attach(change, replace(decision, fast=Role.NOTHING))
        if change.remove_root and decision.mode not in ("edt", "htb"):
            _delete_root(name)

    def _attach(self, change: PortChange, decision: Decision) -> None:
        spec = change.spec
        self._datapath.attach(
            spec.ifname,
            _roles(change.link, spec, decision),
            decision.mode,
            spec.overhead_bytes,
            spec.interface_slot,
            spec.domain,
            decision.tag,
            decision.above,
            decision.largest_bytes,
        )

    def _install_fq(self, change: PortChange) -> Decision:
        """EDT if fq is really there afterwards; else what the port falls back to."""
        name, link = change.spec.ifname, change.link
        try:
            tc.batch(tc.fq_lines(name, link.tx_queues))
            reason = "" if paces(tc.qdiscs(name), link.tx_queues) else "it is not there after it was set"
        except ApplyFailed as problem:
            reason = problem.message
        if reason:
            self._modes.refuse_pacing(name, link.index, reason)
        found = self._modes.decide(change.spec, link.index)
        return replace(change.decision, mode=found.mode, reason=found.reason)

    def _detach(self, name: str) -> None:
        try:
            self._datapath.detach(name)
        except NotFound:
            return  # it went with its device


def paces(qdiscs: Sequence[Qdisc], tx_queues: int) -> bool:
    """Our fq is the root, or below every transmit queue of our mq, with our limits."""
    root = _root(qdiscs)
    if root is None:
        return False
    if root.kind == "fq":
        return root.major == tc.FQ_MAJOR and _has_our_limits(root)
    if root.kind != "mq" or root.major != tc.MQ_MAJOR:
        return False
    leaves = {q.major for q in qdiscs if q.kind == "fq" and _has_our_limits(q)}
    return all(tc.FQ_LEAF_MAJOR + n in leaves for n in range(1, min(tx_queues, tc.MAX_FQ_LEAVES) + 1))


def _has_our_limits(qdisc: Qdisc) -> bool:
    ours = {"limit": tc.FQ_LIMIT, "flow_limit": tc.FQ_FLOW_LIMIT, "orphan_mask": tc.FQ_ORPHAN_MASK}
    return ours.items() <= qdisc.options.items()


def _root(qdiscs: Sequence[Qdisc]) -> Qdisc | None:
    return next((q for q in qdiscs if q.is_root and q.kind not in ("clsact", "ingress")), None)


def _is_ours(root: Qdisc) -> bool:
    return OUR_ROOTS.get(root.major) == root.kind


def _foreign_root(qdiscs: Sequence[Qdisc], change: PortChange) -> list[str]:
    """Of a port that does not need the place: another's root, in words. The kernel's own is nobody's."""
    root = _root(qdiscs)
    if root is None or not root.major or _is_ours(root) or change.decision.mode in ("edt", "htb"):
        return []
    name = change.spec.ifname
    return [
        f"{name} has a root qdisc that is not Weir's, {root.kind} {root.major:x}:, which may hold or drop "
        f"what Weir lets pass (tc qdisc del dev {name} root)"
    ]


def _delete_root(name: str) -> None:
    tc.batch([tc.delete_root_line(name)])


_REVERSE_PATH = {"off": Role.NOTHING, "loose": Role.LOOSE, "strict": Role.STRICT}


def _roles(link: Link, spec: PortSpec, decision: Decision) -> Role:
    way = decision.fast | decision.stacking | (Role.NOTHING if link.ethernet else Role.L3)
    checks = _REVERSE_PATH[spec.reverse_path] | (Role.KNOWN if spec.known_only else Role.NOTHING)
    return Role.CLASSIFY | way | checks | decision.full | (Role.NOTHING if Role.YIELDS in way else Role.SHAPE)


def _deviations(port: Port, spec: PortSpec, decision: Decision, link: Link) -> list[str]:
    """What of the port is not as wanted, in words; empty when all is."""
    pairs = {
        "programs": ("in place" if port.alive else "not in place, or not first", "in place"),
        "index": (port.ifindex, link.index),
        "mode": (port.mode, decision.mode),
        "roles": (_words(port.roles), _words(_roles(link, spec, decision))),
        "MAC address": (port.mac, link.mac if decision.fast else port.mac),
        "overhead": (port.overhead_bytes, spec.overhead_bytes),
        "class": (port.target_slot, spec.interface_slot),
        "domain": (port.domain, spec.domain),
        "tag": (port.tag, decision.tag),
        "interface above": (port.above, decision.above),
        "largest fast packet": (port.largest_bytes, decision.largest_bytes),
    }
    return [f"{what}: {held}, not {wanted}" for what, (held, wanted) in pairs.items() if held != wanted]


def _words(roles: Role) -> str:
    return "+".join(str(role.name).lower() for role in roles) or "nothing"
