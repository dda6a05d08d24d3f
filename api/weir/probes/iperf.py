# SPDX-License-Identifier: Apache-2.0
"""iperf: the program iperf3 fills the way to a host, and round trips of echoes are timed beside it.

It is a child of this process with no more rights than this one, and the kernel ends it with this one. What it
measured comes as JSON: by the second where it can (`--json-stream`, from 3.17 on), else at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from weir.model.problem import Unavailable
from weir.probes.confine import Bounds, die_with
from weir.probes.echo import EchoSocket, begun, lost_percent
from weir.probes.output import Output
from weir.tools.echo import ANSWER_S
from weir.tools.iperf import CONNECT_S, IDLE_S, SETTLE_S, WAYS, Iperf, lasts_s

Json = dict[str, Any]
PROGRAM = "iperf3"
BOUNDS = Bounds(memory_bytes=1 << 30, file_bytes=1 << 20, processes=256, cores=os.cpu_count() or 1)
"""It has a thread and an arena for each stream, and a block of 128 KiB in a file in /tmp."""
GAP_S = 0.1
SIZE_BYTES = 56
MESSAGE_BYTES = 1 << 14
MOST_BYTES = 8 << 20
"""Of 30 s and 8 streams it writes a tenth of that."""
BUSY_S = 3.0
"""For so long a server may be busy with the end of the direction before."""
_HELP_S = 5.0


def run(asked: Iperf, output: Output, confine: Callable[[], None]) -> None:
    program = shutil.which(PROGRAM)
    if program is None:
        raise Unavailable(f"there is no program {PROGRAM} on this router", code="program-missing")
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as agent:
        agent.recv(MESSAGE_BYTES)
        echo, address = begun(asked, output, confine)
        output.tell("way", **_way(agent, address))
    _Run(asked, output, echo, address, program).run()


def _way(agent: socket.socket, address: str) -> Json:
    agent.send(json.dumps([address]).encode())
    found: Json = json.loads(agent.recv(MESSAGE_BYTES))[address]
    return found


class _Trips:
    """Echoes of one phase: when each was asked for, and how long its answer took."""

    def __init__(self) -> None:
        self.asked_ns: dict[int, int] = {}
        self.took_us: dict[int, int] = {}

    def told(self) -> Json:
        times = list(self.took_us.values())
        return {
            "median_us": round(statistics.median(times)) if times else None,
            "most_us": max(times, default=None),
            "loss_percent": lost_percent(len(self.asked_ns), len(times)),
        }

    def between(self, begin_ns: int, end_ns: int) -> int | None:
        """The median of those that were asked for in this time; None: no answer came."""
        times = [took for number, took in self.took_us.items() if begin_ns <= self.asked_ns[number] < end_ns]
        return round(statistics.median(times)) if times else None


class _Run:
    def __init__(self, asked: Iperf, output: Output, echo: EchoSocket, address: str, program: str) -> None:
        self._asked = asked
        self._output = output
        self._echo = echo
        self._address = address
        self._program = program
        self._streams = "--json-stream" in _help_of(program)
        self._number = 0
        self._trips = _Trips()
        self._asks_at_s = time.monotonic()

    def run(self) -> None:
        self._watch(None, time.monotonic() + IDLE_S)
        self._hear_rest()
        idle = self._trips.told()
        self._output.tell("idle", **idle)
        for way in WAYS[self._asked.direction]:
            self._trips = _Trips()
            self._measure(way, idle["median_us"])

    def _measure(self, way: str, idle_us: int | None) -> None:
        """One direction. Raises `Unavailable` with the reason that iperf3 gives."""
        until_s = time.monotonic() + lasts_s(self._asked)
        busy_until_s = time.monotonic() + BUSY_S
        while True:
            said = _Said(way, self._output, self._trips)
            with self._started(way) as process:
                assert process.stdout is not None
                is_over = self._watch(process.stdout.fileno(), until_s, said.add)
            if not is_over:
                text = f"{self._address} did not say what it measured in {lasts_s(self._asked):.0f} s"
                raise Unavailable(text, code="no-answer")
            end = said.end()
            if end is not None:
                break
            if "busy" not in said.error or time.monotonic() > busy_until_s:
                raise Unavailable(in_words(said.error, self._address, self._asked.port), code="iperf-failed")
            self._watch(None, time.monotonic() + GAP_S)
        self._hear_rest()
        trips = self._trips.told()
        loaded_us = trips["median_us"]
        added_us = None if idle_us is None or loaded_us is None else max(loaded_us - idle_us, 0)
        self._output.tell("result", direction=way, **_rate(end), **trips, added_us=added_us)

    @contextmanager
    def _started(self, way: str) -> Iterator[subprocess.Popen[bytes]]:
        """The process, which is gone at the end of the block."""
        asked = self._asked
        words = [
            self._program, "--client", self._address, "--port", str(asked.port), "--time", str(asked.seconds),
            "--omit", str(SETTLE_S), "--parallel", str(asked.streams),
            "--connect-timeout", str(round(CONNECT_S * 1000)),
            *(["--reverse"] if way == "from" else []),
            *(["--bind-dev", asked.interface] if asked.interface else []),
            "--json-stream" if self._streams else "--json",
        ]  # fmt: skip
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=partial(die_with, os.getpid()),
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def _watch(
        self, descriptor: int | None, until_s: float, add: Callable[[bytes], None] = lambda data: None
    ) -> bool:
        """Ask for echoes and hear them; what comes from the descriptor is added, until its end. Whether that
        came in time."""
        given = () if descriptor is None else (descriptor,)
        while (now_s := time.monotonic()) < until_s:
            if now_s >= self._asks_at_s:
                self._asks_at_s = max(self._asks_at_s + GAP_S, now_s)
                self._ask()
            ready = self._output.wait_any((self._echo.socket.fileno(), *given), min(self._asks_at_s, until_s))
            if self._echo.socket.fileno() in ready:
                self._hear()
            if descriptor is not None and descriptor in ready:
                data = os.read(descriptor, 1 << 16)
                if not data:
                    return True
                add(data)
        return False

    def _ask(self) -> None:
        self._number = self._number % 0xFFFF + 1
        try:
            self._trips.asked_ns[self._number] = self._echo.ask(self._address, self._number, SIZE_BYTES)
        except OSError:
            self._trips.asked_ns[self._number] = time.monotonic_ns()  # it is lost

    def _hear(self) -> None:
        heard = self._echo.hear()
        if heard is None or heard.why or heard.number in self._trips.took_us:
            return
        if (asked_ns := self._trips.asked_ns.get(heard.number)) is not None:
            self._trips.took_us[heard.number] = (heard.at_ns - asked_ns) // 1000

    def _hear_rest(self) -> None:
        """Answers may still wait in a queue."""
        until_s = time.monotonic() + ANSWER_S
        while len(self._trips.took_us) < len(self._trips.asked_ns):
            if not self._output.wait(self._echo.socket.fileno(), until_s):
                return
            self._hear()


class _Said:
    """What iperf3 writes, and what of it is told at once."""

    def __init__(self, way: str, output: Output, trips: _Trips) -> None:
        self._way = way
        self._output = output
        self._trips = trips
        self._data = bytearray()
        self._read = 0
        self._end: Json | None = None
        self._begun_ns: int | None = None
        self.error = ""

    def add(self, data: bytes) -> None:
        """Raises `Unavailable`: that is too much."""
        self._data += data
        if len(self._data) > MOST_BYTES:
            raise Unavailable(f"{PROGRAM} wrote more than it should", code="iperf-failed")
        while (at := self._data.find(b"\n", self._read)) >= 0:
            line, self._read = bytes(self._data[self._read : at]), at + 1
            if line.startswith(b'{"event"'):
                self._event(json.loads(line))

    def end(self) -> Json | None:
        """What was measured in all; None: nothing, and `error` says why."""
        if self._end is None and not self.error:
            self._whole()
        if self._end is not None and _rate_of(self._end) is None:
            self.error = self.error or "it ended without a result"
        return None if self.error else self._end

    def _event(self, found: Json) -> None:
        name, data = found["event"], found["data"]
        if name == "interval":
            self._interval(data, time.monotonic_ns())
        elif name == "error":
            self.error = self.error or str(data)
        elif name == "end":
            self._end = data

    def _whole(self) -> None:
        """Of a program that says all at its end."""
        ended_ns = time.monotonic_ns()
        try:
            found = json.loads(self._data)
        except ValueError:
            words = self._data.decode("utf-8", "replace").split()
            self.error = " ".join(words)[-200:] or "it ended without a word"
            return
        self.error, self._end = str(found.get("error", "")), found.get("end")
        intervals = found.get("intervals", [])
        lasted_s = intervals[-1]["sum"]["end"] if intervals else 0.0
        for interval in intervals:
            self._interval(interval, ended_ns - round((lasted_s - interval["sum"]["end"]) * 1e9))

    def _interval(self, interval: Json, ended_ns: int) -> None:
        added = interval["sum"]
        if added.get("omitted") or added["seconds"] < 0.5:
            return
        self._output.tell(
            "second",
            direction=self._way,
            second=round(added["end"]),
            rate_bps=round(added["bits_per_second"]),
            retransmits=added.get("retransmits"),
            round_trip_us=self._trips.between(ended_ns - round(added["seconds"] * 1e9), ended_ns),
        )


def _rate_of(end: Json) -> float | None:
    """What arrived, in bit/s."""
    found = end.get("sum_received", {}).get("bits_per_second")
    return None if found is None else float(found)


def _rate(end: Json) -> Json:
    rate = _rate_of(end)
    return {
        "rate_bps": None if rate is None else round(rate),
        "retransmits": end.get("sum_sent", {}).get("retransmits"),
    }


def in_words(error: str, address: str, port: int) -> str:
    """What iperf3 complains of, for people."""
    said = error.lower()
    for sign, text in (
        ("refused", f"nothing listens on port {port} of {address}: start `iperf3 -s` there"),
        ("busy", f"the server on {address} tests with somebody else: try again when that is over"),
        ("timed out", f"port {port} of {address} does not answer: it is not there, or a firewall is between"),
        ("unreachable", f"no way leads to {address}"),
        ("no route", f"{address} does not answer at all, or a router on the way refuses it"),
        ("closed unexpectedly", f"the server on {address} broke the test off"),
        ("server has terminated", f"the server on {address} was ended"),
        ("bind-dev", "this router's iperf3 cannot be bound to an interface"),
    ):
        if sign in said:
            return text
    return f"{PROGRAM}: {error}"


def _help_of(program: str) -> str:
    done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=_HELP_S, check=False)
    return done.stdout + done.stderr
