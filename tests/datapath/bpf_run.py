# SPDX-License-Identifier: Apache-2.0
"""Run one packet through a loaded program (BPF_PROG_TEST_RUN) and see what became of it."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_SYS_BPF = 321  # x86-64
_BPF_MAP_LOOKUP_ELEM, _BPF_MAP_UPDATE_ELEM = 1, 2
_BPF_MAP_DELETE_ELEM, _BPF_MAP_GET_NEXT_KEY = 3, 4
_BPF_PROG_TEST_RUN = 10
_BPF_PROG_GET_FD_BY_ID = 13
_BPF_OBJ_GET_INFO_BY_FD = 15
_BPF_PROG_QUERY = 16
_TCX_INGRESS, _TCX_EGRESS = 46, 47

NEXT = 0xFFFFFFFF  # TCX_NEXT, TC_ACT_UNSPEC
DROP = 2  # TCX_DROP, TC_ACT_SHOT

_SK_BUFF_SIZE = 192
_OFFSETS = {
    "mark": 8,
    "priority": 32,
    "ingress_ifindex": 36,
    "ifindex": 40,
    "wire_len": 160,
    "gso_segs": 164,
    "gso_size": 176,
}
_TSTAMP = 152
_VLAN_TAG_BYTES = 4

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Run:
    """The verdict and what the program left in the packet's metadata."""

    verdict: int
    mark: int
    priority: int
    tstamp_ns: int
    duration_ns: int
    frame: bytes


def bpf(command: int, attributes: bytearray) -> int:
    buffer = (ctypes.c_char * len(attributes)).from_buffer(attributes)
    result: int = _libc.syscall(_SYS_BPF, command, buffer, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def run(program_fd: int, packet: bytes, *, repeat: int = 1, tstamp_ns: int = 0, **fields: int) -> Run:
    """`fields` of struct __sk_buff, of those in _OFFSETS."""
    context = bytearray(_SK_BUFF_SIZE)
    for name, value in fields.items():
        struct.pack_into("<I", context, _OFFSETS[name], value)
    struct.pack_into("<Q", context, _TSTAMP, tstamp_ns)
    data = ctypes.create_string_buffer(packet, len(packet))
    frame = ctypes.create_string_buffer(len(packet))
    given = (ctypes.c_char * len(context)).from_buffer(context)
    after = ctypes.create_string_buffer(_SK_BUFF_SIZE)
    attributes = bytearray(
        struct.pack(
            "<IIIIQQIIIIQQ16x",
            program_fd,
            0,
            len(packet),
            len(packet),
            ctypes.addressof(data),
            ctypes.addressof(frame),
            repeat,
            0,
            _SK_BUFF_SIZE,
            _SK_BUFF_SIZE,
            ctypes.addressof(given),
            ctypes.addressof(after),
        )
    )
    bpf(_BPF_PROG_TEST_RUN, attributes)
    verdict, duration = (
        struct.unpack_from("<I", attributes, 4)[0],
        struct.unpack_from("<I", attributes, 36)[0],
    )
    mark, priority = (struct.unpack_from("<I", after, _OFFSETS[name])[0] for name in ("mark", "priority"))
    return Run(verdict, mark, priority, struct.unpack_from("<Q", after, _TSTAMP)[0], duration, frame.raw)


def run_xdp(program_fd: int, packet: bytes, ifindex: int) -> tuple[int, bytes]:
    """(verdict, the frame afterwards) of an XDP program for a frame that arrives at an interface."""
    context = ctypes.create_string_buffer(struct.pack("<IIIIII", 0, len(packet), 0, ifindex, 0, 0), 24)
    data = ctypes.create_string_buffer(packet, len(packet))
    after = ctypes.create_string_buffer(len(packet) + _VLAN_TAG_BYTES)
    places = (ctypes.addressof(data), ctypes.addressof(after))
    attributes = bytearray(
        struct.pack(
            "<IIIIQQIIIIQQ16x",
            program_fd,
            0,
            len(packet),
            len(after),
            *places,
            1,
            0,
            24,
            0,
            ctypes.addressof(context),
            0,
        )
    )
    bpf(_BPF_PROG_TEST_RUN, attributes)
    verdict, _, size = struct.unpack_from("<III", attributes, 4)
    return verdict, after.raw[:size]


def map_lookup(map_fd: int, index: int, size: int) -> bytes:
    key, value = ctypes.c_uint32(index), ctypes.create_string_buffer(size)
    bpf(_BPF_MAP_LOOKUP_ELEM, _element(map_fd, key, value))
    return value.raw


def possible_cpus() -> int:
    """How many processors there may ever be."""
    possible = Path("/sys/devices/system/cpu/possible").read_text().strip()
    return int(possible.rpartition("-")[2].rpartition(",")[2]) + 1


def map_update(map_fd: int, index: int, value: bytes) -> None:
    map_put(map_fd, index.to_bytes(4, "little"), value)


def map_put(map_fd: int, key: bytes, value: bytes) -> None:
    place, given = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value))
    bpf(_BPF_MAP_UPDATE_ELEM, _element(map_fd, place, given))


