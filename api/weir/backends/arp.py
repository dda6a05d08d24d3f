# SPDX-License-Identifier: Apache-2.0
"""For whom the router answers ARP (`proxy_arp`, `proxy_arp_pvlan`; Documentation/networking/ip-sysctl.rst),
and which hosts it hears where it knows some alone (`weir.adapters.arp_guard`).

Hosts with a lease of a DHCP server are known from when the lease is given until it ends, without a commit
(`follow`).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from weir.adapters import arp_guard, nft
from weir.adapters.arp_guard import Known
from weir.adapters.neighbours import PERMANENT, forget, neighbours
from weir.adapters.nft_elements import NOT_THERE
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.backends.dhcp_leases import LeaseTable
from weir.backends.kea_config import subnet_id
from weir.backends.originals import Originals
from weir.model.arp import GUARDED
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.arp import ArpSpec, Wanted
from weir.parts.delta import Action, Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line

_MODES = {"proxy": "proxy_arp", "local-proxy": "proxy_arp_pvlan"}
_SETTING = "net/ipv4/conf/{}/{}"


@dataclass(frozen=True, slots=True)
class ArpState:
    """`settings` are those of the kernel by path, `originals` what those that Weir changed were before;
    `table` as `arp_guard.held` prints it, with what its sets hold."""

    settings: Mapping[str, str]
    originals: Mapping[str, str]
    table: str
    guarded: frozenset[str] = frozenset()
    known: frozenset[Known] = frozenset()


@dataclass(frozen=True, slots=True)
class ArpDifference:
    """`makes` the table, or removes it where nobody is guarded; `differs`: so do the hosts that are known."""

    settings: tuple[tuple[str, str], ...]
    remembered: Mapping[str, str]
    makes: bool
    differs: bool
    guarded: frozenset[str]
    wanted: Wanted

    def __bool__(self) -> bool:
        return bool(self.settings or self.makes or self.differs)

    def steps(self) -> Sequence[Step]:
        found = [step("arp", "change", "setting", f"{name} = {value}") for name, value in self.settings]
        if self.makes:
            verb: Action = "change" if self.guarded else "remove"
            found.append(step("arp", verb, "table", f"{arp_guard.FAMILY} {arp_guard.TABLE}"))
        if self.differs:
            found.append(step("arp", "change", "known hosts", ", ".join(sorted(self.guarded)) or "none"))
        return found


class ArpBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links", "firewall"))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(self, leases: LeaseTable, memory: Path) -> None:
        """`memory`: what settings were before, on a file system that is empty after a boot."""
        self._leases = leases
        self._originals = Originals(memory, str)
        self._lock = threading.Lock()
        """Of commits and of `follow`."""
        self._expected: str | None = None
        self._seen: tuple[Wanted, int] | None = None

    def read(self) -> ArpState:
        names = (name for _, name in socket.if_nameindex())
        paths = [_SETTING.format(name.replace("/", "_"), key) for name in names for key in _MODES.values()]
        settings = {path: value for path in paths if (value := read_sysctl(path)) is not None}
        table = arp_guard.held(nft.ruleset())
        if not table:
            return ArpState(settings, self._originals.read(), "")
        return ArpState(settings, self._originals.read(), table, arp_guard.guarded(), arp_guard.known())

    def diff(self, held: ArpState, wanted: Wanted) -> ArpDifference:
        asked = {_path(spec): "1" for spec in wanted.values() if spec.mode in _MODES}
        back = {path: value for path, value in held.originals.items() if path not in asked}
        settings = {p: v for p, v in {**asked, **back}.items() if held.settings.get(p, v) != v}
        remembered = {
            path: held.settings[path]
            for path in asked
            if path in held.settings and path not in held.originals
        }
        guarded = frozenset(spec.ifname for spec in wanted.values() if spec.mode == GUARDED)
        makes = held.table != (self._wanted_table() if guarded else "")
        known = self._known(wanted) if guarded else frozenset()
        differs = bool(guarded) and (makes or held.guarded != guarded or held.known != known)
        return ArpDifference(tuple(settings.items()), remembered, makes, differs, guarded, wanted)

    def apply(self, difference: ArpDifference) -> None:
        self._originals.remember({p: v for p, v in difference.remembered.items() if v != "1"})
        for path, value in difference.settings:
            write_sysctl(path, value)
        with self._lock:
            if difference.makes:
                arp_guard.apply(there=bool(difference.guarded))
            if difference.differs:
                self._bring(difference.guarded, difference.wanted)

    def follow(self, wanted: Wanted) -> None:
        """Let hosts be known that got a lease since the last time, and others no more. Raises a `Problem`;
        then it is tried again."""
        guarded = frozenset(spec.ifname for spec in wanted.values() if spec.mode == GUARDED)
        if not guarded:
            return
        with self._lock:
            seen = wanted, self._leases.version()
            if self._seen is not None and self._seen[0] is wanted and self._seen[1] == seen[1]:
                return
            try:
                self._bring(guarded, wanted)
            except ApplyFailed as failed:
                if failed.code != NOT_THERE:
                    raise
                return  # there is no table, which `apply` makes: at the start, or after a `flush ruleset`
            self._seen = seen

    def verify(self, difference: ArpDifference) -> None:
        found = self.diff(self.read(), difference.wanted)
        refuse("arp", [step.text for step in found.steps()])

    def effects(self, look: Look[ArpState, Wanted, ArpDifference]) -> Iterator[Effect]:
        delta: Delta[ArpSpec] = look.delta or Delta()
        for old, new in delta.set:
            if new.mode == GUARDED and (old is None or old.mode != GUARDED):
                text = f"hosts behind {new.ifname} that it does not know lose the router"
                yield Effect("interface", new.ifname, "drops-sessions", text)
            elif old is not None and set(old.hosts) - set(new.hosts):
                gone = ", ".join(sorted(address for address, _ in set(old.hosts) - set(new.hosts))[:3])
                text = f"{new.ifname} knows {gone} no more, unless by a lease"
                yield Effect("interface", new.ifname, "drops-sessions", text)
        for before in (*delta.removed, *(old for old, new in delta.set if old and old.mode != new.mode)):
            if before.mode in _MODES:
                text = f"{before.ifname} answers for others no more: hosts that rely on it lose them"
                yield Effect("interface", before.ifname, "drops-sessions", text)

    def explain(
        self,
        found: Comparison[ArpState, Wanted, ArpDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        spec = found.wanted.get(item.id) if isinstance(item, Interface) else None
        if spec is None:
            return
        if spec.mode != GUARDED:
            value = found.held.settings.get(_path(spec))
            yield Line(f"arp ({_MODES[spec.mode]})", "1", value or "there is no such interface", value == "1")
            return
        here = [host for host in found.held.known if host.ifname == spec.ifname]
        missing = sum(host not in here for host in self._known(found.wanted) if host.ifname == spec.ifname)
        is_in_force = spec.ifname in found.held.guarded and not found.difference.makes
        words = f"known now: {len(here)}" if is_in_force else "it hears every host"
        words += f", missing: {missing}" if missing else ""
        count = arp_guard.dropped() if is_in_force else None
        words += f"; ARP packets of others dropped on all such interfaces: {count:,}" if count else ""
        yield Line("arp", told[0] if told else spec.mode, words, is_in_force and not missing)

    def _wanted_table(self) -> str:
        if self._expected is None:
            self._expected = arp_guard.expected()
        return self._expected

    def _known(self, wanted: Wanted) -> frozenset[Known]:
        """Raises `Unavailable` where leases cannot be read."""
        found = {Known(spec.ifname, *host) for spec in wanted.values() for host in spec.hosts}
        served = {subnet_id(net): spec.ifname for spec in wanted.values() for net in spec.networks}
        for lease in self._leases.held().values() if served else ():
            ifname = served.get(lease.subnet_id) if lease.family == 4 else None
            if ifname is not None and lease.mac:
                found.add(Known(ifname, lease.address, lease.mac))
        return frozenset(found)

    def _bring(self, guarded: frozenset[str], wanted: Wanted) -> None:
        """What was learnt of hosts that are not known is forgotten at once."""
        known = self._known(wanted)
        if not arp_guard.bring(guarded, known):
            return
        names = {index: name for index, name in socket.if_nameindex() if name in guarded}
        heard = {(host.ifname, host.key[16:20], host.key[20:26]) for host in known}
        forget(
            item
            for item in neighbours()
            if item.ifindex in names
            and len(item.address) == 4
            and item.state != PERMANENT
            and (names[item.ifindex], item.address, item.mac) not in heard
        )


def _path(spec: ArpSpec) -> str:
    return _SETTING.format(spec.ifname.replace("/", "_"), _MODES[spec.mode])
