# SPDX-License-Identifier: Apache-2.0
"""mtr: every router on the way, with its losses and round trips."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from weir.probes.echo import EchoSocket, Heard, begun, lost_percent, not_sent, spread
from weir.probes.output import Output
from weir.tools.echo import ANSWER_S, Mtr

ROUND_S = 1.0
SIZE_BYTES = 32


@dataclass(slots=True)
class _Hop:
    sent: int = 0
    senders: list[str] = field(default_factory=list)
    why: str = ""
    times_us: list[int] = field(default_factory=list)


def run(asked: Mtr, output: Output, confine: Callable[[], None]) -> None:
    _Run(asked, output, *begun(asked, output, confine)).run()


class _Run:
    def __init__(self, asked: Mtr, output: Output, echo: EchoSocket, address: str) -> None:
        self._asked = asked
        self._output = output
        self._echo = echo
        self._address = address
        self._hops = [_Hop() for _ in range(asked.hops)]
        self._last = asked.hops
        """The hop at which the target answered, or somebody refused."""
        self._open: dict[int, tuple[int, int]] = {}
        """Hop and time of the requests that nobody answered yet, by their number."""
        self._number = 0

    def run(self) -> None:
        for round_ in range(1, self._asked.rounds + 1):
            begun_s, count = time.monotonic(), self._last
            for at in range(count):
                if at >= self._last:
                    break
                self._ask(at)
                self._hear_until(begun_s + ROUND_S * (at + 1) / (count + 1))
            is_last = round_ == self._asked.rounds
            self._hear_until(time.monotonic() + ANSWER_S if is_last else begun_s + ROUND_S, is_last)
            self._tell()

    def _ask(self, at: int) -> None:
        self._number = self._number % 0xFFFF + 1
        self._echo.limit(at + 1)
        try:
            self._open[self._number] = at, self._echo.ask(self._address, self._number, SIZE_BYTES)
            self._hops[at].sent += 1
        except OSError as error:
            self._hops[at].why = not_sent(error)

    def _hear_until(self, until_s: float, is_last: bool = False) -> None:
        while self._output.wait(self._echo.socket.fileno(), until_s):
            heard = self._echo.hear()
            if heard is not None and heard.number in self._open:
                self._note(heard, *self._open.pop(heard.number))
            if is_last and all(at >= self._last for at, _ in self._open.values()):
                return

    def _note(self, heard: Heard, at: int, sent_ns: int) -> None:
        hop = self._hops[at]
        hop.times_us.append((heard.at_ns - sent_ns) // 1000)
        if heard.sender not in hop.senders:
            hop.senders.append(heard.sender)
        if heard.why != "expired":
            hop.why = heard.why
            self._last = min(self._last, at + 1)

    def _tell(self) -> None:
        for at, hop in enumerate(self._hops[: self._last]):
            received = len(hop.times_us)
            self._output.tell(
                "hop",
                hop=at + 1,
                **{"from": ", ".join(hop.senders) or None},
                sent=hop.sent,
                received=received,
                loss_percent=lost_percent(hop.sent, received),
                last_us=hop.times_us[-1] if hop.times_us else None,
                **spread(hop.times_us),
                why=hop.why or None,
            )
