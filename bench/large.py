# SPDX-License-Identifier: Apache-2.0
"""100,422 queues in daily use: rollback, diff, memory, and a single change while 50,000 are committed."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench import control, fixture, live_sort
from bench.control import timed
from bench.resources import own_processes, proportional_kib
from bench.rows import Row
from lab.netns import LabError
from tests.router import Router, running_router

QUEUES = 100_422
STAGED = 50_000
ROUNDS = 5
UNTIL_S = 1500
"""No round begins later than so many seconds after the group."""
WINDOW_S = 20
EVERY_S = 0.1
"""Single changes are asked for at this rate, whatever became of the one before."""
RETRY_S = 1.0
"""How soon a client that was refused asks again, although it may be told to wait longer."""
SAMPLE_S = 0.1


class Figures:
    """What the rounds measured."""

    def __init__(self) -> None:
        self.import_mb: list[float] = []
        self.commit_mb: list[float] = []
        self.late_s: list[float] = []
        self.first_page_s: list[float] = []
        self.later_page_s: list[float] = []
        self.single_p99_s: list[float] = []

    def rows(self) -> list[Row]:
        many = f"{STAGED:,} changes among {QUEUES:,} queues"
        return [
            Row.of("rollback-100k-late", f"rollback of all {QUEUES:,} queues: kernel back after the deadline",
                   "s", self.late_s),
            Row.of("diff-50k-first", f"diff of {many}: first page of 100", "s", self.first_page_s),
            Row.of("diff-50k-page", f"diff of {many}: a later page", "s", self.later_page_s),
            Row.of("import-100k-peak", f"import of {QUEUES:,} queues: peak memory of the API", "MB",
                   self.import_mb),
            Row.of("commit-50k-peak", f"commit of {many}: peak memory of the API", "MB", self.commit_mb),
            Row.of("change-during-50k-p99", f"a single change during a commit of {many}: 99 of 100", "s",
                   self.single_p99_s),
        ]  # fmt: skip


def run() -> list[Row]:
    figures, begun_s = Figures(), time.monotonic()
    text = fixture.routeros_export(QUEUES)
    while len(figures.late_s) < ROUNDS and (not figures.late_s or time.monotonic() - begun_s < UNTIL_S):
        with running_router() as target:
            round_of(target, text, figures, len(figures.late_s))
    return [*figures.rows(), *live_sort.run()]


def round_of(target: Router, text: str, figures: Figures, number: int) -> None:
    with peak(target, figures.import_mb):
        report = control.upload(target, text)
        target.api.call("POST", f"/import/reports/{report['id']}/commit", {"message": "benchmark"})
    leaves = [item for item in listed(target) if item["target"]]
    stage(target, leaves[:STAGED], 6_000_000 + number)
    figures.first_page_s.append(timed(lambda: target.api.call("GET", "/candidate/diff?limit=100"))[0])
    figures.later_page_s.append(
        timed(lambda: target.api.call("GET", "/candidate/diff?limit=100&cursor=30000"))[0]
    )
    with peak(target, figures.commit_mb), singles(target, leaves[STAGED:]) as spent_s:
        target.api.call("POST", "/candidate/commit", {"message": "benchmark"})
    figures.single_p99_s.append(statistics.quantiles(spent_s, n=100)[98])
    stage(target, listed(target), 9_000_000 + number)
    figures.late_s.append(late_s(target, leaves[-1]["id"], 9_000_000 + number))


def listed(target: Router) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = target.api.call("GET", f"/queues?limit=1000{cursor}")
        items += page["items"]
        if not page["next_cursor"]:
            return items
        cursor = f"&cursor={page['next_cursor']}"


def stage(target: Router, items: list[dict[str, Any]], limit_bps: int) -> None:
    """Another limit for each of the queues, in the candidate."""
    for at in range(0, len(items), 10_000):
        changed = [
            {name: item[name] for name in ("id", "name", "target", "parent", "position")}
            | {"max_limit_bps": {"upload": limit_bps, "download": 2 * limit_bps}}
            for item in items[at : at + 10_000]
        ]
        target.api.call("POST", "/queues/bulk?candidate=true", {"upsert": changed, "delete": []})


def late_s(target: Router, queue_id: str, limit_bps: int) -> float:
    """Commit all that is staged, confirm nothing, and see when the kernel has another rate again."""
    target.api.call("POST", "/candidate/commit", {"message": "benchmark", "confirm_within_s": WINDOW_S})
    pending = target.api.call("GET", "/config/pending")["pending"]
    deadline_s = time.monotonic() + pending["seconds_left"]
    while True:
        try:
            found = target.api.call("GET", f"/queues/{queue_id}/explain")["kernel"]
            if found["class"]["upload"]["rate_bps"] != limit_bps:
                break
        except LabError:  # it was too busy to say
            continue
        time.sleep(0.02 if time.monotonic() > deadline_s - 0.5 else 0.2)
    seconds: float = time.monotonic() - deadline_s
    while target.api.call("GET", "/config/pending")["pending"]:
        time.sleep(0.2)
    return max(seconds, 0.0)


@contextmanager
def singles(target: Router, items: list[dict[str, Any]]) -> Iterator[list[float]]:
    """Single changes in the block, one each `EVERY_S` from many clients: how long each took."""
    spent_s: list[float] = []
    over = threading.Event()
    clients: list[threading.Thread] = []

    def change(number: int) -> None:
        body = {"max_limit_bps": {"upload": 5_000_000 + number, "download": 7_000_000 + number}}
        queue_id = items[number % len(items)]["id"]
        begun_s = time.monotonic()
        while True:
            try:
                control.patch_ms(target, queue_id, body)
            except LabError as error:  # a client tries again, as it is told to
                if " 503" not in str(error):
                    raise
                time.sleep(RETRY_S)
                continue
            break
        spent_s.append(time.monotonic() - begun_s)

    def offer() -> None:
        number = 0
        while not over.wait(EVERY_S):
            clients.append(threading.Thread(target=change, args=(number,)))
            clients[-1].start()
            number += 1

    offering = threading.Thread(target=offer)
    offering.start()
    try:
        yield spent_s
    finally:
        over.set()
        offering.join()
        for client in clients:
            client.join()


@contextmanager
def peak(target: Router, peaks_mb: list[float]) -> Iterator[None]:
    """The most memory that the API's processes hold in the block, a shared page counted once (PSS)."""
    pid, most_kib, over = target.pid_of("api"), [0], threading.Event()
    assert pid is not None

    def watch() -> None:
        while not over.wait(SAMPLE_S):
            held = sum(proportional_kib(entry) for entry in own_processes(pid))
            most_kib[0] = max(most_kib[0], held)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
        peaks_mb.append(most_kib[0] * 1024 / 1e6)
