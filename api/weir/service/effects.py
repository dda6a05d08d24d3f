# SPDX-License-Identifier: Apache-2.0
"""What is known of the users' candidates, for the state that it was worked out for.

The effect of a candidate of thousands of changes takes seconds: it is worked out once, beside the requests
that ask for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from weir.memory import give_back_soon
from weir.model.problem import Conflict
from weir.service.types import Effect

MAX_OWNERS = 8
Value = TypeVar("Value")


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


class Effects:
    """Effects of candidates; one is worked out at a time. Thread-safe."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._newest = Newest[Future[Effect]]()

    def of(self, owner: str, key: Hashable, compute: Callable[[], Effect]) -> Future[Effect]:
        """The effect of the candidate whose state `key` names; `compute` is called when it is not known yet.

        The future fails with `Conflict` when the candidate was changed before its turn came.
        """

        def begin() -> Future[Effect]:
            future: Future[Effect] = Future()
            threading.Thread(target=self._work_out, args=(owner, future, compute), daemon=True).start()
            return future

        return self._newest.get(owner, key, begin, usable=_has_not_failed)

    def _work_out(self, owner: str, future: Future[Effect], compute: Callable[[], Effect]) -> None:
        with self._turn:
            if not self._newest.has(owner, future):
                future.set_exception(Conflict("the candidate was changed meanwhile", code="outdated"))
                return
            try:
                future.set_result(compute())
            except BaseException as error:  # noqa: BLE001  # it is raised where somebody asks for the result
                future.set_exception(error)
            finally:
                give_back_soon()


def _has_not_failed(future: Future[Effect]) -> bool:
    return not future.done() or future.exception() is None
