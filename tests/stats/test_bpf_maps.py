# SPDX-License-Identifier: Apache-2.0
"""Counters of a real BPF array, through a descriptor that may only read."""

from __future__ import annotations

import ctypes
import os
import struct
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import Usage
from weir.model.problem import Unavailable
from weir.stats.bpf_maps import ArrayReader
from weir.stats.layout import Counters, Layout

MAP_CREATE, MAP_UPDATE_ELEM, MAP_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 0, 2, 14, 15
ARRAY, MMAPABLE, READ_ONLY = 2, 1 << 10, 1 << 3
ROWS = 40_000
_libc = ctypes.CDLL(None, use_errno=True)


def bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    found = _libc.syscall(ctypes.c_long(321), ctypes.c_long(command), buffer, ctypes.c_long(len(attributes)))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


@pytest.fixture
def writable() -> Iterator[int]:
    descriptor = array(64, ROWS)
    yield descriptor
    os.close(descriptor)


def array(row_bytes: int, rows: int) -> int:
    try:
        return bpf(MAP_CREATE, struct.pack("<IIIII", ARRAY, 4, row_bytes, rows, MMAPABLE).ljust(72, b"\0"))
    except OSError as error:
        pytest.skip(f"no BPF maps here: {error}")


@pytest.fixture
def readable(writable: int) -> Iterator[int]:
    descriptor = read_only(writable)
    yield descriptor
    os.close(descriptor)


def read_only(descriptor: int) -> int:
    """A second descriptor of the same map, opened for reading only, as the agent hands it out."""
    info = ctypes.create_string_buffer(256)
    bpf(OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", descriptor, len(info), ctypes.addressof(info)))
    (map_id,) = struct.unpack_from("<I", info, 4)
    return bpf(MAP_GET_FD_BY_ID, struct.pack("<III", map_id, 0, READ_ONLY))


def put(descriptor: int, row: int, words: list[int]) -> None:
    key = ctypes.create_string_buffer(struct.pack("<I", row), 4)
    value = ctypes.create_string_buffer(struct.pack("<8Q", *words), 64)
    attributes = struct.pack("<IIQQQ", descriptor, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
    bpf(MAP_UPDATE_ELEM, attributes)


def test_rows_are_read_in_any_range(writable: int, readable: int) -> None:
    for row in (0, 1, 17, ROWS - 1):
        put(writable, row, [row + 1] * 8)
    reader = ArrayReader(readable, 64, 16_384)
    first = reader.read(0, 16_384).view(np.uint64)
    assert [int(first[row, 3]) for row in (0, 1, 2, 17)] == [1, 2, 0, 18]
    assert int(reader.read(17, 18).view(np.uint64)[0, 0]) == 18
    last = reader.read(ROWS - 100, ROWS).view(np.uint64)
    assert last.shape == (100, 8)
    assert int(last[99, 7]) == ROWS


def test_a_range_beyond_the_map_is_refused(readable: int) -> None:
    with pytest.raises(Unavailable):
        ArrayReader(readable, 64, 200).read(ROWS - 100, ROWS + 100)


def test_a_closed_descriptor_is_refused() -> None:
    with pytest.raises(Unavailable):
        ArrayReader(9999, 64, 10).read(0, 10)


def test_nothing_of_a_whole_table_is_held_between_readings(writable: int) -> None:
    """Lines are the only element of their array: 16 MB of each API, for as long as it lived."""
    table = array(64 * ROWS, 1)
    layout = Layout.read(layout_of(Usage((0, ROWS // 2), *[(0, 0)] * 6, kernel_bytes=0)))
    tracemalloc.start()
    try:
        counters = Counters(layout, read_only(writable), read_only(table))
        resting = tracemalloc.get_traced_memory()[0]
        counters.read(0, 100)
        assert tracemalloc.get_traced_memory()[0] > resting + ROWS * 64
        counters.rest()
        assert tracemalloc.get_traced_memory()[0] < resting + ROWS * 32
    finally:
        tracemalloc.stop()
        os.close(table)
    counters.close()
