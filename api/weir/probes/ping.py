# SPDX-License-Identifier: Apache-2.0
"""ping: an answer, or that none came, for every request."""

from __future__ import annotations

import time
from collections.abc import Callable

from weir.probes.echo import EchoSocket, begun, lost_percent, not_sent, spread
from weir.probes.output import Output
from weir.tools.echo import ANSWER_S, Ping


def run(asked: Ping, output: Output, confine: Callable[[], None]) -> None:
    _Run(asked, output, *begun(asked, output, confine)).run()


class _Run:
    def __init__(self, asked: Ping, output: Output, echo: EchoSocket, address: str) -> None:
        self._asked = asked
        self._output = output
        self._echo = echo
        self._address = address
        self._sent_ns: dict[int, int] = {}
        self._answered: set[int] = set()
        self._unsent = 0
        self._times_us: list[int] = []

    def run(self) -> None:
        begun_s, gap_s = time.monotonic(), self._asked.interval_ms / 1000
        for number in range(1, self._asked.count + 1):
            try:
                self._sent_ns[number] = self._echo.ask(self._address, number, self._asked.size_bytes)
            except OSError as error:
                self._unsent += 1
                self._sent_ns[number] = time.monotonic_ns()
                self._answered.add(number)
                self._output.tell("refused", number=number, **{"from": None}, why=not_sent(error))
            self._hear_until(begun_s + number * gap_s, number == self._asked.count)
        self._hear_until(time.monotonic() + ANSWER_S, True)
        for number in sorted(self._sent_ns.keys() - self._answered):
            self._output.tell("lost", number=number)
        sent, received = len(self._sent_ns) - self._unsent, len(self._times_us)
        loss = lost_percent(sent, received)
        self._output.tell(
            "summary", sent=sent, received=received, loss_percent=loss, **spread(self._times_us)
        )

    def _hear_until(self, until_s: float, is_last: bool) -> None:
        """Until the next request is due; after the last one until all are answered."""
        while not (is_last and len(self._answered) == len(self._sent_ns)):
            if not self._output.wait(self._echo.socket.fileno(), until_s):
                return
            heard = self._echo.hear()
            if heard is None or heard.number not in self._sent_ns or heard.number in self._answered:
                continue
            self._answered.add(heard.number)
            if heard.why:
                self._output.tell("refused", number=heard.number, **{"from": heard.sender}, why=heard.why)
                continue
            took_us = (heard.at_ns - self._sent_ns[heard.number]) // 1000
            self._times_us.append(took_us)
            found = {"from": heard.sender, "round_trip_us": took_us, "ttl": heard.ttl, "bytes": heard.size}
            self._output.tell("reply", number=heard.number, **found)
