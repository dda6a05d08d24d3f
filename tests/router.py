# SPDX-License-Identifier: Apache-2.0
"""A running lab for tests: the router with interfaces and routes, without queues and traffic of its own."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab import lifecycle, plan, process, seed
from lab.measure import poll
from lab.netns import LabError

MEGABIT = 1_000_000


class Router:
    """The lab's router as tests use it: configure queues by REST, look at services."""

    def __init__(self, api: seed.Api, access: lifecycle.Access) -> None:
        self.api = api
        self.access = access

    def put_queue(self, queue_id: str, **fields: Any) -> dict[str, Any]:
        """Create or replace a queue and return the API's answer."""
        headers = {}
        old = self.queue_or_none(queue_id)
        if old is not None:
            headers["If-Match"] = f'"{old["etag"]}"'
        answer: dict[str, Any] = self.api.call(
            "PUT", f"/queues/{queue_id}", {"name": queue_id, **fields}, headers=headers
        )
        return answer

    def queue_or_none(self, queue_id: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.api.call("GET", f"/queues/{queue_id}")
        except LabError as error:
            if " 404" in str(error):
                return None
            raise
        return found

    def bulk(self, *, upsert: list[dict[str, Any]] | None = None, delete: list[str] | None = None) -> Any:
        return self.api.call("POST", "/queues/bulk", {"upsert": upsert or [], "delete": delete or []})

    def queue_ids(self) -> list[str]:
        """Those with a parent first, so that they can be removed in this order."""
        below: list[str] = []
        top: list[str] = []
        cursor = ""
        while True:
            page = self.api.call("GET", f"/queues?limit=1000{cursor}")
            below += [item["id"] for item in page["items"] if item["parent"]]
            top += [item["id"] for item in page["items"] if not item["parent"]]
            if not page.get("next_cursor"):
                return below + top
            cursor = f"&cursor={page['next_cursor']}"

    def clear_queues(self) -> None:
        if ids := self.queue_ids():
            self.bulk(delete=ids)

    def pid_of(self, service: str) -> int | None:
        return process.remembered(service)

    @contextmanager
    def dead(self, *services: str) -> Iterator[None]:
        """Kill services as a crash does and keep them dead in the block; they run again afterwards."""
        lifecycle.HOLD.mkdir(exist_ok=True)
        for service in services:
            (lifecycle.HOLD / service).touch()
        pids = [pid for service in services if (pid := self.pid_of(service)) is not None]
        assert len(pids) == len(services), "a service was not running"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        try:
            yield
        finally:
            for service in services:
                (lifecycle.HOLD / service).unlink()
            assert poll(lambda: all(self.pid_of(service) for service in services), 20)
            assert poll(self.answers, 20)

    def answers(self) -> bool:
        """Whether the API answers and reaches the agent."""
        try:
            return bool(self.api.call("GET", "/system")["agent"]["state"] == "ok")
        except LabError:
            return False


def rate(upload_mbit: float, download_mbit: float) -> dict[str, int]:
    return {"upload": int(upload_mbit * MEGABIT), "download": int(download_mbit * MEGABIT)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_router(*, queues: bool = False, traffic: bool = False, capacity: int = 0) -> Iterator[Router]:
    """A lab of this process's own, removed at the end. `capacity`: slots of the tables; 0: by the memory."""
    lab = lifecycle.Lab(
        lifecycle.Options(port=free_port(), traffic=traffic, queues=queues, capacity=capacity)
    )
    access = lab.start()
    over = threading.Event()
    keeper = threading.Thread(target=lab.keep_running, args=(over.is_set,))
    keeper.start()
    try:
        yield Router(seed.Api(access.url, access.token), access)
    finally:
        over.set()
        keeper.join()
        lab.stop()


def customer(number: int, **fields: Any) -> dict[str, Any]:
    """A queue for the IPv4 and IPv6 of client `number`."""
    return {
        "id": f"c{number}",
        "name": f"client-{number}",
        "target": [f"{plan.client_v4(number)}/32", plan.client_v6_prefix(number)],
        **fields,
    }
