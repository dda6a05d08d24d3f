# SPDX-License-Identifier: Apache-2.0
"""The product's kernel in a virtual machine that is started for one question and answers it as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "build/kernel/vm/bzImage"
needs_kernel = pytest.mark.skipif(not KERNEL.exists(), reason="no kernel was built; `make kernel` does")


def ask(module: str, *words: str, options: tuple[str, ...] = ()) -> Any:
    """What `tests.kernel.guest.MODULE` prints as its last line in a guest of its own."""
    said = printed(sys.executable, "-m", f"tests.kernel.guest.{module}", *words, options=options)
    return json.loads(said.splitlines()[-1])


def printed(*command: str, options: tuple[str, ...] = ()) -> str:
    """What a command prints in a guest of its own. `options` are those of lab/vm/run."""
    runner = [str(ROOT / "lab/vm/run"), "--kernel", str(KERNEL), "--timeout", "600", *options]
    done = subprocess.run([*runner, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in done.stderr.splitlines():
        if "trying once more" in line:
            warnings.warn(line, stacklevel=2)  # pytest tells of it though the test passed
    return done.stdout
