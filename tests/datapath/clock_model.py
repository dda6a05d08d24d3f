# SPDX-License-Identifier: Apache-2.0
"""A line in exact fractions, and datapath/bpf/clock.h compiled for this machine to compare it with."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from tests.datapath.loaded import SECOND_NS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "datapath" / "tests" / "clock_shim.c"
LEVELS = 8
TICKS_PER_NS = 16
QUANTUM_TK = 256
AHEAD_NS = 50_000
"""What a CPU charges to an ancestor ahead of its packets (WEIR_QUANTUM_NS)."""


class Line(ctypes.Structure):
    _fields_ = [
        ("clock_tk", ctypes.c_uint64),
        ("cost", ctypes.c_uint64),
        ("burst", ctypes.c_uint32),
        ("limit", ctypes.c_uint32),
        ("parent", ctypes.c_uint32),
        ("shared", ctypes.c_uint32),
        ("counters", ctypes.c_uint64 * 3),
        ("flags", ctypes.c_uint32),
        ("held", ctypes.c_uint32),
    ]


@dataclass
class ModelLine:
    """A line in exact arithmetic: when what was charged has left, in ns."""

    rate_bps: int
    burst_ns: int
    limit_ns: int
    clock_ns: Fraction = field(default_factory=Fraction)

    def over(self, now_ns: int, police: bool) -> bool:
        return bool(self.rate_bps) and self.clock_ns > now_ns + (0 if police else self.limit_ns)

    def charge(self, now_ns: int, size_bytes: int, burst_min_ns: int) -> Fraction:
        if not self.rate_bps:
            return Fraction(now_ns)
        start = max(self.clock_ns, Fraction(now_ns - max(self.burst_ns, burst_min_ns)))
        self.clock_ns = start + Fraction(size_bytes * 8 * SECOND_NS, self.rate_bps)
        return start


def cost_of(rate_bps: int) -> int:
    return round(Fraction(8 * SECOND_NS * TICKS_PER_NS * 65536, rate_bps)) if rate_bps else 0


class Shim:
    """The clocks' code with a time and a processor that a test chooses. All lines are free at first."""

    def __init__(self, folder: Path) -> None:
        library = folder / "clock_shim.so"
        include = f"-I{ROOT / 'datapath' / 'include'}"
        subprocess.run(
            ["cc", "-O1", "-std=gnu11", "-shared", "-fPIC", include, str(SOURCE), "-o", str(library)],
            check=True,
        )
        self._library = ctypes.CDLL(str(library))
        self._library.shim_table.restype = ctypes.POINTER(Line)
        self._library.shim_prepaid_tk.restype = ctypes.c_uint64
        word, long = ctypes.c_uint32, ctypes.c_uint64
        self._library.shim_packet.argtypes = [word, long, word, word, ctypes.c_int, ctypes.POINTER(long)]
        self.lines = self._library.shim_table()

    def reset(self) -> None:
        self._library.shim_reset()

    def chain(self, lines: list[ModelLine], first: int = 1) -> None:
        """Lines from the class to the root, at consecutive places."""
        for index, line in enumerate(lines, first):
            parent = index + 1 if index < first + len(lines) - 1 else 0
            burst, limit = line.burst_ns // 16, line.limit_ns // 16
            self.lines[index] = Line(0, cost_of(line.rate_bps), burst, limit, parent, 0)

    def refund(self, line: int, size_bytes: int, *, cpu: int = 0) -> None:
        """Take the charge of the processor's last packet back."""
        self._library.shim_cpu(cpu)
        self._library.shim_refund(line, size_bytes)

    def prepaid_tk(self, line: int) -> int:
        """What all processors have charged to an ancestor and not used."""
        prepaid: int = self._library.shim_prepaid_tk(line)
        return prepaid

    def packet(
        self,
        line: int,
        now_tk: int,
        size_bytes: int,
        *,
        burst_min_ns: int = 0,
        police: bool = False,
        cpu: int = 0,
    ) -> tuple[int, int]:
        """(0, departure in ticks), or (1 or 2, 0) when the line or an ancestor is over its limit."""
        departure_tk = ctypes.c_uint64()
        self._library.shim_cpu(cpu)
        result = self._library.shim_packet(line, now_tk, size_bytes, burst_min_ns // 16, police, departure_tk)
        return result, departure_tk.value
