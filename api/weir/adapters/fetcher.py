# SPDX-License-Identifier: Apache-2.0
"""The process that fetches one list of addresses (`weir.courier.fetch`), and what it hands over."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from weir.adapters.confined import ended, start_confined, why
from weir.model.prefix_groups import MOST_BYTES_EACH, Groups, unpacked
from weir.model.problem import Invalid

FETCH_S = 60.0
_LATE_S = 15.0
"""For so long the process may still say that it is too late."""
_MOST_HEAD_BYTES = 4096
_MOST_CHARS = 400


@dataclass(frozen=True, slots=True)
class Fetched:
    """`error` "": it was had. `groups` None: it is as it was when it had this `etag` or `modified`."""

    error: str
    groups: Groups | None = None
    skipped: int = 0
    etag: str = ""
    modified: str = ""


def fetch(order: dict[str, Any], seconds: float = FETCH_S) -> Fetched:
    """One try, which ends in bounded time, and only what was checked. The thread that calls it has to stay:
    the process ends with it."""
    try:
        process = start_confined("weir.courier.fetch", str(os.getpid()), str(seconds), stdin=subprocess.PIPE)
    except OSError as error:
        return Fetched(f"no process could be started for it: {error.strerror}")
    with process:
        try:
            return _fetched(process, {**order, "seconds": seconds}, time.monotonic() + seconds + _LATE_S)
        finally:
            process.kill()


def _fetched(process: subprocess.Popen[bytes], order: dict[str, Any], until_s: float) -> Fetched:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with suppress(BrokenPipeError):  # it says why
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
    most = _MOST_HEAD_BYTES + order["most_entries"] * MOST_BYTES_EACH
    said = _read(process.stdout, until_s, most)
    if said is None:
        return Fetched("it was not done in time: the server answers too slowly")
    head, _, body = said.partition(b"\n")
    try:
        found = json.loads(head)
        if found["what"] == "failed":
            return Fetched(str(found["answer"])[:_MOST_CHARS] or "it failed without a word")
        groups = None if found["what"] == "unchanged" else unpacked(body, order["most_entries"])
        return Fetched("", groups, int(found["skipped"]), str(found["etag"]), str(found["modified"]))
    except Invalid as problem:
        return Fetched(problem.message)
    except (ValueError, KeyError, TypeError):
        complaint = process.stderr.read(_MOST_HEAD_BYTES) if len(said) < most else b"it says too much"
        return Fetched(f"the process for it failed: {why(ended(process), complaint)}")


def _read(stream: IO[bytes], until_s: float, most: int) -> bytes | None:
    """All that is said, up to so many bytes; None when the time is over before."""
    found = bytearray()
    while len(found) < most:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([stream], [], [], left_s)[0]:
            return None
        part = os.read(stream.fileno(), 1 << 16)
        if not part:
            break
        found += part
    return bytes(found)
