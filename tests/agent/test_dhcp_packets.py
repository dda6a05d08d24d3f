# SPDX-License-Identifier: Apache-2.0
"""DHCP's messages: what is asked is right to the byte, and nothing that comes in does harm."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.dhcp_server import LEASE_S, MAC, OPTIONS, SERVER, answer, heard, quad, seconds
from weir.adapters.dhcp_packets import Kind, Question, Reply, packet, read_reply

CLIENT = bytes.fromhex(MAC.replace(":", ""))
TRANSACTION = 0x12345678


def read(**options: bytes) -> Reply | None:
    """An ACK with these options in place of the usual ones: `o51=b""` leaves one out."""
    changed = {int(name[1:]): value for name, value in options.items()}
    whole = {code: value for code, value in {**OPTIONS, **changed}.items() if value}
    return read_reply(answer(Kind.ACK, TRANSACTION, options=whole), TRANSACTION, CLIENT)


def test_a_request_is_a_whole_udp_packet_with_sound_checksums() -> None:
    data = packet(
        Question(Kind.REQUEST, TRANSACTION, CLIENT, wanted="198.51.100.7", server=SERVER, hostname="r")
    )
    assert data[12:20] == bytes(4) + b"\xff" * 4
    assert struct.unpack("!HH", data[20:24]) == (68, 67)
    for part in (data[:20], data[12:20] + struct.pack("!HH", 17, len(data) - 20) + data[20:]):
        words = struct.unpack(f"!{len(part) // 2}H", part)
        assert sum(words) % 0xFFFF == 0
    message = heard(data, 0, b"")
    assert (message.kind, message.wanted, message.server) == (Kind.REQUEST, "198.51.100.7", SERVER)
    assert len(data) - 28 >= 300
    assert b"\x0c\x01r" in data


def test_an_answer_is_read() -> None:
    assert read() == Reply(
        Kind.ACK,
        "198.51.100.7/24",
        SERVER,
        (("0.0.0.0/0", SERVER),),
        ("9.9.9.9", "149.112.112.112"),
        LEASE_S,
        LEASE_S // 2,
        LEASE_S * 7 // 8,
    )


def test_times_of_the_server_hold_when_they_make_sense() -> None:
    def times(**options: bytes) -> tuple[int, int]:
        found = read(**options)
        assert found is not None
        return found.renew_s, found.rebind_s

    assert times(o58=seconds(100), o59=seconds(200)) == (100, 200)
    assert times(o58=seconds(200), o59=seconds(100)) == (1800, 3150)
    assert times(o58=seconds(100), o59=seconds(LEASE_S)) == (1800, 3150)


def test_classless_routes_take_the_place_of_the_router() -> None:
    routes = bytes((8, 10)) + quad("198.51.100.2") + bytes((0,)) + quad("198.51.100.3")
    found = read(o121=routes)
    assert found is not None
    assert found.routes == (("10.0.0.0/8", "198.51.100.2"), ("0.0.0.0/0", "198.51.100.3"))


@pytest.mark.parametrize(
    "options",
    [
        {"o51": b""},
        {"o54": b""},
        {"o1": quad("255.0.255.0")},
        {"o121": bytes((33,)) + bytes(9)},
        {"o121": bytes((24, 10))},
    ],
    ids=["no time", "no server", "mask with holes", "route of 33 bits", "half a route"],
)
def test_what_is_not_sound_is_no_answer(options: dict[str, bytes]) -> None:
    assert read(**options) is None


@pytest.mark.parametrize("offered", ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"])
def test_an_address_that_no_host_has_is_no_answer(offered: str) -> None:
    assert read_reply(answer(Kind.ACK, TRANSACTION, offered), TRANSACTION, CLIENT) is None


def test_what_is_for_somebody_else_is_no_answer() -> None:
    data = answer(Kind.ACK, TRANSACTION)
    assert read_reply(data, TRANSACTION + 1, CLIENT) is None
    assert read_reply(data, TRANSACTION, b"\2" * 6) is None
    assert read_reply(data[:-20] + b"\x2b\xff", TRANSACTION, CLIENT) is None


@given(st.integers(0, 400), st.binary(max_size=40))
def test_bytes_that_were_changed_or_cut_raise_nothing(place: int, junk: bytes) -> None:
    data = answer(Kind.OFFER, TRANSACTION)
    for mangled in (data[:place], data[:place] + junk + data[place + len(junk) :], junk):
        read_reply(mangled, TRANSACTION, CLIENT)
