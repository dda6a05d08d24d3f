# SPDX-License-Identifier: Apache-2.0
"""`make screenshots`: every screen of a lab of its own, to build/screenshots.

With few queues, with many, without any, and with a dead agent.
"""

from __future__ import annotations

import os
import signal
import subprocess

from lab import lifecycle, node, plan, process, seed
from lab.netns import LabError
from weir.kinds import DECLARED

MANY = 10_000
AREAS = 40
OWN_PASSWORD = "a quiet weir by the mill"
"""What webui/scripts/screenshots.mjs replaces the one-time password with."""


def take(access: lifecycle.Access) -> None:
    """Take all pictures of this lab; leaves it with a dead agent."""
    api = seed.Api(access.url, access.token)
    _pictures(access, "few", access.password)
    seeded = api.call("GET", "/revisions?limit=1")["items"][0]["revision"]
    for path, objects in _many().items():
        api.call("POST", f"/{path}/bulk", {"upsert": objects, "delete": []})
    _pictures(access, str(MANY), OWN_PASSWORD)
    _restore(api, seeded)
    _remove_all(api)
    _pictures(access, "none", OWN_PASSWORD)
    _restore(api, seeded)
    _kill("agent")
    _pictures(access, "agent-away", OWN_PASSWORD)


def _restore(api: seed.Api, revision: int) -> None:
    api.call("POST", f"/revisions/{revision}/restore", {"message": "as before"})


def _remove_all(api: seed.Api) -> None:
    """Every queue, and every object of other kinds but what a router that was just set up has."""
    paths = {kind: declared.path for kind, declared in DECLARED.items() if not declared.is_single}
    changes = [
        {"kind": kind, "id": item["id"], "new": None}
        for kind, path in {**paths, "queue": "queues"}.items()
        if kind not in ("interface", "queue-type")
        for item in api.call("GET", f"/{path}?limit=1000")["items"]
    ]
    api.call("PUT", "/candidate/changes", {"changes": changes})
    api.call("POST", "/candidate/commit", {"message": "nothing is left"})


def _pictures(access: lifecycle.Access, size: str, password: str) -> None:
    environment = node.environment(
        WEIR_URL=access.url,
        WEIR_ADMIN_USER=access.username,
        WEIR_ADMIN_PASSWORD=password,
        WEIR_API_PID=str(process.remembered("api") or ""),
        SIZE=size,
    )
    done = subprocess.run(
        ["npm", "run", "--silent", "screenshots"], cwd=plan.ROOT / "webui", env=environment, check=False
    )
    if done.returncode != 0:
        raise LabError(f"not every picture of size {size} was taken")


def _kill(service: str) -> None:
    pid = process.remembered(service)
    if pid is None:
        raise LabError(f"{service} is not running")
    os.kill(pid, signal.SIGKILL)


def _many() -> dict[str, list[dict[str, object]]]:
    """By path: as many queues, routes and entries of a set as a regional provider has."""
    routes: list[dict[str, object]] = [
        {
            "id": f"many-{number:05d}",
            "destination": f"100.{64 + number // 256}.{number % 256}.0/24",
            "blackhole": True,
            "comment": f"customer network {number:05d}",
        }
        for number in range(MANY)
    ]
    entries: list[dict[str, object]] = [
        {
            "id": f"many-{number:05d}",
            "set": "blocked",
            "value": f"198.19.{number // 64 % 256}.{number % 64 * 4}/30",
            "comment": f"report {number:05d}",
        }
        for number in range(MANY)
    ]
    return {"queues": _many_queues(), "static-routes": routes, "set-entries": entries}


def _many_queues() -> list[dict[str, object]]:
    """`MANY` subscribers below forty areas, as a regional provider has them."""
    areas: list[dict[str, object]] = [
        {
            "id": f"area-{number:02d}",
            "name": f"Area {number + 1:02d}",
            "max_limit_bps": {"upload": 2 * 10**9, "download": 5 * 10**9},
        }
        for number in range(AREAS)
    ]
    subscribers: list[dict[str, object]] = [
        {
            "id": f"subscriber-{number:05d}",
            "name": f"subscriber {number:05d}",
            "target": [f"100.{64 + number // 65536}.{number // 256 % 256}.{number % 256}/32"],
            "parent": f"area-{number % AREAS:02d}",
            "max_limit_bps": {"upload": (1 + number % 5) * 10**7, "download": (1 + number % 5) * 5 * 10**7},
        }
        for number in range(MANY - AREAS)
    ]
    return areas + subscribers
