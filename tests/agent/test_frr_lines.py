# SPDX-License-Identifier: Apache-2.0
"""FRR's configuration as lines: what is ours, which numbers entries get, what changes one into another."""

from __future__ import annotations

import random

import pytest

from weir.backends.frr_lines import commands, masked, numbered, parsed, paths_of
from weir.parts.routing.block import Block, Entry

BGP = "router bgp 65000"
V4 = "address-family ipv4 unicast"
PRINTED = """
frr version 8.4.4
hostname router
!
ip route 10.0.0.0/8 blackhole
!
interface eth0
 ip address 192.0.2.1/24
exit
!
router bgp 65000
 bgp router-id 192.0.2.1
 neighbor 192.0.2.2 remote-as 65001
 !
 address-family ipv4 unicast
  neighbor 192.0.2.2 activate
 exit-address-family
exit
!
router ospf6
 ospf6 router-id 192.0.2.1
exit
!
ip prefix-list own seq 5 permit any
!
route-map in permit 10
 set metric 5
exit
!
end
"""


def test_what_is_ours_is_read_with_its_place() -> None:
    assert parsed(PRINTED) == (
        (BGP,),
        (BGP, "bgp router-id 192.0.2.1"),
        (BGP, "neighbor 192.0.2.2 remote-as 65001"),
        (BGP, V4, "neighbor 192.0.2.2 activate"),
        ("ip prefix-list own seq 5 permit any",),
        ("route-map in permit 10",),
        ("route-map in permit 10", "set metric 5"),
    )


def entries(*names: str) -> list[Entry]:
    return [Entry(name) for name in names]


@pytest.mark.parametrize(
    ("held", "wanted", "numbers"),
    [
        ({}, "abc", [10, 20, 30]),
        ({10: "a", 20: "b", 30: "c"}, "abc", [10, 20, 30]),
        ({10: "a", 20: "b", 30: "c"}, "bca", [20, 30, 40]),
        ({10: "a", 20: "b", 30: "c"}, "axbc", [10, 15, 20, 30]),
        ({10: "a", 20: "b", 30: "c"}, "axc", [10, 20, 30]),
        ({10: "a", 11: "b"}, "axb", [10, 20, 30]),
        ({5: "a", 10: "b"}, "ba", [2, 5]),
    ],
    ids=["new", "as it is", "the first moved last", "one between", "one changed", "no room", "two swapped"],
)
def test_entries_keep_their_numbers_where_they_can(
    held: dict[int, str], wanted: str, numbers: list[int]
) -> None:
    assert numbered({n: Entry(name) for n, name in held.items()}, entries(*wanted), 65_535) == numbers


def test_a_thousand_moves_change_few_numbers_and_always_rise() -> None:
    choose = random.Random(7)
    order = entries(*map(str, range(300)))
    held = dict(zip(numbered({}, order, 65_535), order, strict=True))
    changed = 0
    for _ in range(1000):
        order.insert(choose.randrange(300), order.pop(choose.randrange(300)))
        numbers = numbered(held, order, 65_535)
        assert numbers == sorted(set(numbers))
        assert numbers[0] > 0 and numbers[-1] <= 65_535
        after = dict(zip(numbers, order, strict=True))
        changed += sum(held.get(number) != entry for number, entry in after.items())
        held = after
    assert changed < 1000 * 60, "now and then there is no room, and all are numbered again"


def test_more_entries_than_steps_of_ten_find_room() -> None:
    numbers = numbered({}, entries(*map(str, range(10_000))), 65_535)
    assert len(set(numbers)) == 10_000 and numbers[-1] <= 65_535


HELD = parsed(PRINTED)


def given(*change: tuple[str, ...], without: tuple[tuple[str, ...], ...] = ()) -> list[str]:
    wanted = [path for path in HELD if path not in without] + list(change)
    return [line.strip() for line in commands(HELD, [p for p in wanted if p not in HELD], wanted)]


def test_nothing_is_said_when_nothing_differs() -> None:
    assert given() == []


def test_a_value_takes_the_place_of_the_one_before() -> None:
    old, new = (BGP, "bgp router-id 192.0.2.1"), (BGP, "bgp router-id 192.0.2.9")
    assert given(new, without=(old,)) == [BGP, "bgp router-id 192.0.2.9", "exit"]


def test_a_neighbour_goes_as_one_line() -> None:
    gone = tuple(path for path in HELD if path[-1].startswith("neighbor"))
    assert given(without=gone) == [BGP, "no neighbor 192.0.2.2", "exit"]


def test_another_as_number_takes_the_block_away_first() -> None:
    gone = tuple(path for path in HELD if path[0] == BGP)
    assert given(("router bgp 65009",), ("router bgp 65009", "bgp router-id 192.0.2.1"), without=gone) == [
        f"no {BGP}",
        "router bgp 65009",
        "bgp router-id 192.0.2.1",
        "exit",
    ]


def test_lists_come_before_what_names_them_and_go_after_it() -> None:
    policy = (BGP, V4, "neighbor 192.0.2.2 route-map new in")
    gone = tuple(path for path in HELD if path[0].startswith("route-map"))
    lines = given(policy, ("route-map new permit 10",), without=gone)
    places = [
        lines.index(line) for line in ("route-map new permit 10", policy[-1], "no route-map in permit 10")
    ]
    assert places == sorted(places)
    assert lines.count("exit-address-family") == 1


def test_a_line_that_says_no_is_taken_back_without_it() -> None:
    typed = (BGP, V4, "no neighbor 192.0.2.2 send-community all")
    lines = commands([*HELD, typed], [], HELD)
    assert "neighbor 192.0.2.2 send-community all" in [line.strip() for line in lines]


def test_secrets_are_filled_in_and_shown_to_nobody() -> None:
    block = Block(BGP, (("neighbor 192.0.2.2 password {n/1/p}",),), secrets=(("n/1/p", "sealed"),))
    filled = list(paths_of(block, (), {"n/1/p": "word"}))
    assert filled[-1] == (BGP, "neighbor 192.0.2.2 password word")
    assert masked(" / ".join(filled[-1])) == f"{BGP} / neighbor 192.0.2.2 password ***"
    assert list(paths_of(block, (), {})) == [(BGP,)], "a secret that is lost makes no line"
