# SPDX-License-Identifier: Apache-2.0
"""The thread that takes databases into use again when they can be written again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from weir.model.problem import Problem

log = logging.getLogger(__name__)

EVERY_S = 2.0


class Watch:
    """Calls `look` now and then until it is stopped."""

    def __init__(self, look: Callable[[], None], every_s: float = EVERY_S) -> None:
        self._look = look
        self._every_s = every_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._every_s):
            try:
                self._look()
            except Problem as problem:
                log.warning("the databases were not looked at: %s", problem.message)
            except Exception:
                log.exception("looking at the databases failed; it goes on")
