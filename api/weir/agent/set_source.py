# SPDX-License-Identifier: Apache-2.0
"""What one set is filled from: a list in the web or names in the DNS, and what came of asking so far."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from weir.adapters.kept_lists import Kept
from weir.diagnosis.sample import SetLook
from weir.model.prefix_groups import Groups, count_of
from weir.parts.fetched import FetchedSpec


class Tried(NamedTuple):
    """What became of one try. `groups`: what the set is to have now, None = what it has; `keeps`: what is to
    be on the disk, if not what is there."""

    is_good: bool
    answer: str
    groups: Groups | None = None
    keeps: Kept | None = None


class SetSource(ABC):
    """Of one set with one origin; `error` is "" when the last try was good. Its thread tries, others ask."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.error = ""
        self.since_s = time.monotonic()
        """Since when the agent wants it."""
        self.busy = threading.Lock()

    @abstractmethod
    def groups(self) -> Groups | None:
        """What the set has; None when nothing was ever had."""

    @abstractmethod
    def follow(self, spec: FetchedSpec) -> None:
        """The set is configured so from now on."""

    @abstractmethod
    def due_in_s(self, spec: FetchedSpec) -> float: ...

    @abstractmethod
    def attempt(self, spec: FetchedSpec, *, is_asked: bool) -> Tried:
        """One try, in bounded time; `is_asked`: of all that there is, whenever it is due."""

    @abstractmethod
    def wrote(self, kept: Kept) -> None:
        """It is on the disk."""

    @abstractmethod
    def look(self, now_s: float) -> SetLook:
        """What the diagnosis has to know."""

    @abstractmethod
    def told(self, spec: FetchedSpec) -> tuple[str, bool]:
        """What became of it, and whether that is well."""

    @abstractmethod
    def state(self, spec: FetchedSpec) -> dict[str, Any]:
        """As the kind `set` declares it."""

    def count(self) -> int:
        return count_of(self.groups() or {})
