# SPDX-License-Identifier: Apache-2.0
"""Keeps PPPoE sessions: dials, notices that one is up or has ended, and dials again after a pause.

What is wanted, and what runs, is in the folders of the sessions (`weir.adapters.pppd`). So pppd goes on
without an agent, and the next one goes on where the last one was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir.adapters import modules
from weir.adapters.daemon import Daemon
from weir.adapters.netlink import Link, Links
from weir.adapters.pppd import REFUSED, Said, Sessions, failure, parent_of, read_said
from weir.agent.options import daemon_folder
from weir.agent.secrets import Secrets
from weir.backends.pppoe import PppoeBackend
from weir.loop import Loop
from weir.model.moment import moment
from weir.model.problem import Problem
from weir.store.clock import boottime_ms, wall_ms_of

log = logging.getLogger(__name__)

PERIOD_S, IDLE_S = 1.0, 5.0
FIRST_PAUSE_S, LAST_PAUSE_S = 2.0, 60.0
REFUSED_PAUSE_S, LAST_REFUSED_PAUSE_S = 30.0, 300.0
"""Providers lock accounts, or lines, that try a wrong password too often."""
STABLE_MS = 60_000
"""A session that was up for so long is dialled again at once when it ends."""
DIALLING_S = 120.0
"""A try that has not come to an end by then is given up: pppd waits for a question that never comes."""


@dataclass(slots=True)
class _Line:
    """One session. Times are those of the monotonic clock."""

    daemon: Daemon
    since_s: float
    next_s: float
    pause_s: float = 0.0
    is_cut: bool = False
    """What it is on was not there, or had no link."""
    waits: str = ""
    failures: int = 0
    failure: str = ""


class Dialler:
    """Its turns belong to one thread; the rest is thread-safe."""

    def __init__(
        self,
        sessions: Sessions,
        links: Callable[[], Mapping[str, Link]],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sessions = sessions
        self._links = links
        self._now_s = now_s
        self._lines: dict[str, _Line] = {}
        self._states: Mapping[str, dict[str, Any]] = {}
        self._loop = Loop("dialler", self.turn, again_s=IDLE_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        """Sessions stay, for the agent that comes next."""
        self._loop.stop()

    def wake(self) -> None:
        self._loop.wake()

    def turn(self) -> float:
        names = self.sessions.names()
        if not names:
            self._lines, self._states = {}, {}
            return IDLE_S
        wanted, links = self.sessions.options(), self._links()
        for name in names:
            if name not in self._lines:
                now_s = self._now_s()
                self._lines[name] = _Line(self.sessions.daemon(name), now_s, now_s)
            try:
                self._follow(name, self._lines[name], wanted.get(name, ""), links)
            except (OSError, Problem) as error:
                log.warning("PPPoE on %s: %s", name, error)
        self._states = {name: self._state(name, line) for name, line in self._lines.items() if name in wanted}
        return PERIOD_S

    def _follow(self, name: str, line: _Line, wanted: str, links: Mapping[str, Link]) -> None:
        is_running = line.daemon.identity() is not None
        if self.sessions.begun_with(name) not in (wanted, ""):
            if is_running:
                log.info("PPPoE on %s: hung up", name)
            line.daemon.stop()
            self.sessions.note_ended(name, "begun")
            is_running = False
            line.next_s, line.pause_s, line.failures, line.failure = self._now_s(), 0.0, 0, ""
        if not wanted:
            self.sessions.forget(name)
            del self._lines[name]
        elif is_running:
            self._watch(name, line, wanted, links.get(name))
        else:
            if line.daemon.has_died():
                self._ended(name, line, parent_of(wanted))
            self._dial(name, line, wanted, links)

    def _watch(self, name: str, line: _Line, wanted: str, link: Link | None) -> None:
        if self.sessions.up_since_ms(name) is not None:
            return
        said = read_said(self.sessions.said(name))
        if said.address and link is not None and link.up:
            self.sessions.note_up(name, boottime_ms())
            line.failures = 0
            log.info("PPPoE on %s: up, %s by %s", name, said.address, said.concentrator)
        elif self._now_s() - line.since_s > DIALLING_S:
            line.daemon.stop()
            self._failed(name, line, f"the provider did not come to an end within {DIALLING_S:g} s")
            self.sessions.note_ended(name)

    def _ended(self, name: str, line: _Line, parent: str) -> None:
        since_ms = self.sessions.up_since_ms(name)
        if since_ms is not None and boottime_ms() - since_ms >= STABLE_MS:
            line.pause_s = 0.0
        self._failed(name, line, failure(self.sessions.said(name), parent), was_up=since_ms is not None)
        self.sessions.note_ended(name)

    def _failed(self, name: str, line: _Line, words: str, *, was_up: bool = False) -> None:
        first_s, last_s = FIRST_PAUSE_S, LAST_PAUSE_S
        if words == REFUSED:
            first_s, last_s = REFUSED_PAUSE_S, LAST_REFUSED_PAUSE_S
        line.pause_s = min(max(2 * line.pause_s, first_s), last_s)
        line.failures = 0 if was_up else line.failures + 1
        line.failure, line.next_s = words, self._now_s() + line.pause_s
        log.warning("PPPoE on %s: %s; dialled again in %g s", name, words, line.pause_s)

    def _dial(self, name: str, line: _Line, wanted: str, links: Mapping[str, Link]) -> None:
        parent = parent_of(wanted)
        line.waits = _obstacle(parent, links.get(parent))
        if line.waits:
            line.is_cut = True
            return
        if line.is_cut:
            line.is_cut, line.next_s, line.pause_s = False, self._now_s(), 0.0
        if self._now_s() < line.next_s:
            return
        modules.load_pppoe()
        self.sessions.note_begun(name, wanted)
        line.since_s = self._now_s()
        try:
            line.daemon.start_at_once()
        except Problem as problem:
            self._failed(name, line, problem.message)

    # -- what is known of them ---------------------------------------------------------------------------

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of sessions, by interface."""
        return {name: dict(state) for name, state in self._states.items() if ids is None or name in ids}

    def told(self, name: str) -> tuple[str, bool]:
        """How a session is, in words, and whether it is up."""
        state = self._states.get(name)
        if state is None:
            return "not dialled yet", False
        if state["session"] == "up":
            return f"up with {state['session_address']} by {state['concentrator']}", True
        failed = state["session_failure"]
        return f"{state['session']}: {failed}" if failed else str(state["session"]), False

    def _state(self, name: str, line: _Line) -> dict[str, Any]:
        since_ms = self.sessions.up_since_ms(name)
        is_running = line.daemon.identity() is not None
        is_up = is_running and since_ms is not None
        said = read_said(self.sessions.said(name)) if is_up else Said()
        next_ms = boottime_ms() + round((line.next_s - self._now_s()) * 1000)
        is_paused = not is_running and not line.waits
        return {
            "session": "up" if is_up else "dialling" if is_running else "waiting",
            "session_since": moment(wall_ms_of(since_ms)) if is_up and since_ms is not None else None,
            "session_address": said.address or None,
            "session_gateway": said.gateway or None,
            "session_dns": ", ".join(said.dns) or None,
            "session_ipv6_peer": said.ipv6_peer or None,
            "concentrator": said.concentrator or None,
            "session_number": said.number,
            "session_failures": line.failures,
            "session_failure": line.waits or line.failure or None,
            "session_next_try": moment(wall_ms_of(next_ms)) if is_paused else None,
        }


def _obstacle(parent: str, link: Link | None) -> str:
    """Why dialling by an interface would be of no use."""
    if link is None:
        return f"{parent} is not there"
    if not link.up:
        return f"{parent} is down"
    return "" if link.carrier else f"{parent} has no link"


def opened(state_dir: Path, links: Links, stack: ExitStack, is_unit: bool) -> Dialler:
    """A dialler that dials, until `stack` ends."""
    found = Dialler(Sessions(daemon_folder(state_dir) / "pppoe", is_unit=is_unit), links.links)
    found.start()
    stack.callback(found.stop)
    return found


def backend(dialler: Dialler, secrets: Secrets) -> PppoeBackend:
    """What brings sessions to the dialler. Passwords are opened when they are compared and written."""
    return PppoeBackend(
        dialler.sessions, lambda place, text: secrets.key.open(place, text), dialler.wake, dialler.told
    )
