# SPDX-License-Identifier: Apache-2.0
"""The counters of all lines as a stream from the kernel: an iterator, whose rows are `struct weir_reading`.

Looking rows up in an array (`bpf_maps`) takes some 300 ns each, of three arrays; this takes a tenth of that
for all. BPF_ITER_CREATE needs no privilege beyond the descriptor that the agent gives away since Linux 5.19.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable

_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
_ITER_CREATE = 33
_STRIDE = 64
COUNTER_WORDS = 6
"""Of 64 bits; then come counters of 32, and the longest wait."""
SHORT_AT, WORST_AT = 12, 14
"""In words of 32 bits: where the counters of 32 bits begin, and the longest wait in microseconds."""
U64 = npt.NDArray[np.uint64]
_libc = ctypes.CDLL(None, use_errno=True)


class _Create(ctypes.Structure):
    _fields_ = (("link", ctypes.c_uint32), ("flags", ctypes.c_uint32))


class Readings:
    """Behind a link's descriptor, which `close` closes. One thread at a time."""

    def __init__(self, answer: Mapping[str, Any], link: int, rows: int) -> None:
        """Takes over the descriptor, also when it fails; at most `rows` are read at once. Raises
        Unavailable."""
        self._link = link
        self._iterator = -1
        self._next = 0
        if answer.get("stride") != _STRIDE:
            self.close()
            raise Unavailable("the agent's layout of readings is not understood")
        self._values = np.zeros((rows, _STRIDE // 8), np.uint64)
        self._number = _SYS_BPF.get(os.uname().machine, 0)

    def rows(self, start: int, end: int) -> U64:
        """[line, word], valid until the next call. From 0 a new reading begins; the rest comes in order.

        Raises Unavailable.
        """
        if start == 0:
            self._begin()
        if start != self._next or self._iterator < 0:
            raise Unavailable(f"line {start} does not follow line {self._next}", code="no-counters")
        wanted = self._values.data.cast("B")[: (end - start) * _STRIDE]
        while wanted:
            try:
                count = os.readv(self._iterator, [wanted])
            except OSError as error:
                raise Unavailable(
                    f"the counters cannot be read: {error.strerror}", code="no-counters"
                ) from error
            if not count:
                raise Unavailable(f"the counters end before line {end}", code="no-counters")
            wanted = wanted[count:]
        self._next = end
        return self._values[: end - start]

    def _begin(self) -> None:
        self._end()
        attributes = _Create(self._link, 0)
        made = _libc.syscall(
            ctypes.c_long(self._number),
            ctypes.c_long(_ITER_CREATE),
            ctypes.byref(attributes),
            ctypes.c_long(ctypes.sizeof(attributes)),
        )
        if made < 0:
            reason = os.strerror(ctypes.get_errno())
            raise Unavailable(f"the counters cannot be read: {reason}", code="no-counters")
        self._iterator, self._next = made, 0

    def _end(self) -> None:
        if self._iterator >= 0:
            os.close(self._iterator)
        self._iterator = -1

    def close(self) -> None:
        self._end()
        if self._link >= 0:
            os.close(self._link)
        self._link = -1
