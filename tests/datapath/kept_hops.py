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


def _used(rows: mmap.mmap) -> list[int]:
    """The places of answers, valid or not, in bytes. Nearly all rows are empty."""
    with memoryview(rows) as whole, whole.cast("Q") as words, words[:: _HOP.size // 8] as firsts:
        return [number * _HOP.size for number, first in enumerate(firsts) if first]


def kept(datapath: Datapath) -> int:
    """How many answers there are, valid or not."""
    with _rows(datapath) as rows:
        return len(_used(rows))


def mark(datapath: Datapath) -> int:
    """Have each answer that is kept name a hardware address that nobody has. Returns how many there are."""
    with _rows(datapath) as rows:
        places = _used(rows)
        for at in places:
            *before, _, end = _HOP.unpack_from(rows, at)
            _HOP.pack_into(rows, at, *before, MARKED, end)
        return len(places)


def forget(datapath: Datapath) -> None:
    with _rows(datapath) as rows:
        rows[:] = bytes(len(rows))


def let_keep(datapath: Datapath) -> None:
    """As the agent does when routes have changed."""
    datapath.look_at_routes()
    datapath.routes_are_plain(read_route_facts().regions)
