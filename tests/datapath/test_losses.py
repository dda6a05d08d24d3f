# SPDX-License-Identifier: Apache-2.0
"""On which side of the router TCP loses data: what holes and repeats are told as, and what is left alone.

Segments are of 1,000 bytes and counted from 0; their timestamps are given.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import NEXT
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from tests.datapath.stamps import (
    MARK_SHIFT,
    SERVER,
    SERVER6,
    SLOTS,
    customer,
    customer6,
    looked_at,
    settle,
    stamped,
    with_customers,
)
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Losses
from weir.model.problem import Invalid

SIZE = 1000
START = 5_000_000
MORE_FRAGMENTS = 0x2000
SHOT = 2
EARLY_NS = 1 << 27
"""So that enough of the window is left."""
Steps = list[tuple[float, int]]
"""Segments and their timestamps, as they pass."""


def after_a_while(steps: Steps) -> Iterator[tuple[float, int]]:
    """Before them one segment, of a flow that is then looked at for as long as it takes."""
    yield -1, 99
    settle()
    yield from steps


class Line:
    """A line that is looked at now, with a flow to its customer that was seen for a while."""

    def __init__(self, router: Loaded, start: int = START, value: int = 99, *, settled: bool = True) -> None:
        self.router, self.start = router, start
        self.slot = looked_at(EARLY_NS)
        if settled:
            self.down(-1, value)
            settle()

    def down(
        self, number: float, value: int, *, size: int = SIZE, near: int = 5000, verdict: int = NEXT
    ) -> None:
        """Segment `number` passes towards the customer."""
        sequence = self.start + round(number * SIZE)
        frame = stamped(value, 1, ports=(443, near), data=SIZE, sequence=sequence)
        self.send(p.ipv4(SERVER, customer(self.slot), frame, protocol=6), verdict=verdict)

    def send(self, packet: bytes, *, kind: int = p.IPV4, verdict: int = NEXT) -> None:
        assert self.router.egress(p.ethernet(kind, packet)).verdict == verdict

    def acked(self, number: int, port: int = 443) -> None:
        """The customer acknowledges all before segment `number`; it leaves with another address, by NAT."""
        frame = stamped(2, 1, ports=(61_234, port), data=0, ack=self.start + number * SIZE)
        packet = p.ethernet(p.IPV4, p.ipv4("203.0.113.1", SERVER, frame, protocol=6))
        assert self.router.egress(packet, mark=self.slot << MARK_SHIFT).verdict == NEXT

    def found(self, direction: int = DOWNLOAD) -> Losses:
        return self.router.datapath.losses(self.slot, direction)  # type: ignore[arg-type]

    def told(self) -> tuple[int, int]:
        """Segments lost before and after the router."""
        found = self.found()
        assert (found.before_bytes % SIZE, found.after_bytes % SIZE) == (0, 0)
        return found.before_bytes // SIZE, found.after_bytes // SIZE


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    return with_customers(loaded)


STORIES: dict[str, tuple[Steps, tuple[int, int]]] = {
    "all in order": ([(0, 100), (1, 100), (2, 101), (3, 101)], (0, 0)),
    "a hole that is filled by what was sent again": ([(0, 100), (2, 100), (3, 101), (1, 130)], (1, 0)),
    "two holes, filled in order": ([(0, 100), (2, 100), (4, 101), (1, 130), (3, 130)], (2, 0)),
    "two holes, filled in the other order": ([(0, 100), (2, 100), (4, 101), (3, 130), (1, 131)], (2, 0)),
    "a hole of three": ([(0, 100), (4, 100), (1, 130), (2, 130), (3, 131)], (3, 0)),
    "what passed is sent again": ([(0, 100), (1, 100), (2, 101), (1, 130)], (0, 1)),
    "and lost once more": ([(0, 100), (1, 100), (2, 101), (1, 130), (1, 330)], (0, 2)),
    "by a sender without SACK, all from the first lost one": (
        [(0, 100), (1, 100), (2, 100), (3, 101), (1, 300), (2, 330), (3, 330)], (0, 3)),
    "on both sides": ([(0, 100), (2, 100), (3, 101), (1, 130), (3, 131)], (1, 1)),
    "on both sides, the far one first": ([(0, 100), (1, 100), (3, 101), (1, 130), (2, 131)], (1, 1)),
    "before the first hole it is what passed": ([(0, 100), (1, 100), (3, 100), (0, 130), (2, 131)], (1, 1)),
    "late, with an older timestamp": ([(0, 100), (2, 102), (1, 101), (3, 102)], (0, 0)),
    "late, in the same tick": ([(0, 100), (2, 100), (1, 100), (3, 100)], (0, 0)),
    "late, then a repeat of it": ([(0, 100), (2, 102), (1, 101), (3, 102), (1, 140)], (0, 1)),
    "the same twice, in the same tick": ([(0, 100), (1, 101), (1, 101), (2, 101)], (0, 0)),
    "again while the newest left in the same tick": ([(0, 100), (1, 100), (2, 140), (0, 140)], (0, 1)),
    "a hole that nobody fills is no loss yet": ([(0, 100), (2, 100), (3, 101)], (0, 0)),
    "of before it was looked at nobody knows": ([(0, 100), (-2, 130), (-1, 130), (1, 130)], (0, 0)),
    "half of it is new": ([(0, 100), (1, 100), (1.5, 130)], (0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("start", [START, (1 << 32) - 1500], ids=["plain", "wraps"])
def test_what_a_flow_lost(router: Loaded, story: str, start: int) -> None:
    steps, (before, after) = STORIES[story]
    line = Line(router, start)
    for number, value in steps:
        line.down(number, value)
    if story == "half of it is new":
        found = line.found()
        assert (found.before_bytes, found.after_bytes, found.seen_bytes) == (0, 500, 2500)
        return
    assert line.told() == (before, after), story
    found = line.found()
    assert (found.before_packets > 0, found.after_packets > 0) == (before > 0, after > 0)
    assert found.age_ms < 2200
    assert router.datapath.losses(line.slot, UPLOAD).seen_bytes == 0


def test_timestamps_may_wrap(router: Loaded) -> None:
    line = Line(router, value=(1 << 32) - 3)
    for number, value in [(0, (1 << 32) - 2), (2, (1 << 32) - 1), (1, 20)]:
        line.down(number, value)
    assert line.told() == (1, 0)


def test_each_byte_is_seen_once(router: Loaded) -> None:
    line = Line(router)
    for number, value in [(0, 100), (1, 100), (3, 101), (2, 130), (1, 131), (4, 131)]:
        line.down(number, value)
    assert line.found().seen_bytes == 4 * SIZE, "the one in the hole passed once it was sent again"


def test_what_the_receiver_acknowledged_was_not_lost(router: Loaded) -> None:
    """The acknowledgement passed, and was lost on the sender's side or came too late."""
    line = Line(router)
    for number in range(4):
        line.down(number, 100 + number)
    line.acked(3)
    line.down(1, 300)
    line.down(2, 300)
    assert line.told() == (0, 0)
    line.down(3, 301)
    assert line.told() == (0, 1), "this one was not acknowledged"


