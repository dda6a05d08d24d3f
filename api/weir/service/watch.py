# SPDX-License-Identifier: Apache-2.0
"""The thread that takes databases into use again when they can be written again."""

from __future__ import annotations

import logging
from collections.abc import Callable

from weir.loop import Loop

log = logging.getLogger(__name__)

EVERY_S = 2.0


class Watch:
    """Calls `look` now and then until it is stopped."""

    def __init__(self, look: Callable[[], None], every_s: float = EVERY_S) -> None:
        self._look = look
        self._every_s = every_s
        self._loop = Loop("store-watch", self._turn, first_s=every_s, again_s=every_s)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    def _turn(self) -> float:
        self._look()
        return self._every_s
