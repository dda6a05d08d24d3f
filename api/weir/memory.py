# SPDX-License-Identifier: Apache-2.0
"""Memory of a long-lived process with 100,000 long-lived objects."""

from __future__ import annotations

import ctypes
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

_GC_THRESHOLDS = (50_000, 20, 100)
_M_ARENA_MAX = -8
"""mallopt(3): how many heaps glibc makes for the threads. Each keeps what its threads once needed."""


def prepare() -> None:
    """Before the first thread: collect seldom (a full collection over 100,000 queues stops a change for
    100 ms and finds nothing), and one heap for all threads."""
    gc.set_threshold(*_GC_THRESHOLDS)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_ARENA_MAX, 1)


_AFTER_S = (1.0, 10.0)
"""Twice: requests are cycles, so what one held is garbage only when its answer has been read."""
_lock = threading.Lock()
_is_waiting = False
_compactions: list[Callable[[], None]] = []


def give_back_soon(compact: Callable[[], None] | None = None) -> None:
    """`give_back_memory` in a moment, when whoever asks has let go of what it holds.

    `compact` is called before: it makes anew what lives long and lies scattered among what is gone.
    """
    global _is_waiting
    with _lock:
        if compact is not None and compact not in _compactions:
            _compactions.append(compact)
        if _is_waiting:
            return
        _is_waiting = True
    threading.Thread(target=_give_back_later, name="memory", daemon=True).start()


def _give_back_later() -> None:
    global _is_waiting
    try:
        for pause_s in _AFTER_S:
            time.sleep(pause_s)
            give_back_memory()
            with _lock:
                wanted = list(_compactions)
                _compactions.clear()
            for compact in wanted:
                compact()
                give_back_memory()
    except Exception:
        log.exception("memory could not be given back")
    finally:
        with _lock:
            _is_waiting = False


def give_back_memory() -> None:
    """After something large: collect once, keep what is left out of later collections, trim the heap."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.malloc_trim(0)


_AT_ONCE = 100
_PAUSE_S = 0.005


def unhurried(items: Iterable[T]) -> Iterator[T]:
    """The items, with pauses in which other threads get the interpreter: for work that can wait."""
    for number, item in enumerate(items):
        if number % _AT_ONCE == 0:
            time.sleep(_PAUSE_S)
        yield item
