# SPDX-License-Identifier: Apache-2.0
"""Random frames through XDP and through the stack: how many left otherwise (docs/adr/0104).

The comparison is that of `tests/agent/test_likeness.py`, with as many frames as its long form has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from bench.rows import Row
from lab import plan

FRAMES = 10_000
_TOLD = re.compile(r"(\d+) frames, (\d+) by XDP, \d+ with an effect, (\d+) unlike$", re.MULTILINE)
COMPARISONS = 2


def run() -> list[Row]:
    """Raises `ValueError` when the comparison did not come to its end."""
    environment = {**os.environ, "WEIR_LIKENESS_FRAMES": str(FRAMES)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "tests/agent/test_likeness.py",
    ]
    said = subprocess.run(
        command, cwd=plan.ROOT, env=environment, capture_output=True, text=True, check=False
    ).stdout
    frames, fast, unlike = told(said)
    what = f"of {frames:,} random frames, {fast:,} of which XDP forwarded: those that left unlike the stack's"
    return [Row.of("unlike-frames", what, "frames", [unlike])]


def told(said: str) -> tuple[int, int, int]:
    """What pytest's output says of all comparisons: frames, those by XDP, and those that left unlike."""
    found = [tuple(map(int, numbers)) for numbers in _TOLD.findall(said)]
    if len(found) != COMPARISONS:
        raise ValueError(f"the comparison did not end: {said[-300:]}")
    frames, fast, unlike = map(sum, zip(*found, strict=True))
    return frames, fast, unlike
