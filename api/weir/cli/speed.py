# SPDX-License-Identifier: Apache-2.0
"""`weir speed`: how fast this machine and the router exchange bytes, and what waits behind them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import click

from weir.cli import output
from weir.cli.client import ApiError, Client, Unreachable
from weir.cli.group import Command
from weir.cli.kind_options import given_body, parameters_of
from weir.cli.kinds import session_now
from weir.cli.tools import events_of
from weir.model.units import format_rate_long
from weir.tools import SPEED

Json = dict[str, Any]
IDLE_S = 2.0
EVERY_S = 0.1
"""Between the answer to an echo and the next one."""
SETTLE_S = 1.0
"""At the begin of a direction, while TCP finds out how fast it may be; the rate is of the time behind it."""
CONNECTIONS = 4
UPLOAD_BYTES = 16 << 20
PIECE_BYTES = 65_536
WAIT_S = 5.0
GRADES = (("A+", 5), ("A", 30), ("B", 60), ("C", 200), ("D", 400))
"""Bufferbloat by the milliseconds that load adds, mean of both ways (dslreports.com/faq/17930); else F."""
Mark = tuple[float, int]
"""Seconds, and the bytes that had come until then."""


@dataclass
class Run:
    """One run: what the router counts, and what was read here."""

    client: Client
    id: str = ""
    path: Json = field(default_factory=dict)
    uploaded: list[Mark] = field(default_factory=list)
    downloaded_bytes: int = 0
    failure: Exception | None = None
    begun: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def follow(self, body: Json, over: threading.Event) -> None:
        """Hold the run until `over`: it ends with this connection."""
        try:
            with self.client.stream("POST", "/tools/speed", body) as response:
                for event, values in events_of(response):
                    self._take(event, values)
                    if over.is_set():
                        return
        except (ApiError, Unreachable) as error:
            self.failure = error
        finally:
            self.begun.set()

    def _take(self, event: str, values: Json) -> None:
        if event == "run":
            self.id, self.path = values["id"], values["path"]
            self.begun.set()
        elif event == "counted":
            self.uploaded.append((values["ms"] / 1000, values["received_bytes"]))

    def echo_ms(self) -> float:
        began = time.perf_counter()
        self.client.send("GET", f"/tools/speed/{self.id}/echo")
        return (time.perf_counter() - began) * 1000

    def download(self, over: threading.Event) -> None:
        with self.client.stream("GET", f"/tools/speed/{self.id}/download") as response:
            for data in response.iter_raw():
                with self._lock:
                    self.downloaded_bytes += len(data)
                if over.is_set():
                    return

    def upload(self, over: threading.Event) -> None:
        piece = os.urandom(PIECE_BYTES)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(UPLOAD_BYTES)}
        with suppress(_Over):
            while True:
                content = _pieces(piece, over)
                self.client.send("POST", f"/tools/speed/{self.id}/upload", content=content, headers=headers)


class _Over(Exception):
    """A body ends before its length, and its connection with it."""


def _pieces(piece: bytes, over: threading.Event) -> Iterator[bytes]:
    """A body. Raises `_Over`."""
    for _ in range(UPLOAD_BYTES // PIECE_BYTES):
        if over.is_set():
            raise _Over
        yield piece


def measure(client: Client, body: Json) -> Json:
    """All of a run. A figure is None where too little was measured. Raises ApiError, Unreachable."""
    run, over = Run(client), threading.Event()
    holder = threading.Thread(target=run.follow, args=(body, over), daemon=True)
    holder.start()
    try:
        run.begun.wait()
        if run.failure is not None:
            raise run.failure
        run.echo_ms()  # the connection is made
        seconds = SPEED.read(body).seconds
        idle = _echoes(run, IDLE_S, lambda: None)
        down: list[Mark] = []
        down_ms = _loaded(run, run.download, seconds, lambda: down.append(_now(run.downloaded_bytes)))
        told: list[int] = []
        up_ms = _loaded(run, run.upload, seconds, lambda: told.append(len(run.uploaded)))
    finally:
        over.set()
        holder.join(WAIT_S)
    return {
        "path": run.path,
        "idle": _trips(idle),
        "download": {"rate_bps": rate_bps(down), "round_trips": _trips(down_ms)},
        "upload": {"rate_bps": rate_bps(run.uploaded[told[0] : told[-1]]), "round_trips": _trips(up_ms)},
    }


def _now(count: int) -> Mark:
    return time.monotonic(), count


def _loaded(
    run: Run, work: Callable[[threading.Event], None], seconds: float, mark: Callable[[], None]
) -> list[float]:
    """Echoes while `CONNECTIONS` threads do the work."""
    over, failures = threading.Event(), list[Exception]()

    def guarded() -> None:
        try:
            work(over)
        except (ApiError, Unreachable) as error:
            if not over.is_set():
                failures.append(error)

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    try:
        return _echoes(run, seconds, mark, failures)
    finally:
        over.set()
        for thread in threads:
            thread.join(WAIT_S)


def _echoes(
    run: Run, seconds: float, mark: Callable[[], None], failures: list[Exception] | None = None
) -> list[float]:
    """Milliseconds of the answers that came within the time."""
    found, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        found.append(run.echo_ms())
        mark()
        if failures:
            raise failures[0]
        time.sleep(EVERY_S)
    return found


def rate_bps(marks: list[Mark]) -> int | None:
    """Of the time behind the first second; None: there was too little of it."""
    settled = [item for item in marks if item[0] >= marks[0][0] + SETTLE_S]
    if len(settled) < 2 or settled[-1][0] <= settled[0][0]:
        return None
    (from_s, first), (to_s, last) = settled[0], settled[-1]
    return round((last - first) * 8 / (to_s - from_s))


def _trips(found: list[float]) -> Json:
    if len(found) < 2:
        return {"count": len(found), "median_ms": None, "p95_ms": None}
    p95 = quantiles(found, n=20, method="inclusive")[-1]
    return {"count": len(found), "median_ms": round(median(found), 1), "p95_ms": round(p95, 1)}


def added_ms(result: Json) -> float | None:
    """What load adds to the median, mean of both directions; None: it was not measured."""
    idle, down, up = (item["median_ms"] for item in _all_trips(result))
    if idle is None or down is None or up is None:
        return None
    return max(0.0, float((down + up) / 2 - idle))


def grade_of(added: float) -> str:
    return next((grade for grade, below in GRADES if added < below), "F")


def _all_trips(result: Json) -> list[Json]:
    return [result["idle"], result["download"]["round_trips"], result["upload"]["round_trips"]]


def speed(**given: Any) -> None:
    """Measure, and say what was measured."""
    session = session_now()
    result = measure(session.client, given_body(given))
    if session.json:
        output.show_json(result)
        return
    click.echo(_way(result["path"]))
    rates = (None, result["download"]["rate_bps"], result["upload"]["rate_bps"])
    rows = [
        [name, _rate(rate), _ms(trips["median_ms"]), _ms(trips["p95_ms"]), str(trips["count"])]
        for name, rate, trips in zip(("idle", "download", "upload"), rates, _all_trips(result), strict=True)
    ]
    output.table(["", "RATE", "ROUND TRIP", "95 % WITHIN", "ANSWERS"], rows, right=(1, 2, 3, 4))
    for line in _remarks(result):
        click.echo(line)


def _rate(value: int | None) -> str:
    return "-" if value is None else format_rate_long(value) if value else "0 bit/s"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"


def _way(path: Json) -> str:
    by = "" if path["interface"] is None else f", by the router's interface {path['interface']}"
    return output.clean(f"Between {path['address']} and the router{by}.")


def _remarks(result: Json) -> Iterator[str]:
    added, path = added_ms(result), result["path"]
    if added is not None:
        yield (
            f"Load adds {added:.1f} ms to the median, mean of both directions: grade {grade_of(added)} "
            "on the scale of DSLReports (dslreports.com/faq/17930)."
        )
    if (queue := path["queue"]) is not None:
        limit = format_rate_long(queue["limit_bps"])
        yield output.clean(f"Queue {queue['name']} limits downloads to this address to {limit}.")
    if path["unknown"]:
        yield output.clean(f"{path['unknown']}.")
    yield (
        "This program and the router's web server can be slower than the way between them. Queues limit what "
        "the router sends, not uploads to the router itself. What is behind the router was not measured."
    )


def register(main: click.Group) -> None:
    main.add_command(
        Command(SPEED.name, callback=speed, params=parameters_of(SPEED.members), help=SPEED.about)
    )
