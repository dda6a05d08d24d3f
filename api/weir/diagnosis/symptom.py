# SPDX-License-Identifier: Apache-2.0
"""What a rule sees in two successive samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weir.diagnosis.sample import Sample


@dataclass(frozen=True, slots=True)
class Number:
    """A measured value beside the threshold that it passed; None: it is told and not compared."""

    name: str
    value: float
    unit: str
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Symptom:
    """`code` is a key of `weir.diagnosis.texts.AILMENTS`; the first number is the one that is compared. `who`
    is what the sentence says of the worst case, "" where it says nothing. `needs`: what its remedy would need
    and is not there, "" where nothing is missing."""

    code: str
    subject: str
    numbers: tuple[Number, ...]
    who: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """Two samples and the seconds between them."""

    before: Sample
    now: Sample

    @property
    def elapsed_s(self) -> float:
        return max(self.now.clock_s - self.before.clock_s, 0.001)


Rule = Callable[[Span], Iterator[Symptom]]
