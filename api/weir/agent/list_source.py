# SPDX-License-Identifier: Apache-2.0
"""A set that has the addresses of a list in the web (docs/adr/0254)."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any

from weir.adapters.fetcher import Fetched, fetch
from weir.adapters.kept_lists import Kept
from weir.agent.set_source import SetSource, Tried
from weir.diagnosis.sample import SetLook
from weir.model.moment import moment
from weir.model.prefix_groups import Groups, count_of
from weir.parts.fetched import FetchedSpec
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

FIRST_RETRY_S, LAST_RETRY_S = 15.0, 3600.0
KEPT_AGAIN_MS = 3_600_000
"""So often is it written down that a list was had and is as it was."""


class ListSource(SetSource):
    """`_retry_s` is of the monotonic clock, 0 = the last try was good; `_failing_s`: since when none was."""

    def __init__(self, origin: str, ca_bundle: str, kept: Kept | None = None) -> None:
        super().__init__(origin)
        self._ca_bundle = ca_bundle
        self._kept = kept
        self._written_ms = kept.fetched_ms if kept else 0
        self._failures = 0
        self._retry_s = 0.0
        self._failing_s: float | None = None

    def groups(self) -> Groups | None:
        return None if self._kept is None else self._kept.groups

    def follow(self, spec: FetchedSpec) -> None:
        if self._kept is None:
            self._retry_s = 0.0

    def due_in_s(self, spec: FetchedSpec) -> float:
        if self._retry_s:
            return self._retry_s - time.monotonic()
        age_s = (wall_ms() - self._kept.fetched_ms) / 1000 if self._kept else -1.0
        return 0.0 if age_s < 0 else spec.refresh_s - age_s  # one of the future: the clock was set

    def attempt(self, spec: FetchedSpec, *, is_asked: bool) -> Tried:
        kept = self._kept
        order = {
            "url": spec.origin,
            "etag": kept.etag if kept else "",
            "modified": kept.modified if kept else "",
            "most_entries": spec.max_entries,
            "ca_bundle": self._ca_bundle,
        }
        had = fetch(order)
        if had.error:
            pause_s = min(FIRST_RETRY_S * 2 ** min(self._failures, 16), LAST_RETRY_S, spec.refresh_s)
            self._failures += 1
            self._failing_s = self._failing_s or time.monotonic()
            self.error, self._retry_s = had.error, time.monotonic() + pause_s
            log.warning("set %s: %s; what it had stays; tried again in %.0f s", spec.id, had.error, pause_s)
            return Tried(False, had.error)
        self.error, self._failures, self._retry_s, self._failing_s = "", 0, 0.0, None
        return self._take(spec, had)

    def _take(self, spec: FetchedSpec, had: Fetched) -> Tried:
        now_ms, before = wall_ms(), self._kept
        if had.groups is None:
            assert before is not None, "only what was had once is said to be as it was"
            kept = replace(before, fetched_ms=now_ms)
        else:
            is_same = before is not None and before.groups == had.groups
            changed_ms = before.changed_ms if before is not None and is_same else now_ms
            kept = Kept(spec.origin, had.groups, had.etag, had.modified, had.skipped, now_ms, changed_ms)
        self._kept = kept
        is_other = before is None or before.changed_ms != kept.changed_ms
        keeps = kept if is_other or now_ms - self._written_ms >= KEPT_AGAIN_MS else None
        said = "it is as it was" if had.groups is None else _counted(had.skipped)
        return Tried(True, said, kept.groups, keeps)

    def wrote(self, kept: Kept) -> None:
        self._written_ms = kept.fetched_ms

    def look(self, now_s: float) -> SetLook:
        if self._kept is None:
            return SetLook(now_s - self.since_s, None)
        return SetLook(None, None if self._failing_s is None else now_s - self._failing_s)

    def told(self, spec: FetchedSpec) -> tuple[str, bool]:
        if self._kept is None:
            return f"nothing was fetched yet{f': {self.error}' if self.error else ''}", False
        words = f"{count_of(self._kept.groups)} entries, had at {moment(self._kept.fetched_ms)}"
        return (f"{words}; the last try failed: {self.error}" if self.error else words), True

    def state(self, spec: FetchedSpec) -> dict[str, Any]:
        kept = self._kept
        next_ms = wall_ms() + round(max(self.due_in_s(spec), 0.0) * 1000)
        return {
            "fetched_at": moment(kept.fetched_ms) if kept else None,
            "changed_at": moment(kept.changed_ms) if kept else None,
            "next_at": moment(next_ms),
            "skipped": kept.skipped if kept else None,
            "last_error": self.error or None,
        }


def _counted(skipped: int) -> str:
    return f"it was taken; lines that are no addresses: {skipped}" if skipped else "it was taken"
