# SPDX-License-Identifier: Apache-2.0
"""Looks at the running system every five seconds and keeps what ails it (docs/diagnosis.md).

What costs more is looked at less often. A look that cannot be done is told with its reason, and the others
go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from weir.adapters import kernel_counters, listeners
from weir.adapters.kernel_counters import Counters
from weir.adapters.link_queues import LinkQueues, link_queues, received
from weir.agent.lookup_times import LookupTimes
from weir.agent.watch import Watch
from weir.diagnosis.figures import in_figures
from weir.diagnosis.findings import Findings
from weir.diagnosis.processors import UNITS, Spent, spent
from weir.diagnosis.sample import CertificateLook, Chain, Port, Sample, SetLook, UplinkLook
from weir.diagnosis.shown import findings_json, trial_json
from weir.diagnosis.symptom import Span
from weir.model.problem import Invalid, NotFound, Problem, Unavailable
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

SELDOM = 12
"""Samples between looks at what is a fact more than an event: interfaces, listening sockets."""


class Sampler:
    """Thread-safe."""

    def __init__(
        self,
        period_s: float,
        uplinks: Callable[[], Mapping[str, UplinkLook]] = dict,
        looked: Callable[[Sequence[dict[str, Any]]], None] = lambda findings: None,
        watches: Mapping[str, Watch[Any, Any]] | None = None,
        lookups: LookupTimes | None = None,
        counters: Counters | None = None,
        certificates: Callable[[], Mapping[str, CertificateLook]] = dict,
        sets: Callable[[], Mapping[str, SetLook]] = dict,
        unpaced: Callable[[str], str] = lambda ifname: "",
    ) -> None:
        """`unpaced`: why `fq` does not work on an interface, "" as far as is known. `looked` gets the
        findings after each look, by the thread that looks. `watches`, by the field of `Sample` that has what
        they find, are started and stopped with it."""
        self._looked = looked
        self._watches = watches or {}
        self._lookups = lookups
        self._counters = counters or Counters()
        self._period_s = period_s
        self._uplinks = uplinks
        self._certificates = certificates
        self._sets = sets
        self._unpaced = unpaced
        self._lock = threading.Lock()
        self._findings = Findings()
        self._sample: Sample | None = None
        self._spent: Sequence[Spent] | None = None
        self._chains: tuple[Chain, ...] | None = None
        self._why: dict[str, str] = {}
        self._known: Sequence[LinkQueues] | None = None
        self._spent_s = 0.0
        self._taken = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="diagnosis", daemon=True)

    def table(self) -> Mapping[str, Handler]:
        return {"findings": self._to_json, "figures": self._figures, "try_remedy": self._try}

    def start(self) -> None:
        for watch in self._watches.values():
            watch.start()
        self._thread.start()

    def stop(self) -> None:
        """Nothing more is looked at."""
        self._stopped.set()
        for watch in self._watches.values():
            watch.stop()
        if self._thread.is_alive():
            self._thread.join()

    def look(self, woken_late_s: float | None = None) -> Sample:
        """Take one sample and judge it."""
        begun = time.thread_time()
        sample = self._taken_now(woken_late_s)
        with self._lock:
            self._findings.take(sample)
            self._spent = (spent(Span(self._sample, sample)) if self._sample else None) or None
            self._sample = sample
            self._taken += 1
            self._spent_s += time.thread_time() - begun
            findings = findings_json(self._findings, sample)["findings"]
        self._looked(findings)
        return sample

    def spent(self) -> Sequence[Spent] | None:
        """What each core did between the last two looks; None: they were not looked at twice."""
        with self._lock:
            return self._spent

    def _taken_now(self, woken_late_s: float | None) -> Sample:
        counters = self._counters
        every: dict[str, Callable[[], Any]] = {
            "cores": counters.cores,
            "neighbours": counters.neighbours,
            "connections": counters.connections,
            "stalled_us": partial(counters.stalled_us, UNITS),
            "overflows": counters.overflows,
            "sockets": counters.sockets,
            "ports": self._ports,
            "grace_s": kernel_counters.grace_s,
            "route_lookups": self._lookups.routes if self._lookups else lambda: None,
            "uplinks": self._uplinks,
            "certificates": self._certificates,
            "sets": self._sets,
            **{name: watch.found for name, watch in self._watches.items()},
        }
        if self._taken % SELDOM == 0:
            self._known = self._asked("ports", link_queues)
            self._chains = self._asked("chains", self._listening)
        found = {name: self._asked(name, look) for name, look in every.items()}
        found["reverse_path"] = self._asked("reverse_path", partial(counters.reverse_path, self._names()))
        unseen = {name: why for name, why in self._why.items() if why}
        now_ms = time.time_ns() // 1_000_000
        return Sample(
            time.monotonic(), now_ms, woken_late_s=woken_late_s, chains=self._chains, unseen=unseen, **found
        )

    def _asked(self, name: str, look: Callable[[], Any]) -> Any:
        """None, and the reason kept, where it cannot be looked at."""
        try:
            found = look()
        except (Problem, OSError, ValueError, IndexError) as error:
            why = error.message if isinstance(error, Problem) else f"it cannot be read: {error}"
            if self._why.get(name) != why:
                log.info("not looked at: %s: %s", name, why)
            self._why[name] = why
            return None
        self._why[name] = ""
        return found

    def _listening(self) -> tuple[Chain, ...]:
        found = listeners.chains()
        return self._lookups.timed(found) if self._lookups else found

    def _names(self) -> list[str]:
        return [link.name for link in self._known or ()]

    def _ports(self) -> dict[str, Port]:
        """Interfaces, as they were listed last; the counters of cards are read now."""
        if self._known is None:
            raise Unavailable(self._why.get("ports") or "the interfaces were not listed")
        found = {}
        for link in self._known:
            came = lost = 0
            if link.is_card:
                try:
                    came, lost = received(link.ifindex)
                except OSError:
                    continue  # it went meanwhile
            found[link.name] = Port(link.tx_queues, link.qdisc, came, lost, self._unpaced(link.name))
        return found

    def _run(self) -> None:
        late_s: float | None = None
        while not self._stopped.is_set():
            try:
                self.look(late_s)
            except Exception:
                log.exception("the look at the system failed; it goes on")
            due = time.monotonic() + self._period_s
            self._stopped.wait(self._period_s)
            late_s = max(time.monotonic() - due, 0.0)

    # -- the socket's methods --------------------------------------------------------------------------

    def _to_json(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Findings, what was looked at, what could not be, and what each look cost."""
        with self._lock:
            return {
                **findings_json(self._findings, self._sample),
                "period_s": self._period_s,
                "samples": self._taken,
                "cpu_ms_per_sample": round(self._spent_s * 1000 / self._taken, 3) if self._taken else None,
            }

    def _figures(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """The last look in figures (`weir.diagnosis.figures.Looked`); null before the first."""
        with self._lock:
            sample = self._sample
        return {"look": None if sample is None else asdict(in_figures(sample))}

    def _try(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Something was done about a finding in `revision`: it is looked for again. Raises `NotFound`."""
        code, subject, remedy = (_text(params, name) for name in ("code", "subject", "remedy"))
        revision = params.get("revision")
        if type(revision) is not int:
            raise Invalid("revision must be a whole number", code="bad-request", path="revision")
        with self._lock:
            held = self._findings.raised_of(code, subject)
            if held is None:
                raise NotFound(f"there is no finding {code} of {subject!r} now", code="no-finding")
            now_ms = time.time_ns() // 1_000_000
            return trial_json(self._findings.begin_trial(held, remedy, revision, now_ms))


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Invalid(f"{name} must be text", code="bad-request", path=name)
    return value
