# SPDX-License-Identifier: Apache-2.0
"""From symptoms to findings: what was seen often enough, since when, and whether a remedy helped.

A symptom becomes a finding when three of the last six looks show it, and ceases to be one after six looks
without it, so that neither a burst nor a pause makes noise. What could not be looked at neither raises nor
ends a finding: it is told with the reason instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weir.diagnosis import (
    certificates,
    drop_reasons,
    fetched_sets,
    locks,
    ports,
    processors,
    scans,
    softirqs,
    tables,
    uplinks,
)
from weir.diagnosis.sample import Sample
from weir.diagnosis.symptom import Rule, Span, Symptom
from weir.diagnosis.trial import Trial

LOOKS_KEPT = 6
LOOKS_TO_RAISE = 3

Key = tuple[str, str]

RULES: Sequence[tuple[Rule, tuple[str, ...], tuple[str, ...]]] = (
    (processors.control_plane, ("control-plane-starved",), ("cores",)),
    (processors.backlog, ("backlog-full",), ("cores",)),
    (processors.balance, ("one-core-works",), ("cores",)),
    (softirqs.late, ("softirq-late",), ("softirqs", "cores")),
    (softirqs.long_runs, ("long-softirq",), ("softirqs",)),
    (tables.full_neighbours, ("neighbours-full",), ("neighbours",)),
    (tables.full_connections, ("connections-full",), ("connections",)),
    (scans.scans, ("scan",), ("scans",)),
    (drop_reasons.stack_drops, ("stack-drops",), ("drop_reasons", "cores")),
    (tables.crowded_addresses, ("crowded-listener",), ("chains",)),
    (tables.overflows, ("listener-overflow",), ("overflows",)),
    (tables.unread_sockets, ("socket-unread",), ("sockets",)),
    (tables.slow_routes, ("slow-route-lookup",), ("route_lookups",)),
    (tables.reverse_path, ("second-lookup",), ("reverse_path",)),
    (ports.shared_locks, ("one-lock",), ("ports",)),
    (locks.lock_waits, ("lock-wait",), ("lock_waits", "cores")),
    (ports.overruns, ("ring-overrun",), ("ports",)),
    (uplinks.down, ("uplink-down",), ("uplinks",)),
    (certificates.ending, ("certificate-ending",), ("certificates",)),
    (certificates.invalid, ("certificate-invalid",), ("certificates",)),
    (fetched_sets.empty, ("set-not-fetched",), ("sets",)),
    (fetched_sets.outdated, ("set-outdated",), ("sets",)),
    (fetched_sets.unanswered, ("set-names-unanswered",), ("sets",)),
)
"""Each rule with the codes that it gives and the fields of `Sample` that it cannot do without."""
WINDOWS = ("softirqs", "drop_reasons", "lock_waits")
"""Fields that stay the same object until they were looked at again: only then there is something to judge."""


@dataclass(slots=True)
class Held:
    """A symptom over the last looks."""

    symptom: Symptom
    first_ms: int
    last_ms: int
    load_pps: float
    seen: deque[bool] = field(default_factory=lambda: deque(maxlen=LOOKS_KEPT))
    is_raised: bool = False
    doubt: str = ""
    """Why it could not be looked at lately."""


class Findings:
    """Not thread-safe; `take` gets the samples in their order."""

    def __init__(self) -> None:
        self._last: Sample | None = None
        self._held: dict[Key, Held] = {}
        self.trials: deque[Trial] = deque(maxlen=20)

    def take(self, sample: Sample) -> None:
        """Judge the time since the sample before."""
        before, self._last = self._last, sample
        if before is None:
            return
        span = Span(before, sample)
        load_pps = processors.received_ps(span)
        for rule, codes, needs in RULES:
            missing = [name for name in needs if getattr(sample, name) is None]
            if missing:
                self._doubt(codes, sample.unseen.get(missing[0], ""))
                continue
            if any(name in WINDOWS and getattr(sample, name) is getattr(before, name) for name in needs):
                continue
            seen = {(found.code, found.subject): found for found in rule(span)}
            self._note(codes, seen, sample.at_ms, load_pps)

    def raised(self) -> list[Held]:
        """The findings there are now, the oldest first."""
        return sorted(
            (held for held in self._held.values() if held.is_raised), key=lambda held: held.first_ms
        )

    def raised_of(self, code: str, subject: str) -> Held | None:
        held = self._held.get((code, subject))
        return held if held is not None and held.is_raised else None

    def begin_trial(self, held: Held, remedy: str, revision: int, at_ms: int) -> Trial:
        """Something is done about a finding: whether it helps is seen from the next looks on."""
        trial = Trial(held.symptom, remedy, revision, at_ms, held.load_pps)
        self.trials.append(trial)
        return trial

    def _note(self, codes: tuple[str, ...], seen: Mapping[Key, Symptom], at_ms: int, load_pps: float) -> None:
        for key in seen.keys() - self._held.keys():
            self._held[key] = Held(seen[key], at_ms, at_ms, load_pps)
        for key, held in list(self._of(codes)):
            symptom = seen.get(key)
            held.seen.append(symptom is not None)
            held.doubt = ""
            if symptom is not None:
                held.symptom, held.last_ms, held.load_pps = symptom, at_ms, load_pps
            held.is_raised |= sum(held.seen) >= LOOKS_TO_RAISE
            if len(held.seen) == LOOKS_KEPT and not any(held.seen):
                del self._held[key]
        for trial in self.trials:
            if trial.symptom.code in codes:
                trial.look((trial.symptom.code, trial.symptom.subject) in seen, load_pps)

    def _doubt(self, codes: tuple[str, ...], reason: str) -> None:
        for _, held in self._of(codes):
            held.doubt = reason
        for trial in self.trials:
            if trial.symptom.code in codes:
                trial.missed(reason)

    def _of(self, codes: tuple[str, ...]) -> Iterator[tuple[Key, Held]]:
        return ((key, held) for key, held in self._held.items() if key[0] in codes)
