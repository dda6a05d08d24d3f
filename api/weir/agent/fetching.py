# SPDX-License-Identifier: Apache-2.0
"""Fetches what is in fetched sets, again and again, and when somebody asks (docs/adr/0254).

Each list is had by a process without rights, which hands over prefixes only. The last good content is on the
disk before it is in the kernel, and stays whatever becomes of later tries. Routes of the main table say by
which interface a list comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from weir.adapters.fetcher import Fetched, fetch
from weir.adapters.kept_lists import Kept, KeptLists
from weir.agent.configuration import Configuration
from weir.agent.fetched import FetchedSets
from weir.backends.fetched import FetchedBackend, Specs
from weir.diagnosis.sample import SetLook
from weir.loop import Loop
from weir.model.moment import moment
from weir.model.prefix_groups import count_of
from weir.model.problem import Conflict, Invalid
from weir.parts.fetched import FetchedSpec
from weir.store.clock import wall_ms
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

FIRST_RETRY_S, LAST_RETRY_S = 15.0, 3600.0
LOOK_S = 60.0
"""Also how long a step of the clock may go unseen."""
PAUSE_S = 0.01
"""Between two slices: a lock is not fair, and who waits with a commit must get it."""
KEPT_AGAIN_MS = 3_600_000
"""So often is it written down that a list was had and is as it was."""


@dataclass(slots=True)
class _Tried:
    """Of one set with one origin. `retry_s` is of the monotonic clock, 0 = the last try was good. `since_s`:
    since when the agent wants it; `failing_s`: since when no try was good."""

    origin: str
    kept: Kept | None = None
    written_ms: int = 0
    error: str = ""
    failures: int = 0
    retry_s: float = 0.0
    failing_s: float | None = None
    since_s: float = field(default_factory=time.monotonic)
    busy: threading.Lock = field(default_factory=threading.Lock)

    def due_in_s(self, spec: FetchedSpec) -> float:
        if self.retry_s:
            return self.retry_s - time.monotonic()
        age_s = (wall_ms() - self.kept.fetched_ms) / 1000 if self.kept else -1.0
        return 0.0 if age_s < 0 else spec.refresh_s - age_s  # one of the future: the clock was set


class Fetching:
    """Thread-safe. `sets` is what they hold, for the stages of sets and rules; what was kept is in it from
    the start."""

    def __init__(self, backend: FetchedBackend, lists: KeptLists, ca_bundle: str) -> None:
        self.sets = FetchedSets()
        self._lists = lists
        self._ca_bundle = ca_bundle
        self._configuration: Configuration | None = None
        self._lock = threading.Lock()
        self._specs: Specs = {}
        self._tried: dict[str, _Tried] = {}
        for name, kept in lists.every():
            self.sets.begin(name, kept.origin, kept.groups)
            self._tried[name] = _Tried(kept.origin, kept, kept.fetched_ms)
        self._loop = Loop("fetching", self._look, again_s=LOOK_S)
        backend.changed = self._follow
        backend.told = self._told

    def table(self) -> Mapping[str, Handler]:
        return {"set_refresh": self._refresh}

    def begin(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._loop.start()

    def stop(self) -> None:
        """A try that is under way ends by itself, with the agent."""
        self._loop.end()

    def looks(self) -> Mapping[str, SetLook]:
        """What the diagnosis has to know of each."""
        now_s, found = time.monotonic(), {}
        for spec, tried in self._wanted():
            if tried.kept is None:
                found[spec.id] = SetLook(now_s - tried.since_s, None)
            else:
                found[spec.id] = SetLook(None, None if tried.failing_s is None else now_s - tried.failing_s)
        return found

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of those that are fetched, as the kind `set` declares it."""
        return {
            spec.id: _state(spec, tried) for spec, tried in self._wanted() if ids is None or spec.id in ids
        }

    # -- what is wanted ----------------------------------------------------------------------------------

    def _follow(self, specs: Specs) -> None:
        with self._lock:
            self._specs = dict(specs)
            for name, spec in specs.items():
                tried = self._tried.get(name)
                if tried is None or tried.origin != spec.origin:
                    self._tried[name] = _Tried(spec.origin)
                else:
                    tried.retry_s = 0.0 if tried.kept is None else tried.retry_s
        self._loop.wake()

    def _wanted(self) -> list[tuple[FetchedSpec, _Tried]]:
        with self._lock:
            return [(spec, self._tried[name]) for name, spec in sorted(self._specs.items())]

    def _told(self, spec: FetchedSpec) -> tuple[str, bool]:
        tried = next((found for own, found in self._wanted() if own == spec), None)
        if tried is None or tried.kept is None:
            error = tried.error if tried is not None else ""
            return f"nothing was fetched yet{f': {error}' if error else ''}", False
        words = f"{count_of(tried.kept.groups)} entries, had at {moment(tried.kept.fetched_ms)}"
        return (f"{words}; the last try failed: {tried.error}" if tried.error else words), True

    # -- fetching ----------------------------------------------------------------------------------------

    def _look(self) -> float:
        self._forget()
        next_s = LOOK_S
        for spec, tried in self._wanted():
            if self._loop.ending:
                break
            if tried.due_in_s(spec) <= 0 and tried.busy.acquire(blocking=False):
                try:
                    self._try(spec, tried)
                finally:
                    tried.busy.release()
            next_s = min(next_s, max(tried.due_in_s(spec), 0.1))
        return next_s

    def _forget(self) -> None:
        """What was kept of sets that are configured no more. One that is disabled is."""
        configuration = self._configuration
        if configuration is None or not configuration.loaded:
            return
        with configuration.lock:
            known = configuration.document.of_kind("set")
            gone = [name for name in self._lists.names() if name not in known]
            with self._lock:
                self._tried = {name: tried for name, tried in self._tried.items() if name in known}
        for name in gone:
            self._lists.forget(name)

    def _try(self, spec: FetchedSpec, tried: _Tried) -> Fetched:
        kept = tried.kept
        order = {
            "url": spec.origin,
            "etag": kept.etag if kept else "",
            "modified": kept.modified if kept else "",
            "most_entries": spec.max_entries,
            "ca_bundle": self._ca_bundle,
        }
        had = fetch(order)
        if had.error:
            pause_s = min(FIRST_RETRY_S * 2 ** min(tried.failures, 16), LAST_RETRY_S, spec.refresh_s)
            tried.failures += 1
            tried.failing_s = tried.failing_s or time.monotonic()
            tried.error, tried.retry_s = had.error, time.monotonic() + pause_s
            log.warning("set %s: %s; what it had stays; tried again in %.0f s", spec.id, had.error, pause_s)
            return had
        tried.error, tried.failures, tried.retry_s, tried.failing_s = "", 0, 0.0, None
        self._take(spec, tried, had)
        return had

    def _take(self, spec: FetchedSpec, tried: _Tried, had: Fetched) -> None:
        now_ms, before = wall_ms(), tried.kept
        if had.groups is None:
            assert before is not None, "only what was had once is said to be as it was"
            tried.kept = replace(before, fetched_ms=now_ms)
        else:
            is_same = before is not None and before.groups == had.groups
            changed_ms = before.changed_ms if before is not None and is_same else now_ms
            tried.kept = Kept(
                spec.origin, had.groups, had.etag, had.modified, had.skipped, now_ms, changed_ms
            )
        is_other = before is None or before.changed_ms != tried.kept.changed_ms
        if not self._is_wanted(spec, tried):
            return  # it is configured in another way since
        if is_other or now_ms - tried.written_ms >= KEPT_AGAIN_MS:
            self._keep(spec, tried, tried.kept)
        if is_other:
            self._bring(spec, tried, tried.kept)

    def _is_wanted(self, spec: FetchedSpec, tried: _Tried) -> bool:
        with self._lock:
            return spec.id in self._specs and self._tried.get(spec.id) is tried

    def _keep(self, spec: FetchedSpec, tried: _Tried, kept: Kept) -> None:
        try:
            self._lists.keep(spec.id, kept)
            tried.written_ms = kept.fetched_ms
        except OSError as error:
            why = error.strerror or str(error)
            tried.error = f"it is in force, and could not be kept for the next start: {why}"
            log.warning("set %s: %s", spec.id, tried.error)

    def _bring(self, spec: FetchedSpec, tried: _Tried, kept: Kept) -> None:
        """To the kernel, in slices between which others get the configuration's lock."""
        assert self._configuration is not None
        steps = self.sets.steps(spec, kept.groups)

        def step() -> Sequence[str]:
            return next(steps, ()) if self._is_wanted(spec, tried) else ()

        while self._configuration.follow_fetched(step):
            time.sleep(PAUSE_S)
        log.info("set %s has %d entries now", spec.id, count_of(kept.groups))

    def _refresh(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Fetch one now. Raises `Conflict` (`set-off`, `refresh-busy`)."""
        name = params.get("id")
        if not isinstance(name, str):
            raise Invalid("an id is needed", code="bad-request")
        found = next(((spec, tried) for spec, tried in self._wanted() if spec.id == name), None)
        if found is None:
            text = f"set {name} is not fetched from anywhere, or is disabled, or not in force yet"
            raise Conflict(text, code="set-off")
        spec, tried = found
        begun_s = time.monotonic()
        with _alone(tried, name):
            had = self._try(spec, tried)
            entries = count_of(tried.kept.groups) if tried.kept else 0
        answer = had.error or ("it is as it was" if had.groups is None else _counted(had.skipped))
        took_ms = round((time.monotonic() - begun_s) * 1000)
        return {"fetched": not had.error, "answer": answer, "entries": entries, "took_ms": took_ms}


@contextmanager
def _alone(tried: _Tried, name: str) -> Iterator[None]:
    if not tried.busy.acquire(blocking=False):
        raise Conflict(f"set {name} is being fetched: try again in a moment", code="refresh-busy")
    try:
        yield
    finally:
        tried.busy.release()


def _counted(skipped: int) -> str:
    return f"it was taken; lines that are no addresses: {skipped}" if skipped else "it was taken"


def _state(spec: FetchedSpec, tried: _Tried) -> dict[str, Any]:
    kept = tried.kept
    next_ms = wall_ms() + round(max(tried.due_in_s(spec), 0.0) * 1000)
    return {
        "fetched_at": moment(kept.fetched_ms) if kept else None,
        "changed_at": moment(kept.changed_ms) if kept else None,
        "next_at": moment(next_ms),
        "skipped": kept.skipped if kept else None,
        "last_error": tried.error or None,
    }
