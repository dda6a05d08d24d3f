# SPDX-License-Identifier: Apache-2.0
"""NAT on the fast path: after any translation the checksums are those that a host would compute."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DATAPATH = Path(__file__).resolve().parents[2] / "datapath"
TCP, UDP = 6, 17
CHECK_AT = {TCP: 36, UDP: 26}

addresses, ports = st.binary(min_size=4, max_size=4), st.binary(min_size=2, max_size=2)
ends = st.tuples(addresses, addresses, ports, ports)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("rewrite") / "rewrite.so"
    source = DATAPATH / "tests" / "rewrite_shim.c"
    command = ["cc", "-std=gnu11", "-O1", "-fPIC", "-shared", f"-I{DATAPATH / 'include'}"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


def checksum(data: bytes) -> int:
    """RFC 1071, of data whose checksum field is zero."""
    words = struct.unpack(f"!{len(data) // 2}H", data)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def packet(protocol: int, end: tuple[bytes, bytes, bytes, bytes], payload: bytes, ttl: int) -> bytes:
    """A whole IPv4 packet with both checksums as a host makes them."""
    source, destination, source_port, destination_port = end
    length = (20 if protocol == TCP else 8) + len(payload)
    if protocol == TCP:
        transport = source_port + destination_port + bytes(8) + b"\x50\x10\x20\x00" + bytes(4) + payload
    else:
        transport = source_port + destination_port + struct.pack("!HH", length, 0) + payload
    pseudo = source + destination + struct.pack("!BBH", 0, protocol, length)
    check = checksum(pseudo + transport + bytes(len(transport) % 2))
    check = 0xFFFF if protocol == UDP and check == 0 else check
    at = CHECK_AT[protocol] - 20
    transport = transport[:at] + struct.pack("!H", check) + transport[at + 2 :]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 7, 0, ttl, protocol, 0) + source + destination
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + transport


def translated(shim: ctypes.CDLL, before: bytes, end: tuple[bytes, bytes, bytes, bytes]) -> bytes | None:
    data = ctypes.create_string_buffer(before, len(before))
    numbers = [int.from_bytes(value, "little") for value in end]  # as the memory of this machine has them
    return data.raw if shim.shim_translate(data, len(before), *numbers) else None


@settings(max_examples=500, deadline=None)
@given(st.sampled_from([TCP, UDP]), ends, ends, st.binary(max_size=40), st.integers(2, 255))
def test_a_translated_packet_is_what_its_new_sender_would_have_sent(
    shim: ctypes.CDLL,
    protocol: int,
    old: tuple[bytes, bytes, bytes, bytes],
    new: tuple[bytes, bytes, bytes, bytes],
    payload: bytes,
    ttl: int,
) -> None:
    found = translated(shim, packet(protocol, old, payload, ttl), new)
    assert found is not None
    assert same(found, packet(protocol, new, payload, ttl - 1))


def same(found: bytes, wanted: bytes) -> bool:
    """Equal; 0 and ffff are the same checksum (RFC 1624) but for UDP, where 0 means none."""
    check = CHECK_AT[found[9]]
    places = [10, check] if found[9] == TCP else [10]
    if found[9] == UDP and found[check : check + 2] == b"\0\0":
        return False
    for place in places:
        if {found[place : place + 2], wanted[place : place + 2]} == {b"\0\0", b"\xff\xff"}:
            found = found[:place] + wanted[place : place + 2] + found[place + 2 :]
    return found == wanted


def test_udp_without_a_checksum_stays_without(shim: ctypes.CDLL) -> None:
    end = (b"\x0a\0\0\1", b"\xc0\0\2\1", b"\x10\0", b"\0\x35")
    bare = packet(UDP, end, b"hello!", 64)
    bare = bare[:26] + bytes(2) + bare[28:]
    found = translated(shim, bare, (b"\xcb\0\x71\2", b"\xc0\0\2\1", b"\x20\0", b"\0\x35"))
    assert found is not None
    assert found[26:28] == bytes(2)


@pytest.mark.parametrize(("protocol", "size"), [(UDP, 27), (TCP, 39)])
def test_half_a_header_is_left_alone(shim: ctypes.CDLL, protocol: int, size: int) -> None:
    end = (b"\x0a\0\0\1", b"\xc0\0\2\1", b"\x10\0", b"\0\x35")
    assert translated(shim, packet(protocol, end, b"", 64)[:size], end) is None