def test_an_acknowledgement_that_did_not_pass_is_a_loss_on_its_side(router: Loaded) -> None:
    """Data or acknowledgement: both were lost behind the router, and nothing tells which."""
    line = Line(router)
    for number in range(3):
        line.down(number, 100)
    line.down(2, 330)
    assert line.told() == (0, 1)


def test_a_hole_that_is_acknowledged_went_another_way(router: Loaded) -> None:
    line = Line(router)
    line.down(0, 100)
    line.down(3, 100)
    line.acked(4)
    line.down(4, 101)
    line.down(4, 140)
    assert line.told() == (0, 1), "what is sent again now fills no hole"


def test_acknowledgements_of_another_flow_or_of_nothing_sent_are_not_taken(router: Loaded) -> None:
    line = Line(router)
    for number in range(3):
        line.down(number, 100)
    line.acked(2, port=80)
    line.acked(900)
    line.down(1, 130)
    assert line.told() == (0, 1)


def test_uploads_are_told_apart_as_well(router: Loaded) -> None:
    line = Line(router, settled=False)
    for number, value in after_a_while([(0, 100), (2, 100), (1, 130), (2, 131)]):
        frame = stamped(value, 1, ports=(61_234, 443), data=SIZE, sequence=START + int(number) * SIZE)
        packet = p.ethernet(p.IPV4, p.ipv4("203.0.113.1", SERVER, frame, protocol=6))
        assert router.egress(packet, mark=line.slot << MARK_SHIFT).verdict == NEXT
    found = line.found(UPLOAD)
    assert (found.before_bytes, found.after_bytes) == (SIZE, SIZE)
    assert line.found().seen_bytes == 0


def test_ipv6_is_told_apart_as_well(router: Loaded) -> None:
    line = Line(router, settled=False)
    for number, value in after_a_while([(0, 100), (2, 100), (1, 130), (2, 131)]):
        frame = stamped(value, 1, ports=(443, 5000), data=SIZE, sequence=START + int(number) * SIZE)
        line.send(p.ipv6(SERVER6, customer6(line.slot), frame, next_header=6), kind=p.IPV6)
    assert line.told() == (1, 1)


def test_flows_to_one_server_are_not_mixed(router: Loaded) -> None:
    """A browser has several; their numbers have nothing in common."""
    other, line = Line(router, START + 700 * SIZE, settled=False), Line(router)
    other.slot = line.slot
    for number in range(8):
        line.down(number, 100 + number)
        other.down(number, 100 + number, near=5001)
    assert line.told() == (0, 0)
    assert line.found().seen_bytes == 8 * SIZE


