# SPDX-License-Identifier: Apache-2.0
"""The thread that keeps copies of what OSPF put into the kernel, which stand while ospfd is started again.

zebra removes the routes of an ospfd that dies. The copies follow them while ospfd and bfdd are well, and stay
without them from the moment that one of the two ends until `GRACE_S` after another one was started: so long
neighbours wait for us.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from weir.adapters import standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.ospf_grace import GRACE_S
from weir.adapters.route_messages import KernelRoute, Place
from weir.adapters.standing_routes import FRR_OSPF_PROTO, OSPF_METRIC
from weir.loop import Loop

log = logging.getLogger(__name__)

PERIOD_S = 0.25
"""A copy goes this much later than its route at least: a daemon that died may seem to run for a moment."""
IDLE_S = 2.0
"""Where no OSPF is configured."""

Identity = tuple[object, ...]


class KeptRoutes:
    """Start it after the configuration; `stop` waits for it, and leaves the copies."""

    def __init__(
        self,
        daemons: Callable[[], Identity | None],
        now_s: Callable[[], float] = time.monotonic,
        kernel: FollowedRoutes | None = None,
    ) -> None:
        """`daemons`: a part for ospfd, and one for bfdd where it is used, which differs when that is another
        than before and is None when it has ended; none without OSPF. None: that is not known."""
        self._daemons = daemons
        self._now_s = now_s
        self._kernel = kernel or FollowedRoutes(FRR_OSPF_PROTO, OSPF_METRIC)
        self._identity: Identity = ()
        self._settled_s = now_s()
        self._alone: frozenset[Place] = frozenset()
        """Copies that were without their route at the last look, while all was well."""
        self._is_clear = False
        """Whether the copies were removed since OSPF was configured last."""
        self._loop = Loop("kept-routes", self.look, again_s=IDLE_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()
        self._kernel.close()

    def look(self) -> float:
        """Make copies and remove them; the seconds until the next look. Raises `Unavailable`."""
        identity, kernel = self._daemons(), self._kernel
        if identity is None:
            return PERIOD_S
        if not identity:
            self._clear()
            return IDLE_S
        self._is_clear = False
        if not kernel.follow():
            kernel.look()
        is_settled = self._is_settled(identity)
        alone = frozenset(kernel.copies.keys() - kernel.installed.keys()) if is_settled else frozenset()
        self._change(
            [kernel.installed[place] for place in kernel.odd if place in kernel.installed],
            [kernel.copies[place] for place in alone & self._alone],
        )
        self._alone = alone
        return PERIOD_S

    def _clear(self) -> None:
        """Once: other routes may be many, and are not read again for nothing."""
        if not self._is_clear:
            self._kernel.look()
            self._change([], list(self._kernel.copies.values()))
            self._kernel.close()
            self._identity = ()
            self._is_clear = True

    def _is_settled(self, identity: Identity) -> bool:
        if identity != self._identity:
            # Those that run when the agent starts are well, and what nobody has learnt yet is not awaited.
            is_another = self._identity and self._kernel.copies
            self._identity, self._settled_s = identity, self._now_s() + (GRACE_S if is_another else 0.0)
        return None not in identity and self._now_s() >= self._settled_s

    def _change(self, put: list[KernelRoute], remove: list[KernelRoute]) -> None:
        if put or remove:
            standing_routes.change(put, remove, OSPF_METRIC)
