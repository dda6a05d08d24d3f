# SPDX-License-Identifier: Apache-2.0
"""Sends the router's logs to servers that keep them: for each a thread that keeps two processes running."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from typing import Any

from weir.adapters.journal import READER, Forwarding
from weir.backends.held import HeldBackend
from weir.host import host_name
from weir.loop import Loop
from weir.model.moment import moment
from weir.parts.logs import LogSpec
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

AGAIN_S = 5.0
"""After both processes ended."""
_COUNTED = ("sent", "lost")


class _Target:
    """One server. What it has counted goes on over a change of its settings."""

    def __init__(self, spec: LogSpec, ca_bundle: str, reader: str, begun: Mapping[str, int]) -> None:
        self.spec = spec
        self.router = host_name()
        self._order = {
            "address": spec.address,
            "port": spec.port,
            "protocol": spec.protocol,
            "facility": spec.facility,
            "router": self.router,
            "ca_bundle": ca_bundle,
        }
        self._reader = reader
        self._lock = threading.Lock()
        self._base = dict(begun)
        self._said: dict[str, Any] | None = None
        self._error: tuple[str, int] | None = None
        self._running: Forwarding | None = None
        self._since_s = int(time.time())
        self._loop = Loop(f"logs-{spec.id}", self._send, again_s=AGAIN_S)
        self._loop.start()

    def stop(self) -> None:
        """Nothing is sent any more once this returns."""
        self._loop.end()
        with self._lock:
            if self._running is not None:
                self._running.stop()
        self._loop.stop()

    def counted(self) -> dict[str, int]:
        with self._lock:
            said = self._said or {}
            return {name: self._base[name] + int(said.get(name, 0)) for name in _COUNTED}

    def state(self) -> dict[str, Any]:
        """As the kind `syslog-target` declares it; before the first word of the sender nothing is known."""
        counts = self.counted()
        with self._lock:
            said, error = self._said, self._error
        return {
            **{name: None if said is None else value for name, value in counts.items()},
            "waiting": None if said is None else said.get("waiting"),
            "last_error": None if error is None else error[0],
            "last_error_at": None if error is None else moment(error[1]),
        }

    def _send(self) -> float:
        """As long as both processes run."""
        try:
            forwarding = Forwarding(self._order, self.spec.severity, self._since_s, self._reader)
        except OSError as error:
            self._fails(f"no process could be started for it: {error.strerror}")
            return AGAIN_S
        with self._lock:
            self._running = forwarding
        if self._loop.ending:
            forwarding.stop()
        try:
            for said in forwarding.reports():
                self._since_s = int(time.time())
                self._take(said)
        finally:
            self._ended(forwarding.end())
        return AGAIN_S

    def _take(self, said: dict[str, Any]) -> None:
        with self._lock:
            self._said = said
        if said.get("error"):
            self._fails(str(said["error"]))
        else:
            with self._lock:
                self._error = None

    def _ended(self, why: str) -> None:
        """What waited is gone with the process that held it."""
        counts = self.counted()
        with self._lock:
            waiting = int((self._said or {}).get("waiting", 0))
            self._base, self._running = counts | {"lost": counts["lost"] + waiting}, None
            if self._said is not None:
                self._said = {"waiting": 0}
        if not self._loop.ending:
            self._fails(why)

    def _fails(self, text: str) -> None:
        """Logged once: what is logged is sent to servers, too."""
        with self._lock:
            is_new = self._error is None or self._error[0] != text
            self._error = (text, self._error[1] if self._error and not is_new else wall_ms())
        if is_new:
            log.warning("syslog target %s: %s", self.spec.id, text)


class LogTargets:
    """Thread-safe."""

    def __init__(self, backend: HeldBackend[LogSpec], ca_bundle: str, reader: str = READER) -> None:
        self._ca_bundle = ca_bundle
        self._reader = reader
        self._lock = threading.Lock()
        self._targets: dict[str, _Target] = {}
        backend.changed = self.follow

    def follow(self, wanted: Mapping[str, LogSpec]) -> None:
        """The targets are these from now on."""
        with self._lock:
            self._follow(wanted)

    def rename(self) -> None:
        """The router has another name: senders that have the old one are started again."""
        with self._lock:
            self._follow({name: item.spec for name, item in self._targets.items()})

    def _follow(self, wanted: Mapping[str, LogSpec]) -> None:
        before, router = self._targets, host_name()
        gone = [
            item for name, item in before.items() if wanted.get(name) != item.spec or item.router != router
        ]
        for item in gone:
            item.stop()
        self._targets = {
            name: before[name] if name in before and before[name] not in gone else self._begun(spec)
            for name, spec in wanted.items()
        }

    def _begun(self, spec: LogSpec) -> _Target:
        before = self._targets.get(spec.id)
        counts = dict.fromkeys(_COUNTED, 0) if before is None else before.counted()
        return _Target(spec, self._ca_bundle, self._reader, counts)

    def stop(self) -> None:
        self.follow({})

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of targets; of one that is disabled nothing is known."""
        with self._lock:
            found = dict(self._targets)
        return {name: item.state() for name, item in found.items() if ids is None or name in ids}
