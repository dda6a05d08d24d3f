# SPDX-License-Identifier: Apache-2.0
"""A program in mount and process namespaces of its own, which end with the process that started it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import IO

from lab import plan, process

NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")


def start(command: Sequence[str], output: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Its mounts are its own and vanish with it; it and all that it started end when this process does."""
    return subprocess.Popen(
        ["unshare", *NAMESPACES, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=plan.ROOT,
        preexec_fn=process.die_with_parent,
    )