def map_delete(map_fd: int, key: bytes) -> None:
    place = ctypes.create_string_buffer(key, len(key))
    attributes = bytearray(struct.pack("<IIQQQ", map_fd, 0, ctypes.addressof(place), 0, 0))
    bpf(_BPF_MAP_DELETE_ELEM, attributes)


def map_keys(map_fd: int, size: int) -> list[bytes]:
    """All keys of a hash or a trie."""
    found: list[bytes] = []
    after = ctypes.create_string_buffer(size)
    while True:
        before = ctypes.create_string_buffer(found[-1], size) if found else None
        place = ctypes.addressof(before) if before else 0
        attributes = bytearray(struct.pack("<IIQQQ", map_fd, 0, place, ctypes.addressof(after), 0))
        try:
            bpf(_BPF_MAP_GET_NEXT_KEY, attributes)
        except FileNotFoundError:
            return found
        found.append(after.raw)


def _element(
    map_fd: int, key: ctypes.c_uint32 | ctypes.Array[ctypes.c_char], value: ctypes.Array[ctypes.c_char]
) -> bytearray:
    return bytearray(struct.pack("<IIQQQ", map_fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0))


def program_of_link(link_fd: int) -> int:
    """A descriptor of the program that a link runs (struct bpf_link_info: type, id, prog_id)."""
    found = ctypes.create_string_buffer(64)
    bpf(_BPF_OBJ_GET_INFO_BY_FD, bytearray(struct.pack("<IIQ", link_fd, 64, ctypes.addressof(found))))
    return bpf(
        _BPF_PROG_GET_FD_BY_ID, bytearray(struct.pack("<III", *struct.unpack_from("<I", found, 8), 0, 0))
    )


def has_program(number: int) -> bool:
    """Whether the kernel has a program with this id."""
    try:
        os.close(bpf(_BPF_PROG_GET_FD_BY_ID, bytearray(struct.pack("<III", number, 0, 0))))
    except FileNotFoundError:
        return False
    return True


def program_name(number: int) -> str:
    """Of the program with this id, as far as the kernel keeps it (`bpf_prog_info.name`)."""
    fd = bpf(_BPF_PROG_GET_FD_BY_ID, bytearray(struct.pack("<III", number, 0, 0)))
    try:
        info = ctypes.create_string_buffer(80)
        bpf(_BPF_OBJ_GET_INFO_BY_FD, bytearray(struct.pack("<IIQ", fd, 80, ctypes.addressof(info))))
        return info.raw[64:80].split(b"\0", 1)[0].decode()
    finally:
        os.close(fd)


def program_sizes(program_fd: int) -> tuple[int, int, int]:
    """(instructions after the verifier, bytes of machine code, instructions the verifier walked)."""
    info = ctypes.create_string_buffer(256)
    attributes = bytearray(struct.pack("<IIQ", program_fd, 256, ctypes.addressof(info)))
    bpf(_BPF_OBJ_GET_INFO_BY_FD, attributes)
    jited, translated = struct.unpack_from("<II", info, 16)
    verified = struct.unpack_from("<I", info, 216)[0]
    return translated // 8, jited, verified


def tcx_program_ids(ifname: str) -> list[int]:
    """Programs on the tcx hooks of an interface (Debian 12's bpftool does not show them)."""
    found: list[int] = []
    for attach_type in (_TCX_INGRESS, _TCX_EGRESS):
        ids = (ctypes.c_uint32 * 16)()
        attributes = bytearray(
            struct.pack(
                "<IIIIQI36x", socket.if_nametoindex(ifname), attach_type, 0, 0, ctypes.addressof(ids), 16
            )
        )
        bpf(_BPF_PROG_QUERY, attributes)
        found += ids[: struct.unpack_from("<I", attributes, 24)[0]]
    return found
