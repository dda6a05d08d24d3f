# SPDX-License-Identifier: Apache-2.0
"""A program of our own in a process that gives up all rights before it does its work
(`weir.probes.confine`)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO

from weir.adapters.process import ENVIRONMENT

_END_S = 5.0
_RESOLVER = {"RES_OPTIONS": "timeout:2 attempts:2"}
"""A lookup's time is bounded (resolv.conf(5))."""


def start_confined(
    module: str,
    *arguments: str,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """`python -m MODULE ARGUMENTS`, in a session of its own. The thread that calls it has to stay: the
    process ends with it. Raises `OSError`."""
    kept = {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
    return subprocess.Popen(
        (sys.executable, "-m", module, *arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env={**ENVIRONMENT, **kept, **_RESOLVER},
        start_new_session=True,
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    """The exit status, negative for a signal, of one that has closed its output, so is about to end."""
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def why(code: int, complaint: bytes, most_chars: int = 200) -> str:
    """Why it ended, in one line: the end of what it complained of, or how."""
    said = " ".join(complaint.decode("utf-8", "replace").split())[-most_chars:]
    return said or (
        f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}, without a word"
    )
