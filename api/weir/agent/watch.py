# SPDX-License-Identifier: Apache-2.0
"""A thread that attaches programs to the kernel for windows of time, and keeps what the last one saw.

Nothing is pinned: what is attached is gone with this process.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from typing import ClassVar, Generic, Protocol, TypeVar

from weir.model.problem import Unavailable

log = logging.getLogger(__name__)


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
