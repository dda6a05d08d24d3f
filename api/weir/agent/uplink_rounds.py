# SPDX-License-Identifier: Apache-2.0
"""Asks the checks of all uplinks, in one thread, and judges uplinks by what is heard.

A check has failed after `fail_after` questions in a row without an answer, and is well again after
`recover_after` answers. Between a first failure and the verdict it is asked without a pause. An uplink is
down when all its checks have failed.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from weir.agent.uplinks import DOWN, UNKNOWN, UP
from weir.parts.uplinks import CheckSpec, UplinkSpec
from weir.probes.checks import KINDS, Asked, Question, Waiting
from weir.store.clock import boottime_ms

KEPT = 20
"""Answers by which loss is counted."""
ROUND_TRIPS = frozenset(("ping", "tcp"))
"""Checks whose answer takes one round trip. HTTP and DNS wait for what a server does, too."""
RECENT = 5
"""Answers by which a round trip is told, so that a single late one is not."""
NO_GATEWAY = "there is no gateway"


@dataclass(slots=True)
class Round:
    """One check of one uplink. `verdict` None: not known."""

    uplink: UplinkSpec
    check: CheckSpec
    verdict: bool | None = None
    in_row: int = 0
    """Answers in a row, or, below 0, failures."""
    heard: deque[bool] = field(default_factory=lambda: deque(maxlen=KEPT))
    said: str | None = None
    round_trip_us: int | None = None
    trips_us: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Of the last answers."""
    answered_ms: int | None = None
    """Since boot."""
    due_s: float = 0.0
    begun_s: float = 0.0
    question: Question | None = None
    waiting: Waiting | None = None

    def note(self, said: str, took_us: int | None) -> None:
        """An answer after so many microseconds; None: there was none, and `said` is why."""
        is_good = took_us is not None
        self.trips_us.extend(() if took_us is None else (took_us,))
        self.heard.append(is_good)
        self.said, self.round_trip_us = said, took_us
        if is_good:
            self.answered_ms = boottime_ms()
            self.in_row = max(self.in_row, 0) + 1
        else:
            self.in_row = min(self.in_row, 0) - 1
        if self.in_row >= self.uplink.recover_after or (self.verdict is None and self.in_row > 0):
            self.verdict = True
        elif -self.in_row >= self.uplink.fail_after:
            self.verdict = False

    @property
    def loss_percent(self) -> int | None:
        return None if not self.heard else round(100 * self.heard.count(False) / len(self.heard))

    @property
    def text(self) -> str:
        """The last answer, for people."""
        if self.said is None:
            return "not asked yet"
        took = f" in {self.round_trip_us / 1000:.1f} ms" if self.round_trip_us is not None else ""
        return f"{self.said}{took}"


def judged(rounds: list[Round], before: str) -> str:
    """What an uplink is by its checks."""
    verdicts = [one.verdict for one in rounds]
    if not verdicts:
        return UNKNOWN
    if any(verdicts):
        return UP
    return DOWN if all(verdict is False for verdict in verdicts) else before


class Rounds:
    """All checks. Used by one thread, but for `every`, which any may call."""

    def __init__(
        self,
        gateway_known: Callable[[UplinkSpec], bool],
        now_s: Callable[[], float] = time.monotonic,
        checks_strictly: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`checks_strictly`: whether the kernel drops what comes by an interface that is not the way back."""
        self._gateway_known = gateway_known
        self._checks_strictly = checks_strictly
        self._now_s = now_s
        self._rounds: dict[tuple[str, str], Round] = {}

    def every(self) -> list[Round]:
        return list(self._rounds.values())

    def follow(self, specs: Mapping[str, UplinkSpec], down: Callable[[str], bool]) -> None:
        """Have the checks that are asked for. One of an uplink that is `down` begins as failed."""
        wanted = {(spec.id, check.id): (spec, check) for spec in specs.values() for check in spec.checks}
        rounds = {}
        for key, (spec, check) in wanted.items():
            old = self._rounds.get(key)
            if old is not None and old.check == check and old.uplink.interface == spec.interface:
                old.uplink = spec
                rounds[key] = old
            else:
                rounds[key] = Round(spec, check, False if down(spec.id) else None)
        for key, old in self._rounds.items():
            if rounds.get(key) is not old:
                _end(old)
        self._rounds = rounds

    def step(self, most_s: float) -> None:
        """Ask what is due, and wait for answers until something else is due or `most_s` are over."""
        now_s = self._now_s()
        for one in self._rounds.values():
            if one.question is None and one.due_s <= now_s:
                self._begin(one, now_s)
        asked = {one.waiting.handle.fileno(): one for one in self._rounds.values() if one.waiting is not None}
        poll = select.poll()
        for one in asked.values():
            assert one.waiting is not None
            poll.register(one.waiting.handle, one.waiting.events)
        until_s = min(map(_next_s, self._rounds.values()), default=now_s + most_s)
        for number, _ in poll.poll(max(min(until_s - now_s, most_s), 0.0) * 1000 + 1):
            self._go_on(asked[number])
        now_s = self._now_s()
        for one in self._rounds.values():
            if one.question is not None and _late_s(one) <= now_s:
                _missed(one, f"no answer in {one.check.timeout_ms} ms{self._doubt(one.uplink.interface)}")

    def _begin(self, one: Round, now_s: float) -> None:
        one.begun_s, one.due_s = now_s, now_s + one.check.interval_s
        if not self._gateway_known(one.uplink):
            _missed(one, NO_GATEWAY)
            return
        check = one.check
        one.question = KINDS[check.type](Asked(one.uplink.interface, check.target, check.port, check.host))
        self._go_on(one)

    def _go_on(self, one: Round) -> None:
        assert one.question is not None
        try:
            one.waiting = next(one.question)
        except StopIteration as end:
            _end(one)
            one.note(str(end.value), round((self._now_s() - one.begun_s) * 1_000_000))
        except OSError as error:
            _missed(one, error.strerror or str(error))

    def _doubt(self, device: str) -> str:
        """The router itself may drop the answers."""
        if not self._checks_strictly(device):
            return ""
        return f" (rp_filter of {device} drops answers while another uplink is in use)"

    def close(self) -> None:
        for one in self._rounds.values():
            _end(one)


def _late_s(one: Round) -> float:
    return one.begun_s + one.check.timeout_ms / 1000


def _next_s(one: Round) -> float:
    return one.due_s if one.question is None else _late_s(one)


def _missed(one: Round, why: str) -> None:
    """Nothing good was heard: the next question follows when the time for this one is over."""
    _end(one)
    one.note(why, None)
    if one.verdict is not False:
        one.due_s = min(one.due_s, _late_s(one))


def _end(one: Round) -> None:
    if one.question is not None:
        one.question.close()
    one.question = one.waiting = None


def best(rounds: list[Round]) -> Iterator[tuple[str, Any]]:
    """What is told of an uplink: the shortest round trip and the least loss of its checks. A check that was
    not answered last tells no round trip."""
    trips = [
        round(median(one.trips_us))
        for one in rounds
        if one.check.type in ROUND_TRIPS and one.round_trip_us is not None
    ]
    losses = [loss for one in rounds if (loss := one.loss_percent) is not None]
    yield "round_trip_us", min(trips, default=None)
    yield "loss_percent", min(losses, default=None)
