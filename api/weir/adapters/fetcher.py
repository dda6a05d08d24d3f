# SPDX-License-Identifier: Apache-2.0
"""The process that fetches one list of addresses (`weir.courier.fetch`), and what it hands over; others that
have an order say it in the same way."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from weir.adapters.confined import ended, start_confined, why
from weir.model.prefix_groups import MOST_BYTES_EACH, Groups, unpacked
from weir.model.problem import Invalid

FETCH_S = 60.0
_LATE_S = 15.0
"""For so long the process may still say that it is too late."""
_MOST_HEAD_BYTES = 4096
_MOST_CHARS = 400
_Said = TypeVar("_Said")


@dataclass(frozen=True, slots=True)
class Fetched:
    """`error` "": it was had. `groups` None: it is as it was when it had this `etag` or `modified`."""

    error: str
    groups: Groups | None = None
    skipped: int = 0
    etag: str = ""
    modified: str = ""


class Unsaid(Exception):
    """A process handed over nothing that can be used; the message says why."""


def fetch(order: dict[str, Any], seconds: float = FETCH_S) -> Fetched:
    """One try, which ends in bounded time, and only what was checked. The thread that calls it has to stay:
    the process ends with it."""
    most = _MOST_HEAD_BYTES + order["most_entries"] * MOST_BYTES_EACH

    def read(said: bytes) -> Fetched:
        return _fetched(said, order["most_entries"])

    try:
        return handed_over("weir.courier.fetch", order, seconds, most, read)
    except Unsaid as unsaid:
        return Fetched(str(unsaid))


def _fetched(said: bytes, most_entries: int) -> Fetched:
    """Raises `ValueError`, `KeyError` or `TypeError` for what it never says."""
    head, _, body = said.partition(b"\n")
    try:
        found = json.loads(head)
        if found["what"] == "failed":
            return Fetched(str(found["answer"])[:_MOST_CHARS] or "it failed without a word")
        groups = None if found["what"] == "unchanged" else unpacked(body, most_entries)
        return Fetched("", groups, int(found["skipped"]), str(found["etag"]), str(found["modified"]))
    except Invalid as problem:
        return Fetched(problem.message)


def handed_over(
    module: str, order: dict[str, Any], seconds: float, most_bytes: int, read: Callable[[bytes], _Said]
) -> _Said:
    """What `read` makes of all that a process without rights says to an order, which has `seconds` for it;
    where it raises `ValueError`, `KeyError` or `TypeError` the process has failed. Raises `Unsaid`."""
    try:
        process = start_confined(module, str(os.getpid()), str(seconds), stdin=subprocess.PIPE)
    except OSError as error:
        raise Unsaid(f"no process could be started for it: {error.strerror}") from error
    with process:
        try:
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            with suppress(BrokenPipeError):  # it says why
                process.stdin.write(json.dumps({**order, "seconds": seconds}).encode())
                process.stdin.close()
            said = _read(process.stdout, time.monotonic() + seconds + _LATE_S, most_bytes)
            if said is None:
                raise Unsaid("it was not done in time: the server answers too slowly")
            try:
                return read(said)
            except (ValueError, KeyError, TypeError) as error:
                is_long = len(said) >= most_bytes
                complaint = b"it says too much" if is_long else process.stderr.read(_MOST_HEAD_BYTES)
                raise Unsaid(f"the process for it failed: {why(ended(process), complaint)}") from error
        finally:
            process.kill()


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
