# SPDX-License-Identifier: Apache-2.0
"""Memory and threads of a long-lived process with 100,000 long-lived objects."""

from __future__ import annotations

import ctypes
import gc
import logging
import sys
import threading
import time

log = logging.getLogger(__name__)

_GC_THRESHOLDS = (5_000, 10, 2_000)
"""A collection of the youngest stops everybody for as long as they are many: 50,000 took 10 to 50 ms. All
objects are looked at after a hundred million that came and stayed."""
_M_ARENA_MAX = -8
"""mallopt(3): how many heaps glibc makes for the threads. Each keeps what its threads once needed."""
_M_MMAP_THRESHOLD = -3
_MMAP_THRESHOLD_BYTES = 512 * 1024
"""Larger pieces (a dictionary of 100,000 has 5 MB) get a mapping of their own, which goes back when it is
freed. Set once, glibc does not raise it any more, as it does to 32 MB for who frees such pieces."""

_SWITCH_S = 0.0005
"""So long a thread that computes keeps the interpreter from others. A change of one queue lets go of it some
fifty times; beside a commit of 50,000 it waited 5 ms (Python's default) for it each time, and half of the
changes took longer than a second (docs/adr/0111)."""


def prepare() -> None:
    """Before the first thread: collect seldom (a full collection over 100,000 queues stops a change for
    100 ms and finds nothing), one heap for all threads, large pieces outside it, and short turns.

    Nothing is collected before `leave_out_what_is_loaded`, which `keep_trimmed` does: modules stay, and
    collections while they were loaded were an eighth of a start's time.
    """
    gc.disable()
    gc.set_threshold(*_GC_THRESHOLDS)
    sys.setswitchinterval(_SWITCH_S)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)


LOADED_S = 5.0
"""So long after a process began it has loaded what it needs, and nobody waits for it any more."""
TRIM_S = 60.0
COLLECTING_SHARE = 1 / 1000
"""So much of the time may go to collections of all objects, each of which stops everybody: 3 ms in an agent
with 1,000 queues, 100 ms with 100,000."""


def keep_trimmed() -> None:
    """Give back what was freed between things in use, once every `TRIM_S`, as long as the process lives.

    By itself glibc gives back the end of the heap only: a thousand changes left a megabyte of holes. At first
    (after `LOADED_S`) what is loaded is left out of collections.

    All objects are collected as well. What was in use during two collections of the younger ones is looked at
    by none after them: of the cycles that netlink's messages are, 10 MB in an hour stayed.
    """
    threading.Thread(target=_keep_trimmed, name="trim", daemon=True).start()


def _keep_trimmed() -> None:
    time.sleep(LOADED_S)
    leave_out_what_is_loaded()
    due_s = 0.0
    while True:
        time.sleep(TRIM_S)
        begun_s = time.monotonic()
        if begun_s >= due_s:
            gc.collect()
            due_s = begun_s + (time.monotonic() - begun_s) / COLLECTING_SHARE
        trim()


def trim() -> None:
    """Give the heap's free pages back; a few milliseconds."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.malloc_trim(0)


_AFTER_S = (1.0, 10.0)
"""Twice: requests are cycles, so what one held is garbage only when its answer has been read."""
_lock = threading.Lock()
_is_waiting = False


def give_back_soon() -> None:
    """`give_back_memory` in a moment, when the caller has let go of what it holds."""
    global _is_waiting
    with _lock:
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
    except Exception:
        log.exception("memory could not be given back")
    finally:
        with _lock:
            _is_waiting = False


def leave_out_what_is_loaded() -> None:
    """Later collections do not look at the objects that there are now: modules, most of all, which stay.

    They are ten times as many as all others: with them a collection stopped every request for 60 to 130 ms.
    What of them becomes garbage in a cycle stays, which is why it is done once only.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def give_back_memory() -> None:
    """After something large: collect what is not counted any more, and trim the heap."""
    gc.collect()
    trim()
