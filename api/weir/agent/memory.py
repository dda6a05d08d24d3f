# SPDX-License-Identifier: Apache-2.0
"""Memory of a long-lived process with 100,000 long-lived objects."""

from __future__ import annotations

import ctypes
import gc

_GC_THRESHOLDS = (50_000, 20, 100)


def prepare() -> None:
    """Collect seldom: a full collection over 100,000 queues stops a change for 100 ms and finds nothing."""
    gc.set_threshold(*_GC_THRESHOLDS)


def give_back_memory() -> None:
    """After something large: collect once, keep what is left out of later collections, trim the heap."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.malloc_trim(0)
