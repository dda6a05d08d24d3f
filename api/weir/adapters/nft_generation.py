# SPDX-License-Identifier: Apache-2.0
"""Whether somebody else changed nftables, by the number that the kernel counts with each change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from weir.adapters.nft_elements import generation

_lock = threading.RLock()
"""Held during a transaction of ours."""


class Custody:
    """The generation at which nftables was as somebody knows it, if nobody but us changed it since."""

    def __init__(self) -> None:
        self._at: int | None = None
        _all.append(self)

    def trust(self, generation_read: int) -> None:
        """What was read at this generation is known from now on."""
        self._at = generation_read

    def is_as_we_left_it(self, now: int) -> bool:
        """Whether all transactions since `trust` were ours."""
        return self._at == now

    def was_broken(self) -> bool | None:
        """Whether somebody else had a transaction since this was asked last; None while we have one."""
        if not _lock.acquire(blocking=False):
            return None
        try:
            now = generation()
            broken, self._at = self._at != now, now
            return broken
        finally:
            _lock.release()

    def took(self, before: int, after: int) -> None:
        """We had a transaction between these two."""
        self._at = after if self._at == before and after in (before, before + 1) else None


_all: list[Custody] = []
OF_SETS = Custody()
"""For what was read of sets."""
OF_EVENTS = Custody()
"""For who hears of changes, and need not look at ours."""


@contextmanager
def transaction() -> Iterator[None]:
    """Around one transaction of ours: whether somebody else had one since is seen by the count."""
    with _lock:
        before = generation()
        yield
        after = generation()
        for custody in _all:
            custody.took(before, after)
