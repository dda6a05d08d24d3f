# SPDX-License-Identifier: Apache-2.0
"""Answers of the kernel's FIB that the fast path keeps, and a way to see that a packet went by one."""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir.adapters.datapath import Datapath
from weir.adapters.kernel_routes import read_route_facts

MARKED = bytes.fromhex("0200000000ee")
"""The hardware address in answers that a test has changed."""
_HOP = struct.Struct("=QIIIIIHH6s6sI")  # struct weir_hop


@contextmanager
def _rows(datapath: Datapath) -> Iterator[mmap.mmap]:
    fd = datapath.map_fd("weir_hops")
    try:
        facts = Path(f"/proc/self/fdinfo/{fd}").read_text()
        with mmap.mmap(fd, int(re.findall(r"value_size:\s+(\d+)", facts)[0])) as rows:
            yield rows
    finally:
        os.close(fd)


def kept(datapath: Datapath) -> int:
    """How many answers there are, valid or not."""
    with _rows(datapath) as rows:
        return sum(1 for hop in _HOP.iter_unpack(rows) if hop[0])


def mark(datapath: Datapath) -> int:
    """Have each answer that is kept name a hardware address that nobody has. Returns how many there are."""
    count = 0
    with _rows(datapath) as rows:
        for at in range(0, len(rows), _HOP.size):
            *before, _, end = _HOP.unpack_from(rows, at)
            if before[0]:
                _HOP.pack_into(rows, at, *before, MARKED, end)
                count += 1
    return count


def forget(datapath: Datapath) -> None:
    with _rows(datapath) as rows:
        rows[:] = bytes(len(rows))


def let_keep(datapath: Datapath) -> None:
    """As the agent does when routes have changed."""
    datapath.look_at_routes()
    datapath.routes_are_plain(read_route_facts().regions)
