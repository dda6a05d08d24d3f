# SPDX-License-Identifier: Apache-2.0
"""What somebody with root's rights does to programs and maps, by the system call."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from pathlib import Path

from lab import netns
from tests.agent.rig import Rig
from tests.datapath.bpf_run import bpf, map_delete, map_keys

_MAP_UPDATE_ELEM, _PROG_LOAD, _OBJ_GET = 2, 5, 7
_LINK_CREATE, _LINK_UPDATE, _LINK_DETACH = 28, 29, 34
_SCHED_CLS = 3
_LPM_TRIE = 11
_BEFORE = 1 << 3
INGRESS, EGRESS = 46, 47


def pins(rig: Rig) -> Path:
    return rig.folder / "bpf"


def opened(pin: Path) -> int:
    """A descriptor of what is pinned there; the caller closes it."""
    name = ctypes.create_string_buffer(os.fsencode(pin))
    return bpf(_OBJ_GET, bytearray(struct.pack("<QII", ctypes.addressof(name), 0, 0)))


def detach(pin: Path) -> None:
    link = opened(pin)
    bpf(_LINK_DETACH, bytearray(struct.pack("<I", link)))
    os.close(link)


def idle_program() -> int:
    """A program that lets every packet pass and ends the chain (TCX_PASS)."""
    instructions = ctypes.create_string_buffer(bytes([0xB7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0]))
    licence = ctypes.create_string_buffer(b"GPL")
    places = (ctypes.addressof(instructions), ctypes.addressof(licence))
    return bpf(_PROG_LOAD, bytearray(struct.pack("<IIQQ96x", _SCHED_CLS, 2, *places)))


def replace_program(pin: Path) -> None:
    link, program = opened(pin), idle_program()
    bpf(_LINK_UPDATE, bytearray(struct.pack("<IIII", link, program, 0, 0)))
    os.close(link)
    os.close(program)


def attach_first(rig: Rig, device: str, hook: int) -> int:
    """Another's program before all others of a hook, for as long as the descriptor is open."""
    program = idle_program()
    request = bytearray(struct.pack("<IIII48x", program, ifindex(rig, device), hook, _BEFORE))
    with netns.inside(rig.router):
        link = bpf(_LINK_CREATE, request)
    os.close(program)
    return link


def write(pin: Path, index: int, value: bytes) -> None:
    """Write one entry of an array."""
    table = opened(pin)
    key, data = (
        ctypes.create_string_buffer(index.to_bytes(4, "little"), 4),
        ctypes.create_string_buffer(value),
    )
    places = (ctypes.addressof(key), ctypes.addressof(data))
    bpf(_MAP_UPDATE_ELEM, bytearray(struct.pack("<I4xQQQ", table, *places, 0)))
    os.close(table)


def overwrite(pin: Path, place: int, data: bytes) -> None:
    """Write bytes into the memory of an array."""
    table = opened(pin)
    with mmap.mmap(table, place + len(data)) as memory:
        memory[place : place + len(data)] = data
    os.close(table)


def empty(pin: Path) -> None:
    """Zeros all over an array, or no entry in a trie."""
    table = opened(pin)
    facts = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{table}").read_text().splitlines())
    if int(facts["map_type"]) == _LPM_TRIE:
        for key in map_keys(table, int(facts["key_size"])):
            map_delete(table, key)
    else:
        size = int(facts["max_entries"]) * int(facts["value_size"])
        with mmap.mmap(table, size) as memory:
            memory[:size] = bytes(size)
    os.close(table)


def ifindex(rig: Rig, device: str) -> int:
    return next(int(link["ifindex"]) for link in rig.json("ip", "-j", "link") if link["ifname"] == device)
