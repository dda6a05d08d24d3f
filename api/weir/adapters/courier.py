# SPDX-License-Identifier: Apache-2.0
"""The process that takes one message to one receiver."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import IO, Any

from weir.adapters.confined import ended, start_confined, why
from weir.redaction import redacted

ATTEMPT_S = 20.0
"""One attempt as a whole: a server may answer each step just in time."""
MOST_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Outcome:
    """`answer` is the server's, or what went wrong, in one line."""

    delivered: bool
    answer: str


def deliver(order: dict[str, Any], attempt_s: float = ATTEMPT_S) -> Outcome:
    """One attempt, which ends in bounded time. The order has the secret, so it goes by a pipe: arguments and
    environments are told to others. The thread that calls it has to stay: the process ends with it."""
    try:
        parent, seconds = str(os.getpid()), str(attempt_s)
        process = start_confined(
            "weir.courier", parent, seconds, stdin=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        return Outcome(False, f"no process could be started for it: {error.strerror}")
    with process:
        try:
            return _outcome(process, order, time.monotonic() + attempt_s)
        finally:
            process.kill()


def _outcome(process: subprocess.Popen[bytes], order: dict[str, Any], until_s: float) -> Outcome:
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
    except BrokenPipeError:
        pass  # it says why
    said = _read(process.stdout, until_s)
    if said is None:
        return Outcome(False, "it was not done in time: the server answers too slowly")
    try:
        found = json.loads(said)
        return Outcome(bool(found["delivered"]), str(found["answer"]))
    except (ValueError, KeyError, TypeError):
        text, is_cut = said.decode("utf-8", "replace"), len(said) >= MOST_BYTES
        text = redacted(text, order["secret"], order["username"], is_cut=is_cut)
        if is_cut:
            process.kill()
        return Outcome(False, f"the process for it failed: {why(ended(process), text.encode())}")


def _read(stream: IO[bytes], until_s: float) -> bytes | None:
    """All that is said, up to `MOST_BYTES`; None when the time is over before."""
    found = b""
    while len(found) < MOST_BYTES:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([stream], [], [], left_s)[0]:
            return None
        part = os.read(stream.fileno(), 4096)
        if not part:
            break
        found += part
    return found
