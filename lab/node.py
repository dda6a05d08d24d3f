# SPDX-License-Identifier: Apache-2.0
"""Node.js and npm of build/venv, pinned with the Python packages: never the machine's own."""

from __future__ import annotations

import os

from lab import plan

PROGRAMS = plan.BUILD / "venv" / "bin"


def environment(**more: str) -> dict[str, str]:
    """This process' environment, in which `node`, `npm` and `npx` are ours, and what else is given."""
    return {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", **more}
