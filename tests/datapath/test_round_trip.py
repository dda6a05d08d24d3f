# SPDX-License-Identifier: Apache-2.0
"""Round trips of TCP seen in passing: what begins one, what ends it, and what is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

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
    stamped,
    with_customers,
)
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_layout import layout_of
from weir.adapters.datapath_records import RoundTrips
from weir.model.problem import Invalid
from weir.stats.round_trips import RoundTripTable


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    return with_customers(loaded)


def down(router: Loaded, slot: int, value: int, echo: int, data: int = 500, port: int = 443) -> None:
    frame = stamped(value, echo, ports=(port, 5000), data=data)
    sent = router.egress(p.ethernet(p.IPV4, p.ipv4(SERVER, customer(slot), frame, protocol=6)))
    assert sent.verdict == NEXT


def up(router: Loaded, slot: int, value: int, echo: int, data: int = 0, port: int = 443) -> None:
    """As it leaves: with the class in the mark and another source address, because of NAT."""
    frame = stamped(value, echo, ports=(61_234, port), data=data)
    packet = p.ethernet(p.IPV4, p.ipv4("203.0.113.1", SERVER, frame, protocol=6))
    assert router.egress(packet, mark=slot << MARK_SHIFT).verdict == NEXT


def trips(router: Loaded, slot: int, direction: int) -> RoundTrips:
    return router.datapath.round_trips(slot, direction)  # type: ignore[arg-type]


def wait_ms(milliseconds: float) -> None:
    time.sleep(milliseconds / 1000)


def test_data_and_its_answer_are_a_round_trip_behind_nat(router: Loaded) -> None:
    slot = looked_at()
    down(router, slot, 100, 1)
    before_ns = time.monotonic_ns()
    down(router, slot, 101, 1)
    wait_ms(30)
    up(router, slot, 2, 101)
    found = trips(router, slot, DOWNLOAD)
    assert len(found.samples_ns) == 1
    assert 29.9e6 <= found.samples_ns[0] <= time.monotonic_ns() - before_ns
    assert found.age_ms < 1000
    assert trips(router, slot, UPLOAD).samples_ns == ()


def test_uploads_are_measured_to_the_far_end(router: Loaded) -> None:
    slot = looked_at()
    up(router, slot, 200, 1, data=500)
    up(router, slot, 201, 1, data=500)
    wait_ms(10)
    down(router, slot, 2, 201, data=0)
    assert trips(router, slot, UPLOAD).samples_ns[0] >= 9.9e6
    assert trips(router, slot, DOWNLOAD).samples_ns == ()


def test_ipv6_is_measured_too(router: Loaded) -> None:
    slot = looked_at()
    for value in (100, 101):
        frame = stamped(value, 1, ports=(443, 5000), data=10)
        router.egress(p.ethernet(p.IPV6, p.ipv6(SERVER6, customer6(slot), frame, next_header=6)))
    answer = stamped(2, 101, ports=(5000, 443), data=0)
    answered = p.ethernet(p.IPV6, p.ipv6(customer6(slot), SERVER6, answer, next_header=6))
    router.egress(answered, mark=slot << MARK_SHIFT)
    assert len(trips(router, slot, DOWNLOAD).samples_ns) == 1


WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "a tag": lambda packet: p.ethernet(p.VLAN, p.vlan(100, p.IPV4, packet)),
    "two tags": lambda packet: p.ethernet(p.QINQ, p.vlan(100, p.VLAN, p.vlan(7, p.IPV4, packet))),
    "PPPoE": lambda packet: p.ethernet(p.PPPOE, p.pppoe(p.PPP_IPV4, packet)),
}


@pytest.mark.parametrize("around", WRAPPED)
def test_what_is_around_a_packet_does_not_hide_its_round_trip(router: Loaded, around: str) -> None:
    slot = looked_at()

    def send(source: str, destination: str, segment: bytes, mark: int = 0) -> None:
        frame = WRAPPED[around](p.ipv4(source, destination, segment, protocol=6))
        assert router.egress(frame, mark=mark).verdict == NEXT

    for value in (100, 101):
        send(SERVER, customer(slot), stamped(value, 1, ports=(443, 5000), data=500))
    send("203.0.113.1", SERVER, stamped(2, 101, ports=(61_234, 443), data=0), slot << MARK_SHIFT)
    assert len(trips(router, slot, DOWNLOAD).samples_ns) == 1
    assert router.counters(slot, DOWNLOAD)["packets"] == 2


@pytest.mark.parametrize(
    ("what", "values", "echo", "data", "port"),
    [
        ("an answer to an earlier one", (100, 101), 100, 500, 443),
        ("an answer to a later one", (100, 101), 102, 500, 443),
        ("the same tick twice: which of them was answered?", (100, 100), 100, 500, 443),
        ("a packet without data: nobody has to answer", (100, 101), 101, 0, 443),
        ("another flow's answer", (100, 101), 101, 500, 80),
    ],
)
def test_what_is_no_round_trip(
    router: Loaded, what: str, values: tuple[int, int], echo: int, data: int, port: int
) -> None:
    slot = looked_at()
    for value in values:
        down(router, slot, value, 1, data=data)
    up(router, slot, 2, echo, port=port)
    assert trips(router, slot, DOWNLOAD).samples_ns == (), what


def test_the_newest_samples_are_kept_newest_first(router: Loaded) -> None:
    slot, least_ns, most_ns = looked_at(), [], []
    for number, pause_ms in enumerate((32, 1, 2, 4, 8, 16)):
        down(router, slot, 100 + number * 10, 1)
        before_ns = time.monotonic_ns()
        down(router, slot, 101 + number * 10, 1)
        sent_ns = time.monotonic_ns()
        wait_ms(pause_ms)
        answered_ns = time.monotonic_ns()
        up(router, slot, 2, 101 + number * 10)
        least_ns.append(answered_ns - sent_ns - 40_000)  # rounding
        most_ns.append(time.monotonic_ns() - before_ns)
    found = trips(router, slot, DOWNLOAD).samples_ns
    assert len(found) == 5
    measured = zip(least_ns[:0:-1], found, most_ns[:0:-1], strict=True)
    assert all(least <= sample <= most for least, sample, most in measured)


def test_a_class_is_looked_at_for_one_second_in_sixteen(router: Loaded) -> None:
    other = SLOTS[(looked_at() + 3) % 16]
    down(router, other, 100, 1)
    down(router, other, 101, 1)
    up(router, other, 2, 101)
    assert trips(router, other, DOWNLOAD).samples_ns == ()


def test_a_parent_is_told_of_the_classes_below_it(router: Loaded) -> None:
    slot = looked_at()
    router.limit(40, 0)
    router.limit(41, 0, parent=40)
    router.limit(slot, 0, parent=41)
    for number, pause_ms in enumerate((10, 30, 20)):
        down(router, slot, 100 + number * 10, 1)
        down(router, slot, 101 + number * 10, 1)
        wait_ms(pause_ms)
        up(router, slot, 2, 101 + number * 10)
    own = trips(router, slot, DOWNLOAD).samples_ns
    assert len(own) == 3
    for parent in (40, 41):
        found = router.datapath.round_trips_below(parent, DOWNLOAD, 60_000)
        assert (found.classes, found.least_ns, found.median_ns) == (1, min(own), sorted(own)[1])
        assert found.age_ms < 1000
        assert router.datapath.round_trips_below(parent, UPLOAD, 60_000).classes == 0
        assert trips(router, parent, DOWNLOAD).samples_ns == (), "it has none of its own"
    assert router.datapath.round_trips_below(slot, DOWNLOAD, 60_000).classes == 0
    wait_ms(5)
    assert router.datapath.round_trips_below(40, DOWNLOAD, 2).classes == 0, "it is too old"


def test_the_statistics_read_the_same_rows(router: Loaded) -> None:
    layout = layout_of(router.datapath.usage())["round_trips"]
    table = RoundTripTable(layout, router.datapath.map_fd("weir_trips"))
    assert len(table.new()[0]) == 0
    slot = looked_at()
    for value in (100, 101):
        down(router, slot, value, 1)
    wait_ms(30)
    up(router, slot, 2, 101)
    lines, medians_us = table.new()
    assert lines.tolist() == [slot * 2 + DOWNLOAD]
    assert medians_us[0] * 1000 == pytest.approx(trips(router, slot, DOWNLOAD).samples_ns[0])
    assert len(table.new()[0]) == 0, "it was told"
    table.close()


def test_a_slot_that_does_not_exist_is_an_error(datapath: Datapath) -> None:
    with pytest.raises(Invalid):
        datapath.round_trips(1 << 20, 0)


@pytest.mark.parametrize("later", ["weir_trips", "weir_losses", "weir_host_names"])
def test_pins_of_a_build_without_a_later_map_are_taken_over(pin_dir: Path, later: str) -> None:
    with Datapath.open(pin_dir, capacity=64) as before:
        before.attach("lo", mode="edt")
    (pin_dir / later).unlink()
    with Datapath.open(pin_dir, capacity=64) as after:
        assert list(after.attached()) == ["lo"]
        assert after.round_trips(3, DOWNLOAD).samples_ns == ()
        after.detach("lo")
    assert (pin_dir / later).exists()
