# SPDX-License-Identifier: Apache-2.0
"""Whether a remedy helped: the same symptom, looked for again under the same load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weir.diagnosis.symptom import Symptom
from weir.diagnosis.texts import AILMENTS

Outcome = Literal["measuring", "helped", "no-change", "unknown"]
LOOKS = 6
MISSED = 12
"""Looks that may fail before nothing is known of the outcome."""
SAME_LOAD = 0.5
"""Of the packets per second when the symptom was seen: with less, its absence means nothing."""


@dataclass(slots=True)
class Trial:
    """`symptom` and `load_pps` are as they were before."""

    symptom: Symptom
    remedy: str
    revision: int
    at_ms: int
    load_pps: float
    seen: list[bool] = field(default_factory=list)
    loads_pps: list[float] = field(default_factory=list)
    missed_looks: int = 0
    reason: str = ""
    begun: bool = False

    def look(self, seen: bool, load_pps: float) -> None:
        """The first look spans the change itself and does not count."""
        if not self.begun:
            self.begun = True
        elif len(self.seen) < LOOKS:
            self.seen.append(seen)
            self.loads_pps.append(load_pps)

    def missed(self, reason: str) -> None:
        """There was nothing to see it by. Without a reason the look is only not due yet."""
        if reason:
            self.missed_looks += 1
            self.reason = reason

    @property
    def outcome(self) -> Outcome:
        if len(self.seen) < LOOKS:
            return "unknown" if self.missed_looks >= MISSED else "measuring"
        if any(self.seen):
            return "no-change"
        return "unknown" if self._hidden or self._is_idle() else "helped"

    @property
    def sentence(self) -> str:
        """The outcome for people."""
        seen = f"{sum(self.seen)} of {len(self.seen)}"
        if self.outcome == "measuring":
            return f"It is measured again: {len(self.seen)} of {LOOKS} looks are done."
        if self.outcome == "helped":
            return f"It helped: none of {LOOKS} looks shows it any more."
        if self.outcome == "no-change":
            return f"No change: {seen} looks still show it. The change can be taken back."
        if len(self.seen) < LOOKS:
            return f"It is not known whether it helped: it could not be looked at, because {self.reason}."
        if self._hidden:
            return f"It is not known whether it helped: {self._hidden}."
        now = sum(self.loads_pps) / len(self.loads_pps)
        return (
            f"It is not known whether it helped: it is gone, but so is the load ({now:,.0f} packets/s now, "
            f"{self.load_pps:,.0f} when it was seen)."
        )

    @property
    def _hidden(self) -> str:
        remedies = AILMENTS[self.symptom.code].remedies
        return next((item.hides for item in remedies if item.id == self.remedy), "")

    def _is_idle(self) -> bool:
        if not AILMENTS[self.symptom.code].under_load:
            return False
        return sum(self.loads_pps) / len(self.loads_pps) < SAME_LOAD * self.load_pps
