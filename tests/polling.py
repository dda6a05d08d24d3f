# SPDX-License-Identifier: Apache-2.0
"""Waiting for what must become true, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

WAIT_S = 90.0


def until(what: str, ready: Callable[[], Any], within_s: float = WAIT_S) -> Any:
    """Poll until `ready` gives something true; fail naming `what`."""
    deadline = time.monotonic() + within_s
    while True:
        found = ready()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what} (last: {found!r})")
        time.sleep(0.02)
