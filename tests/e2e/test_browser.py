# SPDX-License-Identifier: Apache-2.0
"""The web interface in Chromium against a real lab: each spec of webui/e2e is a test here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab import node, plan
from lab.router import DATABASE
from tests.router import running_router

WEBUI = plan.ROOT / "webui"
LIMIT_S = 600


def specs() -> list[Path]:
    return sorted((WEBUI / "e2e").glob("*.spec.ts"))


@pytest.mark.parametrize("spec", specs(), ids=lambda path: path.name.removesuffix(".spec.ts"))
def test_story(spec: Path) -> None:
    """Each story has a router of its own, seeded as by `make run`, and signs in with the first password."""
    with running_router(queues=True, traffic=True) as router:
        environment = node.environment(
            CI="1",
            WEIR_URL=router.access.url,
            WEIR_ADMIN_USER=router.access.username,
            WEIR_ADMIN_PASSWORD=router.access.password,
            WEIR_TOKEN=router.access.token,
            WEIR_LAB_JSON=str(plan.LAB_JSON),
            WEIR_DATABASE=str(DATABASE),
            WEIR_API_PID=str(router.pid_of("api")),
        )
        done = subprocess.run(
            ["npx", "playwright", "test", "--reporter=line", str(spec.relative_to(WEBUI))],
            cwd=WEBUI,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"


def test_there_are_stories_to_run() -> None:
    assert specs()