def test_a_flow_that_ended_gives_way_to_one_that_sends(router: Loaded) -> None:
    line, other = Line(router, settled=False), Line(router, settled=False)
    other.slot = line.slot
    line.down(0, 100)
    for number in range(140):
        other.down(number, 100, near=5001)
    settle()
    for number in range(140, 143):
        other.down(number, 101, near=5001)
    assert line.found().seen_bytes == 3 * SIZE


def test_a_number_far_away_begins_again(router: Loaded) -> None:
    line = Line(router)
    line.down(0, 100)
    line.down(40_000, 100)
    line.down(40_001, 130)
    line.down(1, 160)
    assert line.told() == (0, 0)


def fragment(packet: bytes) -> bytes:
    """The first of several."""
    return packet[:6] + struct.pack("!H", MORE_FRAGMENTS) + packet[8:]


def longer(packet: bytes) -> bytes:
    """Its length is that of a header and 64 kB, which it has not."""
    return packet[:2] + struct.pack("!H", 65_000) + packet[4:]


def lengthless(packet: bytes) -> bytes:
    return packet[:2] + bytes(2) + packet[4:]


def shorter(packet: bytes) -> bytes:
    """Not even its own header."""
    return packet[:2] + struct.pack("!H", 10) + packet[4:]


ODD: dict[str, Callable[[bytes], bytes]] = {
    "a fragment": fragment, "a length of 0": lengthless, "a length below its headers": shorter
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_of_what_tells_no_length_nothing_is_concluded(router: Loaded, odd: str) -> None:
    line = Line(router)
    line.down(0, 100)
    frame = stamped(101, 1, ports=(443, 5000), data=SIZE, sequence=START + SIZE)
    packet = ODD[odd](p.ipv4(SERVER, customer(line.slot), frame, protocol=6))
    router.egress(p.ethernet(p.IPV4, packet))
    line.down(2, 102)
    line.down(1, 130)
    before, after = line.told()
    assert after == 0 and before <= (1 if odd == "a length below its headers" else 0)


def test_a_length_that_lies_is_a_number_and_nothing_more(router: Loaded) -> None:
    line = Line(router)
    frame = stamped(100, 1, ports=(443, 5000), data=SIZE, sequence=START)
    router.egress(p.ethernet(p.IPV4, longer(p.ipv4(SERVER, customer(line.slot), frame, protocol=6))))
    assert line.found().seen_bytes <= 65_000


def test_what_the_own_limit_dropped_is_not_laid_to_the_far_side(router: Loaded) -> None:
    line = Line(router)
    line.down(0, 100)
    router.limit(line.slot, 1_000_000, limit_ns=1)
    for number in (1, 2):
        line.down(number, 100, verdict=NEXT if number == 1 else SHOT)
    router.limit(line.slot, 10_000_000_000)
    dropped = router.counters(line.slot, DOWNLOAD)["drop_packets"]
    assert dropped == 1
    line.down(2, 130)
    assert line.told() == (0, 0), "this router's own"
    line.down(1, 131)
    assert line.told() == (0, 1), "one more than it dropped"


def test_as_many_repeats_as_own_drops_are_this_routers_at_full_size(router: Loaded) -> None:
    line, size = Line(router), 1448

    def send(number: int, value: int, verdict: int) -> None:
        frame = stamped(value, 1, ports=(443, 5000), data=size, sequence=START + number * size)
        line.send(p.ipv4(SERVER, customer(line.slot), frame, protocol=6), verdict=verdict)

    send(0, 100, NEXT)
    router.limit(line.slot, 1_000_000, limit_ns=1)
    send(1, 100, NEXT)
    for number in range(2, 8):
        send(number, 100, SHOT)
    router.limit(line.slot, 10_000_000_000)
    for number in range(2, 8):
        send(number, 130, NEXT)
    assert line.found().after_bytes == 0
    send(1, 131, NEXT)
    assert line.found().after_bytes == size


def test_a_window_that_begins_amid_what_is_sent_again_makes_no_holes_of_it(router: Loaded) -> None:
    """The newest data is far ahead of the first packet that is seen."""
    line = Line(router, settled=False)
    for number, value in [(0, 130), (20, 131), (3, 132), (21, 133)]:
        line.down(number, value)
    settle()
    for number, value in [(22, 150), (5, 151), (23, 151), (22, 190)]:
        line.down(number, value)
    assert line.told() == (0, 1)


def test_a_class_is_looked_at_for_one_second_in_sixteen(router: Loaded) -> None:
    line = Line(router)
    line.slot = SLOTS[(line.slot - SLOTS[0] + 3) % 16]
    line.down(0, 100)
    assert line.found().seen_bytes == 0


def test_they_go_with_the_class(router: Loaded) -> None:
    line = Line(router)
    line.down(0, 100)
    assert line.found().seen_bytes == SIZE
    router.datapath.clear_class(line.slot)
    assert line.found().seen_bytes == 0


def test_a_slot_that_does_not_exist_is_an_error(datapath: Datapath) -> None:
    with pytest.raises(Invalid):
        datapath.losses(1 << 20, 0)
