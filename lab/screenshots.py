# SPDX-License-Identifier: Apache-2.0
"""`make screenshots`: every page of a lab of its own, with few and with many queues, to build/screenshots."""

from __future__ import annotations

import os
import subprocess

from lab import lifecycle, plan, seed
from lab.netns import LabError

MANY = 10_000
OWN_PASSWORD = "a quiet weir by the mill"
"""What webui/scripts/screenshots.mjs replaces the one-time password with."""


def take(access: lifecycle.Access) -> None:
    """Take all pictures of this lab; leaves it with `MANY` queues more."""
    _pictures(access, "few", access.password)
    _add_queues(seed.Api(access.url, access.token))
    _pictures(access, str(MANY), OWN_PASSWORD)


def _pictures(access: lifecycle.Access, size: str, password: str) -> None:
    environment = {
        **os.environ,
        "WEIR_URL": access.url,
        "WEIR_ADMIN_USER": access.username,
        "WEIR_ADMIN_PASSWORD": password,
        "SIZE": size,
    }
    done = subprocess.run(
        ["npm", "run", "--silent", "screenshots"], cwd=plan.ROOT / "webui", env=environment, check=False
    )
    if done.returncode != 0:
        raise LabError(f"the pictures with {size} queues were not taken")


def _add_queues(api: seed.Api) -> None:
    def queue(number: int) -> dict[str, object]:
        return {
            "id": f"many-{number}",
            "name": f"subscriber {number:05d}",
            "target": [f"100.{64 + number // 65536}.{number // 256 % 256}.{number % 256}/32"],
            "max_limit_bps": {"upload": (1 + number % 5) * 10**7, "download": (1 + number % 5) * 5 * 10**7},
        }

    api.call("POST", "/queues/bulk", {"upsert": [queue(number) for number in range(MANY)], "delete": []})
