# SPDX-License-Identifier: Apache-2.0
"""A set that has the addresses of names in the DNS (docs/adr/0255)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from weir.adapters.kept_lists import Kept
from weir.adapters.resolver import resolve
from weir.agent.list_source import KEPT_AGAIN_MS
from weir.agent.name_book import Name, NameBook
from weir.agent.set_source import SetSource, Tried
from weir.diagnosis.sample import SetLook
from weir.kinds.sets import MAX_ANSWER_CHARS
from weir.model.moment import moment
from weir.model.prefix_groups import Groups, count_of
from weir.parts.fetched import BY_NAME, FetchedSpec
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

WRITTEN_AGAIN_S = 600.0
"""Names of large services change their addresses each minute: so often is that written down at most."""


class NameSource(SetSource):
    """`servers` says whom to ask now; none: those of the system."""

    def __init__(self, servers: Callable[[], Sequence[str]], kept: Kept | None = None) -> None:
        super().__init__(BY_NAME)
        self._servers = servers
        self._lock = threading.Lock()
        """Around the book, which is asked while others wait for name servers."""
        self._fetched_ms = kept.fetched_ms if kept else 0
        self._changed_ms = kept.changed_ms if kept else 0
        self._written = kept
        self._written_s = time.monotonic() - WRITTEN_AGAIN_S
        self._has_moved = False
        self._book = NameBook(kept.names if kept else {}, time.monotonic(), self._fetched_ms)
        self._groups = self._book.groups()

    def groups(self) -> Groups | None:
        return self._groups or None

    def follow(self, spec: FetchedSpec) -> None:
        with self._lock:
            self._has_moved |= self._book.follow(spec.names)

    def due_in_s(self, spec: FetchedSpec) -> float:
        with self._lock:
            return 0.0 if self._has_moved else self._book.next_s() - time.monotonic()

    def attempt(self, spec: FetchedSpec, *, is_asked: bool) -> Tried:
        with self._lock:
            self._has_moved = False
            names = list(spec.names) if is_asked else self._book.due(time.monotonic())
        answers = resolve(names, self._servers()) if names else {}
        now_s, now_ms = time.monotonic(), wall_ms()
        with self._lock:
            self._book.take(answers, now_s, now_ms)
            groups, names_kept, error = self._book.groups(), self._book.kept(), self._error(now_s)
            is_good = all(known.failing_s() is None for _, known in self._book.names())
        if any(answer.addresses for answer in answers.values()):
            self._fetched_ms = now_ms
        if groups != self._groups:
            self._groups, self._changed_ms = groups, now_ms
        if error and not self.error:
            log.warning("set %s: %s", spec.id, error)
        self.error = error
        kept = Kept(
            BY_NAME, groups, fetched_ms=self._fetched_ms, changed_ms=self._changed_ms, names=names_kept
        )
        keeps = kept if self._is_to_write(kept, now_s) else None
        return Tried(is_good, error or "all its names were answered", groups, keeps)

    def _is_to_write(self, kept: Kept, now_s: float) -> bool:
        """At once what the set lacks on the disk altogether, and what changes all the time now and then."""
        before = self._written
        if before is None:
            return bool(kept.groups)
        if kept.names.keys() != before.names.keys():
            return True
        is_old = now_s - self._written_s >= WRITTEN_AGAIN_S
        return is_old and (kept.names != before.names or kept.fetched_ms - before.fetched_ms >= KEPT_AGAIN_MS)

    def wrote(self, kept: Kept) -> None:
        self._written, self._written_s = kept, time.monotonic()

    def _error(self, now_s: float) -> str:
        """Of the first name that something is wrong with, and of how many more."""
        found = [(name, said) for name, known in self._book.names() if (said := known.error(now_s))]
        if not found:
            return ""
        more = f"; and {len(found) - 1} more of {self._book.count()} names" if len(found) > 1 else ""
        return f"{found[0][0]}: {found[0][1]}"[: MAX_ANSWER_CHARS - len(more)] + more

    def look(self, now_s: float) -> SetLook:
        with self._lock:
            failing = [known.failing_s() for _, known in self._book.names()]
        since = [since_s for since_s in failing if since_s is not None]
        unanswered_s = now_s - min(since) if since else None
        return SetLook(now_s - self.since_s if not self._groups else None, None, unanswered_s, len(since))

    def told(self, spec: FetchedSpec) -> tuple[str, bool]:
        if not self._groups:
            return f"no name was answered yet{f': {self.error}' if self.error else ''}", False
        words = f"{count_of(self._groups)} addresses"
        return (f"{words}; {self.error}" if self.error else words), True

    def state(self, spec: FetchedSpec) -> dict[str, Any]:
        now_s, now_ms = time.monotonic(), wall_ms()
        with self._lock:
            rows = [_row(name, known, now_s, now_ms) for name, known in self._book.names()]
            next_ms = _at_ms(self._book.next_s(), now_s, now_ms)
        return {
            "resolved": rows,
            "fetched_at": moment(self._fetched_ms) if self._fetched_ms else None,
            "changed_at": moment(self._changed_ms) if self._changed_ms else None,
            "next_at": moment(next_ms),
            "skipped": None,
            "last_error": self.error or None,
        }


def _row(name: str, known: Name, now_s: float, now_ms: int) -> dict[str, Any]:
    return {
        "name": name,
        "ipv4": known.count(4),
        "ipv6": known.count(6),
        "answered_at": moment(known.answered_ms) if known.answered_ms else None,
        "next_at": moment(_at_ms(known.next_s, now_s, now_ms)),
        "error": known.error(now_s)[:MAX_ANSWER_CHARS] or None,
    }


def _at_ms(at_s: float, now_s: float, now_ms: int) -> int:
    """A moment of the monotonic clock; now for one that is over."""
    return now_ms + round(max(at_s - now_s, 0.0) * 1000)
