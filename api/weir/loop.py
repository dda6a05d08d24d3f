# SPDX-License-Identifier: Apache-2.0
"""A thread that does the same again and again. What it runs into ends one turn, never the thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from weir.model.problem import Problem

log = logging.getLogger(__name__)

Turn = Callable[[], float | None]
"""Called by the loop's thread; returns the seconds until its next turn, or None when there is none."""


class Loop:
    """Started once. Every method may be called from any thread."""

    def __init__(self, name: str, turn: Turn, *, again_s: float, first_s: float = 0.0) -> None:
        """The first turn comes after `first_s`, and `again_s` after one that failed.

        A `Problem` is logged once as long as it stays the same; any other exception each time, with where
        it came from.
        """
        self._turn = turn
        self._again_s = again_s
        self._first_s = first_s
        self._asked = threading.Event()
        self._ending = threading.Event()
        self._told = ""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def ending(self) -> bool:
        """No further turn will begin; a long one asks for it, to end early."""
        return self._ending.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """The next turn comes at once, or right after the one that is under way."""
        self._asked.set()

    def end(self) -> None:
        """No further turn begins. Does not wait for the one that is under way."""
        self._ending.set()
        self._asked.set()

    def stop(self) -> None:
        """End, and wait for the turn that is under way."""
        self.end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        pause_s: float | None = self._first_s
        while pause_s is not None:
            self._asked.wait(pause_s)
            self._asked.clear()
            if self.ending:
                return
            pause_s = self._take_turn()

    def _take_turn(self) -> float | None:
        try:
            pause_s = self._turn()
        except Problem as problem:
            if problem.message != self._told:
                self._told = problem.message
                log.warning("%s: %s; trying again in %g s", self._thread.name, self._told, self._again_s)
            return self._again_s
        except Exception:
            log.exception("%s failed; it goes on in %g s", self._thread.name, self._again_s)
            return self._again_s
        self._told = ""
        return pause_s
