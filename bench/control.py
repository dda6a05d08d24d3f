# SPDX-License-Identifier: Apache-2.0
"""The control plane: imports, one change among many, lists."""

from __future__ import annotations

import json
import statistics
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import fixture, resources
from bench.rows import Row
from tests.router import Router, running_router
from weir.adapters.datapath import DEFAULT_CAPACITY

ROUNDS = 5
MANY_UNTIL_S = 300
"""No import begins later than so many seconds after the group."""


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begun_s = time.monotonic()
    result = action()
    return time.monotonic() - begun_s, result


def upload(target: Router, text: str) -> Any:
    """Post a RouterOS export; the answer is the what-if report."""
    request = urllib.request.Request(
        f"{target.api.url}/api/v1/import/routeros", data=text.encode(), method="POST"
    )
    request.add_header("Authorization", f"Bearer {target.api.token}")
    request.add_header("Content-Type", "text/plain")
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.loads(answer.read())


class Imports:
    """Reports and commits of one RouterOS export into an empty router."""

    def __init__(self, target: Router, queues: int, label: str) -> None:
        self.target = target
        self.label = label
        self.what = f"RouterOS export of {queues:,} queues"
        self.text = fixture.routeros_export(queues)
        self.report_s: list[float] = []
        self.commit_s: list[float] = []

    def round(self) -> None:
        """Its queues stay."""
        seconds, report = timed(lambda: upload(self.target, self.text))
        self.report_s.append(seconds)
        path = f"/import/reports/{report['id']}/commit"
        seconds, _ = timed(partial(self.target.api.call, "POST", path, {"message": "benchmark"}))
        self.commit_s.append(seconds)

    def again(self, rounds: int, until_s: float) -> None:
        """More rounds, up to `rounds` in all, none begun after `until_s` (monotonic)."""
        while len(self.report_s) < rounds and time.monotonic() < until_s:
            clear(self.target)
            self.round()

    def rows(self) -> list[Row]:
        commit = f"{self.what}: commit, to the verified kernel"
        return [
            Row.of(f"import-{self.label}-report", f"{self.what}: what-if report", "s", self.report_s),
            Row.of(f"import-{self.label}-commit", commit, "s", self.commit_s),
        ]


def clear(target: Router) -> None:
    """Remove all queues; one request takes 10,000."""
    ids = target.queue_ids()
    for at in range(0, len(ids), 10_000):
        target.bulk(delete=ids[at : at + 10_000])


def one_change(target: Router, changes: int = 200) -> list[Row]:
    """PATCH of one queue's limit among all of the router; the answer comes when the kernel is verified."""
    page = target.api.call("GET", "/queues?limit=1000&sort=-position")["items"]
    leaves = [item["id"] for item in page if item["target"]][:changes]
    p50_ms: list[float] = []
    p99_ms: list[float] = []
    for number in range(ROUNDS):
        spent_ms = []
        for queue_id in leaves:
            body = {"max_limit_bps": {"upload": 5_000_000 + number, "download": 7_000_000 + number}}
            spent_ms.append(patch_ms(target, queue_id, body))
        p50_ms.append(statistics.median(spent_ms))
        p99_ms.append(statistics.quantiles(spent_ms, n=100)[98])
    what = "one changed queue among 10,000, from the request to the verified kernel"
    return [
        Row.of("change-one-p50", f"{what}: median", "ms", p50_ms),
        Row.of("change-one-p99", f"{what}: 99 of 100", "ms", p99_ms),
    ]


def patch_ms(target: Router, queue_id: str, body: dict[str, Any]) -> float:
    etag = target.api.call("GET", f"/queues/{queue_id}")["etag"]
    headers = {"If-Match": f'"{etag}"', "Content-Type": "application/merge-patch+json"}
    seconds, _ = timed(lambda: target.api.call("PATCH", f"/queues/{queue_id}", body, headers=headers))
    return seconds * 1000


def lists(target: Router) -> Row:
    """Pages of 100 from all over the list, sorted in several ways."""
    p99_ms = []
    for _ in range(ROUNDS):
        spent_ms = []
        cursor = ""
        for number in range(100):
            sort = ("position", "name", "-max_limit_download")[number % 3]
            path = f"/queues?limit=100&sort={sort}" + (cursor if number % 3 == 0 else "")
            seconds, page = timed(partial(target.api.call, "GET", path))
            spent_ms.append(seconds * 1000)
            if number % 3 == 0:
                cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else ""
        p99_ms.append(statistics.quantiles(spent_ms, n=100)[98])
    what = "page of 100 out of 100,000 queues: 99 of 100"
    return Row.of("list-100-p99", what, "ms", p99_ms)


def run() -> list[Row]:
    """100,000 are imported again only while there is time; the rest is measured after the first. Their memory
    is that of a router with 4 GB, on any machine."""
    begun_s = time.monotonic()
    with running_router() as target:
        small = Imports(target, 10_000, "10k")
        small.round()
        small.again(ROUNDS, begun_s + MANY_UNTIL_S)
        rows = [*small.rows(), *one_change(target)]
    with running_router(capacity=DEFAULT_CAPACITY) as target:
        large = Imports(target, 100_000, "100k")
        large.round()
        measured = [lists(target), resources.streams(target), resources.memory(target)]
        measured += resources.kernel_memory(100_000)
        large.again(ROUNDS, begun_s + MANY_UNTIL_S)
    return [*rows, *large.rows(), *measured]
