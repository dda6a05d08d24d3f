# SPDX-License-Identifier: Apache-2.0
"""Reading BPF arrays in bulk through a read-only descriptor: one system call for thousands of rows.

The kernel refuses to map an array whose descriptor is read-only (`bpf_map_mmap` wants VM_SHARED,
which `do_mmap` takes away from files that are not open for writing), and this process must not hold
a writable one. `BPF_MAP_LOOKUP_BATCH` needs no privilege beyond the descriptor since Linux 5.19.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os

import numpy as np
import numpy.typing as npt

from weir.model.problem import Unavailable

_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
_LOOKUP_BATCH = 24
_ENOENT = 2
_libc = ctypes.CDLL(None, use_errno=True)


class _Batch(ctypes.Structure):
    """The `batch` member of `union bpf_attr` (include/uapi/linux/bpf.h)."""

    _fields_ = (
        ("in_batch", ctypes.c_uint64),
        ("out_batch", ctypes.c_uint64),
        ("keys", ctypes.c_uint64),
        ("values", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("map_fd", ctypes.c_uint32),
        ("elem_flags", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
    )


class ArrayReader:
    """Reads rows of an array of `stride` bytes per row; at most `rows` at a time, into one buffer."""

    def __init__(self, descriptor: int, stride: int, rows: int) -> None:
        """The descriptor stays the caller's."""
        self._descriptor = descriptor
        self.rows = rows
        self._values = np.zeros((rows, stride), np.uint8)
        self._keys = np.zeros(rows, np.uint32)
        self._number = _SYS_BPF.get(os.uname().machine, 0)

    def read(self, start: int, end: int) -> npt.NDArray[np.uint8]:
        """Rows `start` to `end` as bytes, valid until the next call. Raises Unavailable."""
        wanted = end - start
        before = ctypes.c_uint32(start - 1)
        after = ctypes.c_uint32(0)
        batch = _Batch(
            in_batch=ctypes.addressof(before) if start else 0,
            out_batch=ctypes.addressof(after),
            keys=self._keys.ctypes.data,
            values=self._values.ctypes.data,
            count=wanted,
            map_fd=self._descriptor,
        )
        failed = _libc.syscall(
            ctypes.c_long(self._number),
            ctypes.c_long(_LOOKUP_BATCH),
            ctypes.byref(batch),
            ctypes.c_long(ctypes.sizeof(batch)),
        )
        error = ctypes.get_errno()
        if (failed and error != _ENOENT) or batch.count != wanted:
            reason = os.strerror(error) if failed else f"{batch.count} of {wanted} rows"
            raise Unavailable(f"the counters cannot be read: {reason}", code="no-counters")
        return self._values[:wanted]


class ArrayRows:
    """Rows of one array: mapped into memory where the kernel allows it, else read in bulk, at most `chunk` at
    once. The descriptor stays the caller's."""

    def __init__(self, descriptor: int, lines: int, stride: int, chunk: int) -> None:
        self._stride = stride
        self._map: mmap.mmap | None = None
        self._reader = ArrayReader(descriptor, stride, min(chunk, lines))
        with contextlib.suppress(OSError, ValueError):
            self._map = mmap.mmap(descriptor, lines * stride, mmap.MAP_SHARED, mmap.PROT_READ)

    def read(self, start: int, end: int) -> npt.NDArray[np.uint8]:
        """[row, byte], valid until the next call."""
        if self._map is None:
            return self._reader.read(start, end)
        rows = np.frombuffer(self._map, np.uint8, (end - start) * self._stride, start * self._stride)
        return rows.reshape(end - start, self._stride)

    def forget(self) -> None:
        """What was read: the memory is not needed any more."""

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
