# SPDX-License-Identifier: Apache-2.0
"""What is known of the users' candidates, for the state that it was worked out for.

The effect of a candidate of thousands of changes takes seconds: it is worked out once, beside the requests
that ask for it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Generic, TypeVar

from weir.memory import give_back_soon
from weir.model.problem import Conflict
from weir.service.types import Effect

MAX_OWNERS = 8
Value = TypeVar("Value")
Compute = Callable[[Callable[[], None]], Effect]
"""Works an effect out, and calls what it is given between its steps: that raises when nobody needs it."""


class Newest(Generic[Value]):
    """One value per user, for the newest key that was asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[str, tuple[Hashable, Value]] = {}

    def get(
        self,
        owner: str,
        key: Hashable,
        make: Callable[[], Value],
        usable: Callable[[Value], bool] | None = None,
    ) -> Value:
        """The value for `key`; made when there is none yet, or when it is not `usable`."""
        with self._lock:
            known = self._of.get(owner)
            if known is not None and known[0] == key and (usable is None or usable(known[1])):
                return known[1]
            value = make()
            self._of.pop(owner, None)
            self._of[owner] = (key, value)
            while len(self._of) > MAX_OWNERS:
                del self._of[next(iter(self._of))]
            return value

    def has(self, owner: str, value: Value) -> bool:
        """Whether it is still the newest."""
        with self._lock:
            known = self._of.get(owner)
            return known is not None and known[1] is value

    def known(self, owner: str, key: Hashable) -> Value | None:
        """The value for `key`, if it is the newest."""
        with self._lock:
            known = self._of.get(owner)
            return known[1] if known is not None and known[0] == key else None

    def put(self, owner: str, key: Hashable, value: Value) -> None:
        """What was worked out elsewhere."""
        self.get(owner, key, lambda: value)


class PutOff(Conflict):
    """Nobody works it out while the candidate is being committed."""


class Effects:
    """Effects of candidates; one is worked out at a time. Thread-safe."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._newest = Newest[Future[Effect]]()
        self._put_off = Counter[str]()
        """Owners whose candidates are being committed."""
        self._counting = threading.Lock()

    def of(self, owner: str, key: Hashable, compute: Compute) -> Future[Effect]:
        """The effect of the candidate whose state `key` names; `compute` is called when it is not known yet.

        The future fails with `Conflict` when the candidate was changed before its turn came. While it is put
        off it has no end: ask again.
        """
        known = self._newest.known(owner, key)
        if self._put_off[owner] and (known is None or not known.done() or known.exception() is not None):
            return Future()

        def begin() -> Future[Effect]:
            future: Future[Effect] = Future()
            threading.Thread(target=self._work_out, args=(owner, future, compute), daemon=True).start()
            return future

        return self._newest.get(owner, key, begin, usable=_has_not_failed)

    @contextmanager
    def put_off(self, owner: str) -> Iterator[None]:
        """In the block the effect of the owner's candidate is not begun, and not gone on with: the candidate
        is being committed, which works out the same, and both would take twice as long."""
        self._count(owner, 1)
        try:
            yield
        finally:
            self._count(owner, -1)

    def _count(self, owner: str, more: int) -> None:
        with self._counting:
            self._put_off[owner] += more

    def _require_wanted(self, owner: str) -> None:
        if self._put_off[owner]:
            raise PutOff("the candidate is being committed", code="outdated")

    def _work_out(self, owner: str, future: Future[Effect], compute: Compute) -> None:
        with self._turn:
            if not self._newest.has(owner, future):
                future.set_exception(Conflict("the candidate was changed meanwhile", code="outdated"))
                return
            wanted = partial(self._require_wanted, owner)
            try:
                wanted()
                future.set_result(compute(wanted))
            except BaseException as error:  # noqa: BLE001  # it is raised where somebody asks for the result
                future.set_exception(error)
            finally:
                give_back_soon()


def _has_not_failed(future: Future[Effect]) -> bool:
    return not future.done() or future.exception() is None
