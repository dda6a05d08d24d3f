# SPDX-License-Identifier: Apache-2.0
"""A queue's limit raised for a while: it goes back by itself, also after a restart (docs/adr/0138)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.loop import Loop
from weir.model.document import Change
from weir.model.objects import Queue
from weir.model.pair import Pair
from weir.model.problem import Invalid, NotFound, Problem
from weir.model.units import format_duration_ms, format_rate_exact
from weir.service.commit import Committer
from weir.service.request import Request
from weir.store import ConfigStore, ReadTransaction, WriteTransaction, raises
from weir.store.clock import Deadline, boot_id, boottime_ms, wall_ms
from weir.store.raises import Raise

log = logging.getLogger(__name__)

MIN_S, MAX_S = 10, 7 * 86_400
RETRY_S = 5.0
"""A raise that is over and cannot be taken back now is tried again so soon."""
IDLE_S = 60.0
TIMER: Final = Principal(0, "raise timer", "write", "local", "raise-timer", "local", 0)
"""The author of a revision that takes a raise back when its time is over."""


@dataclass(frozen=True, slots=True)
class RaiseView:
    """A raise, how long it still lasts, and why it was not taken back though it is over."""

    raised: Raise
    seconds_left: float
    held_up: str | None


class RaiseService:
    """Thread-safe. Between `start` and `stop` it ends raises whose time is over."""

    def __init__(self, store: ConfigStore, committer: Committer, audit: AuditService) -> None:
        self._store = store
        self._committer = committer
        self._audit = audit
        self._held_up: dict[str, str] = {}
        self._loop = Loop("raise-timer", self._take_back_due, again_s=RETRY_S)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()

    @requires("config.read")
    def every(self, _by: Principal) -> list[RaiseView]:
        """All that there are, by queue."""
        with self._store.reading() as transaction:
            found = raises.every(transaction.connection)
        return [RaiseView(item, _left_s(item), self._held_up.get(item.queue_id)) for item in found]

    @requires("plans.write")
    def begin(self, by: Principal, queue_id: str, limits: Pair[int], for_s: int) -> RaiseView:
        """Raise a queue's limit at once, as a revision. One that is raised already gets the new limit and
        time and goes back to what it had at first.

        Raises `NotFound`, `Invalid` (`not-raised`, or as a commit), and otherwise as a commit does.
        """
        if not MIN_S <= for_s <= MAX_S:
            raise Invalid(f"for_s must be {MIN_S} to {MAX_S}", path="for_s")
        made: list[Raise] = []

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            queue = _queue(transaction, queue_id)
            _require_higher(_before(transaction, queue), limits)
            return _changes(queue, limits)

        def note(transaction: WriteTransaction) -> None:
            before = _before(transaction, _queue(transaction, queue_id))
            made[:] = [_raise(queue_id, limits, before, by.username, for_s)]
            raises.put(transaction.connection, made[0])

        text = f"limit of {queue_id} raised to {_words(limits)} for {format_duration_ms(for_s * 1000)}"
        self._committer.run(by, Request(produce=produce, message=text, also=note, audited_as="raise"))
        self._loop.wake()
        return RaiseView(made[0], _left_s(made[0]), None)

    @requires("plans.write")
    def end(self, by: Principal, queue_id: str) -> bool:
        """Put the limit back that the queue had before, now. False: somebody has set another one meanwhile,
        which stays. Raises `NotFound` for a queue that is not raised, and as a commit does."""
        went_back = False

        def produce(transaction: ReadTransaction) -> Sequence[Change]:
            nonlocal went_back
            found = raises.one(transaction.connection, queue_id)
            if found is None:
                text = f"the limit of queue {queue_id!r} is not raised"
                raise NotFound(text, code="not-raised", path=f"queue/{queue_id}")
            stored = transaction.stored("queue", queue_id)
            went_back = stored is not None and _limits(stored.object) == found.limits
            if stored is None or not went_back:
                return []
            assert isinstance(stored.object, Queue)
            return _changes(stored.object, found.before)

        text = f"limit of {queue_id} is no longer raised"
        request = Request(
            produce=produce,
            message=text,
            also=lambda transaction: raises.remove(transaction.connection, queue_id),
            audited_as="raise-end",
        )
        self._committer.run(by, request)
        if not went_back:
            detail = "its limit was changed meanwhile and stays"
            self._audit.note(entry_of(by, "config.raise-end", f"queue {queue_id}", detail=detail))
        self._held_up.pop(queue_id, None)
        return went_back

    def _take_back_due(self) -> float:
        """Take back what is over; the seconds until there may be more to do."""
        waits = [IDLE_S]
        for view in self.every(TIMER):
            if view.seconds_left > 0:
                waits.append(view.seconds_left)
            elif not self._loop.ending and not self._took_back(view.raised.queue_id):
                waits.append(RETRY_S)
        return min(waits)

    def _took_back(self, queue_id: str) -> bool:
        try:
            self.end(TIMER, queue_id)
        except NotFound:
            return True  # somebody was quicker
        except Problem as problem:
            if self._held_up.get(queue_id) != problem.message:
                log.warning("the limit of queue %s stays raised for now: %s", queue_id, problem.message)
            self._held_up[queue_id] = problem.message
            return False
        return True


def _queue(transaction: ReadTransaction, queue_id: str) -> Queue:
    stored = transaction.stored("queue", queue_id)
    if stored is None:
        raise NotFound(f"there is no queue {queue_id!r}", path=f"queue/{queue_id}")
    assert isinstance(stored.object, Queue)
    return stored.object


def _limits(item: object) -> Pair[int] | None:
    return item.max_limit_bps if isinstance(item, Queue) else None


def _before(transaction: ReadTransaction, queue: Queue) -> Pair[int]:
    """What the queue goes back to: what it has, unless that is a raise already."""
    found = raises.one(transaction.connection, queue.id)
    return found.before if found is not None and found.limits == queue.max_limit_bps else queue.max_limit_bps


def _changes(queue: Queue, limits: Pair[int]) -> Sequence[Change]:
    new = replace(queue, max_limit_bps=limits)
    return [] if new == queue else [Change("queue", queue.id, queue, new)]


def _require_higher(before: Pair[int], limits: Pair[int]) -> None:
    """Raises `Invalid` unless one direction gets more and none gets less; 0 is unlimited."""
    ways = ((before.upload, limits.upload), (before.download, limits.download))
    lower = any(new != 0 and (old == 0 or new < old) for old, new in ways)
    if lower or before == limits:
        text = f"a raise needs more than the {_words(before)} (up/down) that the queue has"
        raise Invalid(text, code="not-raised", path="max_limit_bps")


def _raise(queue_id: str, limits: Pair[int], before: Pair[int], author: str, for_s: int) -> Raise:
    end = Deadline.after(for_s)
    return Raise(
        queue_id=queue_id,
        upload_bps=limits.upload,
        download_bps=limits.download,
        before_upload_bps=before.upload,
        before_download_bps=before.download,
        author=author,
        begun_at_ms=wall_ms(),
        window_s=for_s,
        deadline_wall_ms=end.wall_ms,
        boot_id=end.boot_id,
        deadline_boottime_ms=end.boottime_ms,
    )


def _left_s(raised: Raise) -> float:
    return raised.deadline.seconds_left(wall_ms(), boot_id(), boottime_ms())


def _words(limits: Pair[int]) -> str:
    return "/".join(
        format_rate_exact(way) if way else "unlimited" for way in (limits.upload, limits.download)
    )
