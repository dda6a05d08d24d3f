# SPDX-License-Identifier: Apache-2.0
"""A thread that attaches programs to the kernel for windows of time, and keeps what the last one saw.

Nothing is pinned: what is attached is gone with this process.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from typing import ClassVar, Generic, Protocol, TypeVar

from weir.model.problem import Unavailable

log = logging.getLogger(__name__)

WINDOW_SHARE = 0.2
"""Of the time between two looks of the sampler."""
GAP_LOOKS, SOON_LOOKS = 3, 0.8
"""Times between looks that lie between two windows."""
RETRY_GAPS = 40
"""So many windows later it is tried again where the kernel refused."""


class Closable(Protocol):
    def close(self) -> None: ...


S = TypeVar("S", bound=Closable)
F = TypeVar("F")


class Watch(ABC, Generic[S, F]):
    """Thread-safe. `S` is what is opened, `F` what a window finds."""

    name: ClassVar[str]

    def __init__(self, period_s: float, retry_s: float, opens: Callable[[], S]) -> None:
        """`period_s`: between looks of the sampler. `retry_s` later it is tried again where the kernel
        refused. `opens` may raise `OSError`."""
        self._period_s = period_s
        self._retry_s = retry_s
        self._opens = opens
        self._found: F | None = None
        self._refused = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    @abstractmethod
    def _watch(self, opened: S) -> None:
        """One window after the other, until `_stopped`; what each finds is left in `_found`."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is attached any more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def found(self) -> F | None:
        """Of the last window; None: there was none yet. Raises `Unavailable` with the kernel's reason."""
        if self._refused:
            raise Unavailable(self._refused)
        return self._found

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with closing(self._opens()) as opened:
                    self._refused = ""
                    self._watch(opened)
            except OSError as error:
                self._refuse(error.strerror or str(error))
            except Exception:
                log.exception("%s: watching failed; it is tried again", self.name)
                self._refuse("it failed, and is tried again")

    def _refuse(self, why: str) -> None:
        """And wait until it is tried again."""
        self._refused = why
        log.info("%s are not watched: %s", self.name, why)
        self._stopped.wait(self._retry_s)


class Opened(Closable, Protocol):
    def watch(self, on: bool) -> None: ...


W = TypeVar("W", bound=Opened)


class WindowWatch(Watch[W, F]):
    """A sixteenth of the time is watched, and a fifth after a window that showed something."""

    def __init__(self, period_s: float, opens: Callable[[], W]) -> None:
        super().__init__(period_s, RETRY_GAPS * GAP_LOOKS * period_s, opens)

    def _begin(self) -> None:
        """A window begins."""

    @abstractmethod
    def _read(self, opened: W, seconds: float) -> F:
        """What was counted in a window of so long."""

    @abstractmethod
    def _shows(self, found: F) -> bool:
        """Whether the next window is to come sooner."""

    def _watch(self, opened: W) -> None:
        gap_looks: float = GAP_LOOKS
        while not self._stopped.wait(gap_looks * self._period_s):
            begun_s = time.monotonic()
            self._begin()
            opened.watch(True)
            self._stopped.wait(WINDOW_SHARE * self._period_s)
            opened.watch(False)
            found = self._read(opened, time.monotonic() - begun_s)
            self._found = found
            gap_looks = SOON_LOOKS if self._shows(found) else GAP_LOOKS
