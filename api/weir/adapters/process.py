# SPDX-License-Identifier: Apache-2.0
"""Programs of the operating system, run without a shell, with a deadline and a clear error."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from weir.model.problem import ApplyFailed, Unavailable

DEFAULT_TIMEOUT_S = 20.0
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
_MAX_MESSAGE_CHARS = 500
_PIPE = subprocess.PIPE


def run(
    argv: Sequence[str],
    *,
    text: str = "",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    started: Callable[[int], None] = lambda pid: None,
    more_s: Callable[[], float] = lambda: 0.0,
) -> str:
    """Run a program with `text` as its input and return what it printed; `started` is told its process.

    When `timeout_s` are over, `more_s` is asked once for how many seconds more it may take.

    Raises `ApplyFailed` (code `command-failed`) with the program's own words, or `Unavailable`
    (`program-missing`, `program-timeout`).
    """
    try:
        process = subprocess.Popen(argv, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE, text=True, env=ENVIRONMENT)
    except FileNotFoundError as error:
        raise Unavailable(f"the program {argv[0]} is not installed", code="program-missing") from error
    except PermissionError as error:
        raise Unavailable(f"{argv[0]} may not be run: {error.strerror}", code="program-missing") from error
    with process:
        started(process.pid)
        try:
            printed, complained = _communicated(process, text, timeout_s, more_s)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise Unavailable(
                f"{argv[0]} did not finish in {error.timeout:.3g} s", code="program-timeout"
            ) from error
    if process.returncode != 0:
        said = " ".join((complained.strip() or printed.strip() or "it said nothing").split())
        raise ApplyFailed(f"{argv[0]}: {said[:_MAX_MESSAGE_CHARS]}", code="command-failed")
    return printed


def _communicated(
    process: subprocess.Popen[str], text: str, timeout_s: float, more_s: Callable[[], float]
) -> tuple[str, str]:
    try:
        return process.communicate(text, timeout_s)
    except subprocess.TimeoutExpired as late:
        more = more_s()
        if more <= 0:
            raise
        try:
            return process.communicate(timeout=more)  # nothing that was read is lost
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(late.cmd, timeout_s + more) from late
