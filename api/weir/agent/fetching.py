# SPDX-License-Identifier: Apache-2.0
"""Fills sets from lists in the web and from names in the DNS, again and again, and when somebody asks
(docs/adr/0254, docs/adr/0255).

Processes without rights ask, and hand over prefixes only. The last good content is on the disk, and stays
whatever becomes of later tries. Routes of the main table say by which interface it comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from weir.adapters.kept_lists import Kept, KeptLists
from weir.agent.configuration import Configuration
from weir.agent.fetched import FetchedSets
from weir.agent.list_source import ListSource
from weir.agent.name_source import NameSource
from weir.agent.set_source import SetSource, Tried
from weir.backends.fetched import FetchedBackend, Specs
from weir.diagnosis.sample import SetLook
from weir.kinds.dns import Dns
from weir.loop import Loop
from weir.model.prefix_groups import Groups, count_of
from weir.model.problem import Conflict, Invalid
from weir.parts.fetched import BY_NAME, FetchedSpec
from weir.wire.server import Handler, Peer

log = logging.getLogger(__name__)

LOOK_S = 60.0
"""Also how long a step of the clock may go unseen."""
PAUSE_S = 0.01
"""Between two slices: a lock is not fair, and who waits with a commit must get it."""
OWN_RESOLVER = "127.0.0.1"
"""Where the router's name service answers, if it is on."""


class Fetching:
    """Thread-safe. `sets` is what they hold, for the stages of sets and rules; what was kept is in it from
    the start. Lists, of which one may take a minute, and names each have a thread of their own."""

    def __init__(self, backend: FetchedBackend, lists: KeptLists, ca_bundle: str) -> None:
        self.sets = FetchedSets()
        self._lists = lists
        self._ca_bundle = ca_bundle
        self._configuration: Configuration | None = None
        self._lock = threading.Lock()
        self._specs: Specs = {}
        self._sources: dict[str, SetSource] = {}
        for name, kept in lists.every():
            self.sets.begin(name, kept.origin, kept.groups)
            self._sources[name] = self._source(kept.origin, kept)
        self._loops = (
            Loop("fetching", lambda: self._look(by_name=False), again_s=LOOK_S),
            Loop("resolving", lambda: self._look(by_name=True), again_s=LOOK_S),
        )
        backend.changed = self._follow
        backend.told = self._told

    def table(self) -> Mapping[str, Handler]:
        return {"set_refresh": self._refresh}

    def begin(self, configuration: Configuration) -> None:
        self._configuration = configuration
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """A try that is under way ends by itself, with the agent."""
        for loop in self._loops:
            loop.end()

    def looks(self) -> Mapping[str, SetLook]:
        """What the diagnosis has to know of each."""
        now_s = time.monotonic()
        return {spec.id: source.look(now_s) for spec, source in self._wanted()}

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of those that are fetched, as the kind `set` declares it."""
        return {
            spec.id: source.state(spec) for spec, source in self._wanted() if ids is None or spec.id in ids
        }

    # -- what is wanted ----------------------------------------------------------------------------------

    def _source(self, origin: str, kept: Kept | None = None) -> SetSource:
        if origin == BY_NAME:
            return NameSource(self._servers, kept)
        return ListSource(origin, self._ca_bundle, kept)

    def _servers(self) -> Sequence[str]:
        """Whom to ask for names: the router's own name service if it is on, which knows what is inside."""
        assert self._configuration is not None
        with self._configuration.lock:
            is_on = self._configuration.document.single(Dns).enabled
        return (OWN_RESOLVER,) if is_on else ()

    def _follow(self, specs: Specs) -> None:
        with self._lock:
            self._specs = dict(specs)
            for name, spec in specs.items():
                source = self._sources.get(name)
                if source is None or source.origin != spec.origin:
                    source = self._sources[name] = self._source(spec.origin)
                source.follow(spec)
        for loop in self._loops:
            loop.wake()

    def _wanted(self) -> list[tuple[FetchedSpec, SetSource]]:
        with self._lock:
            return [(spec, self._sources[name]) for name, spec in sorted(self._specs.items())]

    def _told(self, spec: FetchedSpec) -> tuple[str, bool]:
        source = next((found for own, found in self._wanted() if own == spec), None)
        return source.told(spec) if source is not None else ("nothing was fetched yet", False)

    # -- filling -----------------------------------------------------------------------------------------

    def _look(self, *, by_name: bool) -> float:
        self._forget()
        next_s = LOOK_S
        for spec, source in self._wanted():
            if (spec.origin == BY_NAME) != by_name:
                continue
            if self._loops[by_name].ending:
                break
            if source.due_in_s(spec) <= 0 and source.busy.acquire(blocking=False):
                try:
                    self._try(spec, source)
                finally:
                    source.busy.release()
            next_s = min(next_s, max(source.due_in_s(spec), 0.1))
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
                for name in self._sources.keys() - known.keys():
                    del self._sources[name]
                    self.sets.forget(name)
        for name in gone:
            self._lists.forget(name)

    def _try(self, spec: FetchedSpec, source: SetSource, *, is_asked: bool = False) -> Tried:
        done = source.attempt(spec, is_asked=is_asked)
        if not self._is_wanted(spec, source):
            return done  # it is configured in another way since
        if done.keeps is not None:
            self._keep(spec, source, done.keeps)
        if done.groups is not None and not self.sets.holds(spec, done.groups):
            self._bring(spec, source, done.groups)
        return done

    def _is_wanted(self, spec: FetchedSpec, source: SetSource) -> bool:
        with self._lock:
            return spec.id in self._specs and self._sources.get(spec.id) is source

    def _keep(self, spec: FetchedSpec, source: SetSource, kept: Kept) -> None:
        try:
            self._lists.keep(spec.id, kept)
            source.wrote(kept)
        except OSError as error:
            why = error.strerror or str(error)
            source.error = f"it is in force, and could not be kept for the next start: {why}"
            log.warning("set %s: %s", spec.id, source.error)

    def _bring(self, spec: FetchedSpec, source: SetSource, groups: Groups) -> None:
        """To the kernel, in slices between which others get the configuration's lock."""
        assert self._configuration is not None
        steps = self.sets.steps(spec, groups)

        def step() -> Sequence[str]:
            return next(steps, ()) if self._is_wanted(spec, source) else ()

        while self._configuration.follow_fetched(step):
            time.sleep(PAUSE_S)
        log.info("set %s has %d entries now", spec.id, count_of(groups))

    def _refresh(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Fetch one now. Raises `Conflict` (`set-off`, `refresh-busy`)."""
        name = params.get("id")
        if not isinstance(name, str):
            raise Invalid("an id is needed", code="bad-request")
        found = next(((spec, source) for spec, source in self._wanted() if spec.id == name), None)
        if found is None:
            text = f"set {name} is not fetched from anywhere, or is disabled, or not in force yet"
            raise Conflict(text, code="set-off")
        spec, source = found
        begun_s = time.monotonic()
        with _alone(source, name):
            done = self._try(spec, source, is_asked=True)
        took_ms = round((time.monotonic() - begun_s) * 1000)
        answer = {"fetched": done.is_good, "answer": done.answer, "entries": source.count()}
        return {**answer, "took_ms": took_ms}


@contextmanager
def _alone(source: SetSource, name: str) -> Iterator[None]:
    if not source.busy.acquire(blocking=False):
        raise Conflict(f"set {name} is being fetched: try again in a moment", code="refresh-busy")
    try:
        yield
    finally:
        source.busy.release()
