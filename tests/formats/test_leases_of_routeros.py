# SPDX-License-Identifier: Apache-2.0
"""Static leases of RouterOS that block or limit: reservations and queues, and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.formats.routeros import import_of, of_kind, only
from weir.formats import ImportReport, routeros
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.model.announcing import Announcement
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ZERO, Pair, Queue

HEAD = (
    "/ip address\nadd address=10.5.0.1/24 interface=ether2\n"
    "/ip pool\nadd name=p ranges=10.5.0.100-10.5.0.199\n"
    "/ip dhcp-server\nadd address-pool=p interface=ether2 name=lan{}\n"
)
LEASE = "/ip dhcp-server lease\nadd address=10.5.0.7 mac-address=02:00:5E:10:00:07 server=lan {}\n"
M = 1_000_000


def leased(words: str, *, server: str = "", more: str = "", existing: Document | None = None) -> ImportReport:
    return import_of(HEAD.format(server) + LEASE.format(words) + more, existing)


def lines(report: ImportReport) -> list[tuple[str, str]]:
    """Of leases and queues."""
    return [(line.fate, line.code) for line in report.lines if line.number > 6]


@pytest.mark.parametrize(("said", "blocks"), [("block-access=yes", True), ("block-access=no", False)])
def test_a_lease_that_blocks_is_a_reservation_that_blocks(said: str, blocks: bool) -> None:
    report = leased(said)
    assert bool(only(report, "dhcp-reservation").get("block")) is blocks
    assert lines(report) == [("imported", "ok")] and not report.queues


def test_a_limit_is_a_queue_for_the_address_and_the_line_says_both() -> None:
    report = leased("rate-limit=5M/20M comment=Anna disabled=yes")
    (queue,) = report.queues
    assert (queue.name, queue.target, queue.disabled) == ("10.5.0.7", ("10.5.0.7/32",), True)
    assert queue.max_limit_bps == Pair(5 * M, 20 * M) and queue.burst_limit_bps == ZERO
    (line,) = [line for line in report.lines if line.code == "queue-of-lease"]
    assert (line.fate, line.object_id) == ("changed", of_kind(report, "dhcp-reservation")[0]["id"])
    assert "Its rate-limit is the queue" in line.reason and "10.5.0.7" in line.reason


@pytest.mark.parametrize(
    ("said", "threshold", "time_ms"),
    [
        ('"5M/20M 6M/25M"', Pair(5 * M, 20 * M), Pair(1000, 1000)),
        ('"5M/20M 6M/25M 4M/16M"', Pair(4 * M, 16 * M), Pair(1000, 1000)),
        ('"5M/20M 6M/25M 4M/16M 8/9"', Pair(4 * M, 16 * M), Pair(8000, 9000)),
    ],
)
def test_bursts_have_the_thresholds_and_times_that_routeros_gives_them(
    said: str, threshold: Pair[int], time_ms: Pair[int]
) -> None:
    (queue,) = leased(f"rate-limit={said}").queues
    assert queue.burst_limit_bps == Pair(6 * M, 25 * M)
    assert (queue.burst_threshold_bps, queue.burst_time_ms) == (threshold, time_ms)


def test_one_rate_counts_for_both_ways() -> None:
    (queue,) = leased("rate-limit=5M").queues
    assert queue.max_limit_bps == Pair(5 * M, 5 * M)


@pytest.mark.parametrize("said", ["fast", '"1M 2M 1M 8 8"', "1M/2M/3M"])
def test_a_limit_that_cannot_be_read_costs_the_queue_and_not_the_reservation(said: str) -> None:
    report = leased(f"rate-limit={said}")
    assert only(report, "dhcp-reservation")["address"] == "10.5.0.7"
    assert not report.queues and lines(report) == [("warning", "rate-limit")]


def test_no_second_queue_is_made_for_an_address() -> None:
    simple = "/queue simple\nadd max-limit=1M/1M name=anna target=10.5.0.7/32\n"
    report = leased("rate-limit=5M/20M", more=simple)
    assert [queue.name for queue in report.queues] == ["anna"]
    assert lines(report) == [("warning", "queue-there"), ("imported", "ok")]
    held = Document((Queue("q1", "anna", target=("10.5.0.7/32",)),))
    assert not leased("rate-limit=5M/20M", existing=held).queues


def test_the_same_file_once_more_changes_its_queue() -> None:
    (first,) = leased("rate-limit=5M/20M").queues
    (again,) = leased("rate-limit=6M/20M", existing=Document((first,))).queues
    assert (again.id, again.max_limit_bps) == (first.id, Pair(6 * M, 20 * M))


@pytest.mark.parametrize(
    ("server", "order"),
    [
        ("", ["10.5.0.7", "all", "rest"]),
        (" insert-queue-before=bottom", ["all", "rest", "10.5.0.7"]),
        (" insert-queue-before=rest", ["all", "10.5.0.7", "rest"]),
    ],
)
def test_its_queue_stands_where_the_server_puts_it(server: str, order: list[str]) -> None:
    simple = "/queue simple\nadd name=all target=10.5.0.0/24\nadd name=rest target=10.6.0.0/24\n"
    report = leased("rate-limit=5M/20M", server=server, more=simple)
    placed = sorted(report.queues, key=lambda queue: queue.position)
    assert [queue.name for queue in placed] == order


def test_its_queue_is_below_the_one_that_the_server_names() -> None:
    simple = "/queue simple\nadd name=all target=10.5.0.0/24\n"
    report = leased("rate-limit=5M/20M", server=" parent-queue=all", more=simple)
    queues = {queue.name: queue for queue in report.queues}
    assert queues["10.5.0.7"].parent == queues["all"].id


def test_what_is_written_says_nothing_twice_and_comes_back() -> None:
    lan = Interface("ether2", role="lan", addresses=("10.5.0.1/24",))
    server = DhcpServer("lan", "ether2", ranges=("10.5.0.100-10.5.0.199",), dns_servers=("192.0.2.53",))
    reserved = DhcpReservation("r1", "lan", "10.5.0.7", mac="02:00:5e:10:00:07", block=True)
    queue = Queue("q1", "anna", target=("10.5.0.7/32",), max_limit_bps=Pair(5 * M, 20 * M))
    text = routeros.write(Document((lan, server, reserved, queue)))
    assert "rate-limit" not in text and text.count("block-access=yes") == 1
    report = import_of(text)
    (found,) = [item for item in report.others if isinstance(item, DhcpReservation)]
    assert replace(found, id="r1") == reserved
    assert [one.max_limit_bps for one in report.queues] == [queue.max_limit_bps]


def test_who_is_blocked_by_dhcpv6_is_named_and_given_nothing() -> None:
    lan = Interface("ether2", role="lan", addresses=("2001:db8:5::1/64",), ra=Announcement(managed=True))
    server = Dhcpv6Server("six", "ether2", first="::1000", last="::1fff", dns_servers=("2001:db8::53",))
    unwanted = Dhcpv6Reservation("r1", "six", "::9", duid="00:03:00:01:02:03", block=True)
    text = routeros.write(Document((lan, server, unwanted)))
    assert "# Not written: dhcpv6-reservation r1: RouterOS blocks no client of DHCPv6." in text
    assert "duid=" not in text
