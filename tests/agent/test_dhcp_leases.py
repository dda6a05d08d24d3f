# SPDX-License-Identifier: Apache-2.0
"""Kea's lease file, followed: what holds, what came and went, what is left of a damaged file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from weir.backends.dhcp_leases import Client, LeaseTable

HEADER = (
    "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n"
)
NEWER = HEADER.replace("user_context", "user_context,pool_id")
NOW_S = 1_000_000


def row(number: int, *, mac: int = 0, lifetime_s: int = 3600, state: int = 0, name: str = "host") -> str:
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    hwaddr = f"02:00:00:00:{(mac or number) >> 8 & 255:02x}:{(mac or number) & 255:02x}"
    return f"{address},{hwaddr},,{lifetime_s},{NOW_S + lifetime_s},1,0,0,{name},{state},\n"


class Clock:
    now_s = float(NOW_S)

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kea-leases4.csv"


@pytest.fixture
def table(path: Path, clock: Clock) -> LeaseTable:
    made = LeaseTable(clock)
    made.follow(path)
    return made


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def addresses(table: LeaseTable, words: str = "") -> list[str]:
    return [lease.address for lease in table.found(words)]


def test_the_last_row_of_an_address_holds(path: Path, table: LeaseTable) -> None:
    assert addresses(table) == [], "Kea has written nothing yet"
    add(path, HEADER + row(9) + row(10) + row(2))
    assert addresses(table) == ["10.0.0.2", "10.0.0.9", "10.0.0.10"], "by number"
    add(path, row(9, lifetime_s=0) + row(10, state=2) + row(2, name="other"))
    assert [lease.hostname for lease in table.found("")] == ["other"]
    add(path, row(11, state=1))
    assert addresses(table) == ["10.0.0.2"], "a declined address is nobody's"


def test_a_row_that_is_half_written_is_read_when_it_is_whole(path: Path, table: LeaseTable) -> None:
    text = row(7)
    add(path, HEADER + text[:20])
    assert addresses(table) == []
    add(path, text[20:])
    assert addresses(table) == ["10.0.0.7"]


def test_a_lease_ends_by_the_clock_whatever_kea_does(path: Path, table: LeaseTable, clock: Clock) -> None:
    add(path, HEADER + row(7, lifetime_s=60) + row(8, lifetime_s=120))
    assert len(addresses(table)) == 2
    clock.now_s += 61
    assert addresses(table) == ["10.0.0.8"]
    number, changes = table.since(0)
    assert [(item.what, item.lease.address) for item in changes] == [("went", "10.0.0.7")]
    assert table.since(number) == (number, [])


def test_what_comes_goes_or_passes_to_another_host_is_a_change_and_a_renewal_is_none(
    path: Path, table: LeaseTable
) -> None:
    add(path, HEADER + row(7))
    number, _ = table.since(0)
    add(path, row(7, lifetime_s=7200) + row(8))
    number, changes = table.since(number)
    assert [(item.what, item.lease.address) for item in changes] == [("came", "10.0.0.8")]
    add(path, row(8, mac=99))
    _, changes = table.since(number)
    assert [(item.what, item.lease.mac[-2:]) for item in changes] == [("went", "08"), ("came", "63")]


def test_a_file_that_kea_made_short_is_read_again_in_keas_order(path: Path, table: LeaseTable) -> None:
    add(path, HEADER + row(1) + row(2))
    assert len(addresses(table)) == 2
    path.rename(path.with_name(path.name + ".1"))
    add(path.with_name(path.name + ".2"), HEADER + row(1, name="older") + row(3))
    add(path, HEADER + row(4))
    assert addresses(table) == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    assert table.held()["10.0.0.1"].hostname == "host", "what is in .1 is newer than what is in .2"
    add(path.with_name(path.name + ".completed"), HEADER + row(3))
    path.replace(path.with_name(path.name + ".1"))
    add(path, HEADER + row(4) + row(5))
    assert addresses(table) == ["10.0.0.3", "10.0.0.4", "10.0.0.5"], "the short file stands for both"


def test_newer_versions_have_more_columns(path: Path, table: LeaseTable) -> None:
    add(path, NEWER + row(7).replace("\n", ",0\n"))
    assert addresses(table) == ["10.0.0.7"]


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "nonsense\n",
        "10.0.0.300,a,b,1,2,3,0,0,x,0,\n",
        "10.0.0.9,,,x,y,z,0,0,,0,\n",
        "\0\xff,,,,,,,,,,\n",
    ],
)
def test_of_a_damaged_file_what_can_be_read_is_taken(path: Path, table: LeaseTable, text: str) -> None:
    add(path, HEADER + row(1) + text + row(2))
    assert addresses(table) == ["10.0.0.1", "10.0.0.2"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("laptop", "laptop"),
        ("Laptop.office.example.", "Laptop.office.example"),
        ("a&#x2cb", "ab"),
        ('"><script>alert(1)</script>', "scriptalert1script"),
        ("&#x0a10.0.0.9&#x00;rm -rf", "10.0.0.9rm-rf"),
        ("\x1b[31m", "31m"),
    ],
)
def test_a_name_is_harmless(path: Path, table: LeaseTable, written: str, shown: str) -> None:
    add(path, HEADER + row(1, name=written))
    assert table.held()["10.0.0.1"].hostname == shown


def test_a_search_looks_at_address_mac_and_name(path: Path, table: LeaseTable) -> None:
    add(path, HEADER + row(17, name="Printer") + row(18))
    assert addresses(table, "PRINT") == addresses(table, "0.17") == addresses(table, "00:11") == ["10.0.0.17"]
    assert addresses(table, "nobody") == []


def test_a_page_of_ten_thousand_leases_takes_milliseconds(path: Path, table: LeaseTable) -> None:
    add(path, HEADER + "".join(row(number, name=f"host{number}") for number in range(1, 10_001)))
    assert len(table.found("")) == 10_000
    times_s = []
    for number in range(50):
        add(path, row(number + 1, name="again"))
        started_s = time.perf_counter()
        table.found("host99")
        times_s.append(time.perf_counter() - started_s)
    assert sorted(times_s)[25] < 0.02, "also where a lease changes between two questions"


def test_what_blocked_clients_have_is_left_out_until_they_are_blocked_no_more(
    path: Path, table: LeaseTable, clock: Clock
) -> None:
    add(path, HEADER + row(7) + row(8) + row(9).replace(",,3600", ",01:02:03,7200"))
    number, version = table.since(0)[0], table.version()
    blocked = {
        Client(1, "mac", "02:00:00:00:00:07"): "seven",
        Client(1, "client", "01:02:03"): "nine",
        Client(2, "address", "10.0.0.8"): "of another subnet",
    }
    table.block(path, blocked)
    assert addresses(table) == ["10.0.0.8"] and table.version() > version
    _, changes = table.since(number)
    assert [(item.what, item.lease.address) for item in changes] == [
        ("went", "10.0.0.7"),
        ("went", "10.0.0.9"),
    ]
    add(path, row(7, lifetime_s=60))
    assert addresses(table) == ["10.0.0.8"], "though Kea writes another row"
    ends = {"seven": NOW_S + 60, "nine": NOW_S + 3600}
    assert table.left_out(path) == ends
    clock.now_s += 61
    assert table.left_out(path) == {"nine": ends["nine"]}
    table.block(path, {Client(1, "address", "10.0.0.8"): "eight"})
    assert addresses(table) == ["10.0.0.9"] and table.left_out(path) == {"eight": NOW_S + 3600}
    table.block(path, {})
    assert addresses(table) == ["10.0.0.8", "10.0.0.9"] and table.left_out(path) == {}
