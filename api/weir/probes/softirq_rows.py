# SPDX-License-Identifier: Apache-2.0
"""How long softirqs wait and run, counted in the kernel as long as this process watches
(datapath/loader/softirq.c)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p
from typing import NamedTuple

from weir.probes.library import checked

VECTORS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
"""As /proc/softirqs names them, in the kernel's order."""
STEPS = 64
_LEAST_NS = 256
_NONE = 0xFFFFFFFF
_HEAD = struct.Struct("=8QIi16s16s")
_STEPS = struct.Struct(f"={2 * STEPS}I")
_ROW_BYTES = _HEAD.size + _STEPS.size


class Row(NamedTuple):
    """One vector on one core. `late` waits were of 2^20 ns (1.05 ms) and more, `longer` runs of 2^17 ns
    (131 us) and more, and `dear` those of NET_RX of these that took 32 us and more for each packet. Of the
    longest wait: the task that was current when it ended, and the vector that ran longest in it, "" where
    none ran for a quarter of it."""

    core: int
    vector: str
    waited: int
    late: int
    wait_most_ns: int
    wait_task: str
    behind: str
    ran: int
    longer: int
    dear: int
    packets: int
    run_most_ns: int
    run_task: str


class Steps(NamedTuple):
    """How many waits and runs were in each step (weir/softirq.h)."""

    waits: Sequence[int]
    runs: Sequence[int]


def step_ns(step: int) -> int:
    """Where a step begins, in ns: quarters of octaves from 256 ns on."""
    return (_LEAST_NS << step // 4) * (4 + step % 4) // 4 if step else 0


def quantile_ns(counts: Sequence[int], share: float) -> int | None:
    """Where the step ends that holds this share of what was counted, in ns; the last has no end, and it is
    where that begins. None: nothing was counted."""
    wanted, seen = share * sum(counts), 0
    for step, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return step_ns(min(step + 1, STEPS - 1))
    return None


class SoftirqRows:
    """What it attaches is gone when the process ends. Not thread-safe."""

    def __init__(self, library: str, *, untyped: bool = False) -> None:
        """Nothing is attached yet. `untyped`: as on a kernel without BTF. Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_softirq_open.argtypes = [c_int, POINTER(c_void_p)]
        self._library.weir_softirq_close.argtypes = [c_void_p]
        self._library.weir_softirq_watch.argtypes = [c_void_p, c_int]
        self._library.weir_softirq_read.argtypes = [c_void_p, c_void_p]
        self._run = c_void_p()
        cores = checked(self._library, self._library.weir_softirq_open(untyped, byref(self._run)))
        self._buffer = ctypes.create_string_buffer(cores * len(VECTORS) * _ROW_BYTES)

    def watch(self, on: bool) -> None:
        """On: from now on all is counted, from 0. Off: nothing is. Raises `OSError`."""
        checked(self._library, self._library.weir_softirq_watch(self._run, on))

    def read(self) -> list[Row]:
        """What was counted, of each vector on each core that had any. Raises `OSError`."""
        found = checked(self._library, self._library.weir_softirq_read(self._run, self._buffer))
        rows = (_row(self._buffer, at) for at in range(found))
        return [row for row in rows if row.waited or row.ran]

    def read_steps(self) -> dict[str, Steps]:
        """What was counted, by vector. Raises `OSError`."""
        found = checked(self._library, self._library.weir_softirq_read(self._run, self._buffer))
        sums = {vector: [0] * 2 * STEPS for vector in VECTORS}
        for at in range(found):
            more = _STEPS.unpack_from(self._buffer, at * _ROW_BYTES + _HEAD.size)
            if any(more):
                vector = VECTORS[at % len(VECTORS)]
                sums[vector] = [one + other for one, other in zip(sums[vector], more, strict=True)]
        return {vector: Steps(both[:STEPS], both[STEPS:]) for vector, both in sums.items() if any(both)}

    def close(self) -> None:
        if self._run:
            self._library.weir_softirq_close(self._run)
            self._run = c_void_p()


def _row(buffer: ctypes.Array[ctypes.c_char], at: int) -> Row:
    core, vector = divmod(at, len(VECTORS))
    head = _HEAD.unpack_from(buffer, at * _ROW_BYTES)
    wait_most, run_most, dear, packets, waited, ran, late, longer, behind, _, wait_task, run_task = head
    return Row(
        core,
        VECTORS[vector],
        waited,
        late,
        wait_most,
        _text(wait_task),
        VECTORS[behind] if waited and behind != _NONE else "",
        ran,
        longer,
        dear,
        packets,
        run_most,
        _text(run_task),
    )


def _text(comm: bytes) -> str:
    return comm.split(b"\0", 1)[0].decode(errors="replace")
