# SPDX-License-Identifier: Apache-2.0
"""Follows the checks of uplinks: brings the default route to the best one that works, and tells of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import Any

from weir.adapters import conntrack, uplink_routes, uplink_rules
from weir.adapters.netlink import Links
from weir.adapters.reverse_path import checks_strictly
from weir.agent.configuration import Configuration
from weir.agent.uplink_rounds import Round, Rounds, best, judged
from weir.agent.uplinks import DOWN, Uplinks, gateway_of
from weir.backends.daemons import Learn
from weir.backends.kept_uplinks import KeptLink, kept_links, kept_of, shares_of
from weir.backends.uplinks import WantedUplink
from weir.diagnosis.sample import UplinkLook
from weir.model.moment import moment
from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.parts.network import NETWORK, NetworkSpec
from weir.parts.uplinks import UPLINKS, UplinkSpec, keep_connections
from weir.store.clock import boottime_ms, wall_ms_of

log = logging.getLogger(__name__)

LOOK_S = 0.5
"""Between two looks at what is configured; answers are heard at once."""


class UplinkMonitor:
    """`run` is one thread; the rest may be called by any."""

    def __init__(self, configuration: Configuration, links: Links) -> None:
        self._configuration = configuration
        self._links = links
        self._first = ""
        """The best uplink at the last look. "": none, or none was looked at yet."""
        self._shares: Mapping[str, int] = {}
        """Those that new connections left by at the last change."""
        self._rounds = Rounds(lambda spec: self._gateway(spec) is not None, checks_strictly=checks_strictly)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="uplinks", daemon=True)

    @property
    def _uplinks(self) -> Uplinks:
        return self._configuration.executor.uplinks

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Routes stay as they are, for the agent that comes next."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def sources(self) -> dict[Kind, Learn]:
        return {"uplink": self.learn_uplinks, "check": self.learn_checks}

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.look()
            except Problem as problem:
                log.warning("%s", problem.message)
                self._stopping.wait(LOOK_S)
            except Exception:
                log.exception("looking at uplinks failed; it goes on")
                self._stopping.wait(LOOK_S)
        self._rounds.close()

    def look(self) -> None:
        """Ask and hear for a while, and do what follows from it."""
        if not self._configuration.loaded:
            self._stopping.wait(LOOK_S)
            return
        specs = self._specs()
        self._rounds.follow(specs, lambda name: self._uplinks.verdict(name).status == DOWN)
        if specs or not self._stopping.wait(LOOK_S):
            self._rounds.step(LOOK_S)
        self._uplinks.forget_others(specs)
        changed = {
            name: status
            for name in specs
            if (status := judged(self._of(name), self._uplinks.verdict(name).status))
            != self._uplinks.verdict(name).status
        }
        for name, status in changed.items():
            self._uplinks.note(name, status)
        first = next(iter(self._uplinks.in_order(specs)), "")
        if changed or first != self._first:
            self._follow(specs, changed, first)

    def _follow(self, specs: Mapping[str, UplinkSpec], changed: Mapping[str, str], first: str) -> None:
        """Another one may be first by what was heard, or by what was configured. What fails is tried again
        at the next look."""
        before = self._first
        try:
            self._configuration.follow_uplinks(moved=first != before)
            self._first = first
        except Problem as problem:
            log.warning("%s", problem.message)
        shared, self._shares = self._shares, self._shares_of(specs)
        for name, status in changed.items():
            self._tell(name, status, first)
        left = {before} if first != before else set()
        if self._shares:
            left |= shared.keys() - self._shares.keys()
        for name in left:
            if changed.get(name) == DOWN and specs[name].flush_on_fail:
                self._flush(specs[name])

    def _tell(self, name: str, status: str, first: str) -> None:
        heard = "; ".join(f"{one.check.text}: {one.text}" for one in self._of(name)) or "nothing checks it"
        where = f"new connections will leave by {', '.join(self._shares) or first}"
        if self._uplinks.verdict(first).status == DOWN:
            where = f"no uplink works, and {'this one' if first == name else first} stays in use"
        log.log(
            logging.WARNING if status == DOWN else logging.INFO,
            "uplink %s is %s (%s); %s",
            name,
            status,
            heard,
            where,
        )

    def _flush(self, spec: UplinkSpec) -> None:
        """Connections with its address begin again by the other uplink."""
        index = self._links.link(spec.interface).index
        own = [item.text.partition("/")[0] for item in self._links.addresses() if item.ifindex == index]
        for address in own:
            if ":" not in address:
                log.info(
                    "uplink %s: %d connections of %s are forgotten",
                    spec.id,
                    conntrack.forget(address),
                    address,
                )

    # -- what is known ---------------------------------------------------------------------------------

    def learn_uplinks(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        specs = self._specs()
        chosen = [name for name in specs if ids is None or name in ids]
        devices = _default_devices() if chosen else None
        shares = self._shares_of(specs) if chosen else {}
        found = {}
        for name in chosen:
            verdict, rounds = self._uplinks.verdict(name), self._of(name)
            found[name] = {
                "status": verdict.status,
                "since": _moment(verdict.since_ms),
                "in_use": _is_in_use(specs[name], shares, devices),
                "share_percent": round(100 * shares.get(name, 0) / sum(shares.values())) if shares else None,
                "via": self._gateway(specs[name]) or None,
                **dict(best(rounds)),
                "answers": "; ".join(f"{one.check.id}: {one.text}" for one in rounds) or None,
            }
        return found

    def ways(self) -> list[dict[str, Any]]:
        """What is learnt of each, with its id and interface; the best first."""
        specs = self._specs()
        learnt = self.learn_uplinks(None)
        return [
            {"id": name, "interface": specs[name].interface, **learnt[name]}
            for name in self._uplinks.in_order(specs)
            if name in learnt
        ]

    def mark(self, source: str, destination: str, came: str | None) -> int:
        """Of the first packet of a connection that comes in by an interface, by which its uplink is routed;
        0: it has none. None = the router sends it."""
        specs = self._specs()
        if came is None or ":" in destination or not source or not keep_connections(specs.values()):
            return 0
        marking = kept_of(*self._known(specs), uplink_rules.read()).marking
        if marking is None or any(name == came for name, _ in marking.devices):
            return 0
        number = marking.choice(source, destination)
        return 0 if number is None else uplink_rules.KEPT | number

    def learn_checks(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        return {
            one.check.id: {
                "answer": None if one.said is None else one.text,
                "answered_at": _moment(one.answered_ms),
                "round_trip_us": one.round_trip_us,
                "loss_percent": one.loss_percent,
            }
            for one in self._rounds.every()
            if ids is None or one.check.id in ids
        }

    def looks(self) -> dict[str, UplinkLook]:
        """For the diagnosis, by the uplink's id."""
        now_ms = boottime_ms()
        known = {name: self._uplinks.verdict(name) for name in self._specs()}
        return {
            name: UplinkLook(max(now_ms - (one.since_ms or now_ms), 0) / 1000 if one.status == DOWN else None)
            for name, one in known.items()
        }

    def _shares_of(self, specs: Mapping[str, UplinkSpec]) -> Mapping[str, int]:
        """With their weights, those that new connections leave by; empty unless connections keep uplinks."""
        if not keep_connections(specs.values()):
            return {}
        return shares_of(*self._known(specs))

    def _known(
        self, specs: Mapping[str, UplinkSpec]
    ) -> tuple[Mapping[str, WantedUplink], Mapping[str, KeptLink]]:
        leases = self._configuration.executor.leases.held()
        return self._uplinks.wanted(specs, self._network(), leases), kept_links(self._links.links())

    def _of(self, name: str) -> list[Round]:
        return [one for one in self._rounds.every() if one.uplink.id == name]

    def _specs(self) -> Mapping[str, UplinkSpec]:
        return self._configuration.compiled.of(UPLINKS) if self._configuration.loaded else {}

    def _network(self) -> Mapping[str, NetworkSpec]:
        return self._configuration.compiled.of(NETWORK)

    def _gateway(self, spec: UplinkSpec) -> str | None:
        return gateway_of(spec, self._network(), self._configuration.executor.leases.held())


def followed(configuration: Configuration, links: Links, stack: ExitStack) -> UplinkMonitor:
    """One that runs until `stack` ends."""
    found = UplinkMonitor(configuration, links)
    found.start()
    stack.callback(found.stop)
    return found


def _is_in_use(spec: UplinkSpec, shares: Mapping[str, int], devices: tuple[str, ...] | None) -> bool | None:
    if shares:
        return spec.id in shares
    return None if devices is None else spec.interface in devices


def _default_devices() -> tuple[str, ...] | None:
    """None: not known."""
    try:
        return uplink_routes.default_devices()
    except Problem as problem:
        log.info("%s", problem.message)
        return None


def _moment(since_boot_ms: int | None) -> str | None:
    return None if since_boot_ms is None else moment(wall_ms_of(since_boot_ms))
