# SPDX-License-Identifier: Apache-2.0
"""The lookup tables against a naive reference: random prefixes, changed step by step."""

from __future__ import annotations

import mmap
import os
import random
import struct
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datapath import packets as p
from tests.datapath.loaded import Loaded
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry, PrefixKey
from weir.adapters.plain_routes import NO_REGIONS
from weir.model.problem import Invalid, NotFound, Unavailable

WIDTH = {4: 32, 6: 128}


def key(family: int, value: int, length: int) -> PrefixKey:
    shift = WIDTH[family] - length
    return PrefixKey(0, family, value >> shift << shift, length)


def best_slot(prefixes: dict[PrefixKey, int], family: int, address: int) -> int:
    """Longest-prefix match, by trying every length."""
    for length in range(WIDTH[family], -1, -1):
        slot = prefixes.get(key(family, address, length))
        if slot is not None:
            return slot
    return 0


def edges(prefixes: dict[PrefixKey, int]) -> list[tuple[int, int]]:
    """Addresses at which an answer may change: both ends of each prefix and their neighbours."""
    found = set()
    for prefix in prefixes:
        size = 1 << (WIDTH[prefix.family] - prefix.length)
        for address in (prefix.value - 1, prefix.value, prefix.value + size - 1, prefix.value + size):
            found.add((prefix.family, address % (1 << WIDTH[prefix.family])))
    return sorted(found)


# Few bits vary, so that prefixes nest, touch and share nodes.
addresses4 = st.builds(
    lambda high, middle, low: high << 24 | middle << 15 | low,
    st.sampled_from([0, 10, 255]),
    st.integers(0, 3),
    st.integers(0, 31) | st.integers(0, 0x7FFF),
)
# Others stand alone in their /16: sparse nodes, which become ordinary ones as they fill.
scattered4 = st.builds(
    lambda high, low: high << 16 | low, st.integers(100, 103), st.sampled_from([0, 1, 255, 256, 65534, 65535])
) | st.builds(lambda high, low: high << 16 | low, st.integers(100, 103), st.integers(0, 65535))
addresses6 = st.builds(
    lambda high, low: 0x2001_0DB8 << 96 | high << 62 | low, st.integers(0, 15), st.integers(0, 7)
)
keys4 = st.builds(lambda value, length: key(4, value, length), addresses4 | scattered4, st.integers(0, 32))
keys6 = st.builds(
    lambda value, length: key(6, value, length),
    addresses6,
    st.sampled_from([0, 1, 48, 63, 64, 65, 66, 126, 127, 128]),
)
keys = keys4 | keys6
slots = st.integers(1, 40)
steps = st.lists(
    st.tuples(st.dictionaries(keys, slots, max_size=60), st.lists(st.integers(0, 1000), max_size=30)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_sequence_of_changes_answers_as_the_reference_does(
    datapath: Datapath, sequence: list[tuple[dict[PrefixKey, int], list[int]]]
) -> None:
    datapath.change_prefixes(remove=list(datapath.read_prefixes()))
    expected: dict[PrefixKey, int] = {}
    for added, removals in sequence:
        present = sorted(expected)
        removed = {present[index % len(present)] for index in removals} if present else set()
        seen = {**expected, **added}
        for gone in removed:
            expected.pop(gone)
        expected.update(added)
        datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in added.items()], removed)
        assert datapath.read_prefixes() == expected
        for family, address in edges(seen):
            assert datapath.lookup(0, family, address) == best_slot(expected, family, address)


def test_programs_read_the_tables_as_the_library_does(loaded: Loaded) -> None:
    loaded.mode("edt")
    chosen = random.Random(4)
    prefixes: dict[PrefixKey, int] = {}
    for _ in range(400):
        prefixes[key(4, 10 << 24 | chosen.getrandbits(13), chosen.choice([16, 20, 24, 28, 32, 32]))] = (
            chosen.randint(1, 4000)
        )
        prefixes[key(6, 0x20010DB8 << 96 | chosen.getrandbits(70), chosen.choice([48, 56, 64, 128]))] = (
            chosen.randint(1, 4000)
        )
    loaded.datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in prefixes.items()])
    prefixes |= IN_TURN
    loaded.datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in IN_TURN.items()])
    for family, address in edges(prefixes):
        raw = address.to_bytes(WIDTH[family] // 8, "big")
        if family == 4:
            frame = p.ethernet(p.IPV4, p.ipv4("0.0.0.0", "192.0.2.1")[:12] + raw + bytes(12))
        else:
            frame = p.ethernet(p.IPV6, p.ipv6("::", "::")[:8] + raw + bytes(24))
        assert loaded.ingress(frame).mark >> 8 == best_slot(prefixes, family, address)


def test_a_node_above_a_crowded_one_is_as_fast_and_shrinks_with_it(datapath: Datapath) -> None:
    crowd = {key(4, 10 << 24 | host, 32): 1 + host % 2 for host in range(100)}
    lone = {key(4, 10 << 24 | net << 8, 24): 3 for net in range(1, 20)}
    before = datapath.usage().v4_units[0]
    datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in (crowd | lone).items()])
    assert datapath.usage().v4_units[0] - before == 2 * 16, "both are plain: one load each"
    for gone in ({}, dict(list(crowd.items())[2:])):
        datapath.change_prefixes((), list(gone))
        expected = {prefix: slot for prefix, slot in (crowd | lone).items() if prefix not in gone}
        for family, address in edges(crowd | lone):
            assert datapath.lookup(0, family, address) == best_slot(expected, family, address)


def hosts(net: int, first: int, last: int, slot: int) -> dict[PrefixKey, int]:
    """Addresses 10.0.`net`.`first` to `last`, with slots in turn from `slot` on."""
    return {key(4, 10 << 24 | net << 8 | host, 32): slot + host - first for host in range(first, last + 1)}


IN_TURN = {
    **hosts(0, 0, 255, 1000),
    **hosts(1, 0, 255, 1256),
    **hosts(2, 2, 254, 1512),
    **hosts(3, 0, 99, 2),
    **hosts(3, 101, 255, 500),
    **{key(4, 10 << 24 | 4 << 8, 24): 7, **hosts(4, 16, 31, 9)},
}
"""Whole networks, parts of them, and within a prefix of their own."""


def test_addresses_in_turn_with_slots_in_turn_take_no_memory_of_their_own(datapath: Datapath) -> None:
    before = datapath.usage().v4_units[0]
    datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in IN_TURN.items()])
    assert datapath.usage().v4_units[0] - before == 16 + 3, "one node above them all, a unit for each part"
    assert datapath.read_prefixes() == IN_TURN
    for prefix in IN_TURN:
        assert datapath.lookup(0, 4, prefix.value) == IN_TURN[prefix]
    datapath.change_prefixes((), list(IN_TURN))
    for family, address in edges(IN_TURN):
        assert datapath.lookup(0, family, address) == 0


changes_in_turn = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from([0, 1, 2, 15, 16, 99, 100, 253, 254, 255]) | st.integers(0, 255),
        st.sampled_from([24, 30, 31, 32, 32, 32]),
        st.integers(0, 3) | st.integers(1000, 1800),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes_in_turn)
def test_addresses_in_turn_may_change_one_by_one(
    loaded: Loaded, changes: list[tuple[int, int, int, int]]
) -> None:
    datapath = loaded.datapath
    datapath.change_prefixes(remove=list(datapath.read_prefixes()))
    datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in IN_TURN.items()])
    expected = dict(IN_TURN)
    for net, host, length, slot in changes:
        prefix = key(4, 10 << 24 | net << 8 | host, length)
        if slot:
            expected[prefix] = slot
            datapath.change_prefixes([PrefixEntry(*prefix, slot)])
        elif prefix in expected:
            del expected[prefix]
            datapath.change_prefixes((), [prefix])
    for address in range(10 << 24, (10 << 24) + 5 * 256):
        assert datapath.lookup(0, 4, address) == best_slot(expected, 4, address)


def test_100_000_scattered_prefixes_load_fast_and_small(own_namespace: None) -> None:
    chosen = random.Random(1)
    entries = {chosen.getrandbits(32): index % 130_000 + 1 for index in range(100_000)}
    with Datapath.open(None) as datapath:
        roots = datapath.usage().v4_units[0]
        datapath.change_prefixes([PrefixEntry(0, 4, value, 32, slot) for value, slot in entries.items()])
        table_bytes = (datapath.usage().v4_units[0] - roots) * 64 + roots * 64
        assert table_bytes < 6e6
        sample = chosen.sample(sorted(entries), 2000)
        assert all(datapath.lookup(0, 4, value) == entries[value] for value in sample)
        datapath.change_prefixes([PrefixEntry(0, 4, 0, 0, 7)])
        assert all(datapath.lookup(0, 4, value) == entries[value] for value in sample)
        assert datapath.lookup(0, 4, sample[0] ^ 1) == entries.get(sample[0] ^ 1, 7)


def mapped_bytes(name: str) -> int:
    """Resident memory of this process that is pages of the kernel's lookup tables."""
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line.split()[0].endswith(":"):
            total += int(line.split()[1]) * 1024 if counts and line.startswith("Rss:") else 0
        else:
            counts = name in line
    return total


def test_tables_that_rest_are_not_mapped_and_go_on_where_they_were(own_namespace: None) -> None:
    with Datapath.open(None, capacity=65536) as datapath:
        near, far = key(4, 10 << 24, 24), key(6, 0x20010DB8 << 96, 64)
        datapath.change_prefixes([(*near, 7), (*far, 8)])
        mapped = mapped_bytes("bpf-map")
        datapath.rest()
        assert mapped_bytes("bpf-map") == mapped, "they were used since"
        datapath.rest()
        assert mapped_bytes("bpf-map") < mapped - 16_000_000
        datapath.rest()
        assert datapath.lookup(0, 4, near.value + 1) == 7
        assert mapped_bytes("bpf-map") == mapped
        datapath.rest()
        datapath.rest()
        assert datapath.read_prefixes() == {near: 7, far: 8}
        datapath.rest()
        datapath.rest()
        datapath.change_prefixes([(*near, 9)], [far])
        assert datapath.lookup(0, 4, near.value) == 9
        assert datapath.lookup(0, 6, far.value) == 0


def test_routes_become_others_while_tables_rest_that_have_removed_entries(own_namespace: None) -> None:
    """What is taken out of a table is made free later, in it: the tables are not touched meanwhile."""
    with Datapath.open(None, capacity=1024) as datapath:
        if datapath.hops_reason():
            pytest.skip(datapath.hops_reason())
        near, other = key(4, 10 << 24, 24), key(4, 11 << 24, 24)
        datapath.change_prefixes([(*near, 7), (*other, 8)])
        datapath.change_prefixes([], [near])
        datapath.rest()
        datapath.rest()
        datapath.look_at_routes()
        for regions in (NO_REGIONS, bytes([1, 0]) * (len(NO_REGIONS) // 2), None):
            datapath.routes_are_plain(regions)
        assert datapath.read_prefixes() == {other: 8}
        assert datapath.guard() == ("", "")


def test_a_full_table_refuses_and_changes_nothing(own_namespace: None) -> None:
    with Datapath.open(None, capacity=64) as datapath:
        first = [PrefixEntry(0, 4, value << 16, 32, 1) for value in range(60)]
        datapath.change_prefixes(first)
        before = datapath.read_prefixes()
        with pytest.raises(Unavailable, match="60 of at most 64 prefixes, 10 more") as problem:
            datapath.change_prefixes(
                [PrefixEntry(0, 4, value << 20, 30, 2) for value in range(10)], [first[3][:4]]
            )
        assert problem.value.code == "datapath-full"
        assert datapath.read_prefixes() == before
        assert all(datapath.lookup(0, 4, value << 16) == 1 for value in range(60))


def test_a_full_tree_refuses_and_changes_nothing(own_namespace: None) -> None:
    with Datapath.open(None, capacity=4096, v4_units=200) as datapath:
        datapath.change_prefixes([PrefixEntry(0, 4, value << 16, 32, 1) for value in range(120)])
        before = datapath.read_prefixes()
        with pytest.raises(Unavailable, match="IPv4 tree is full"):
            datapath.change_prefixes(
                [PrefixEntry(0, 4, 1 << 30 | value << 16, 32, 2) for value in range(120)]
            )
        assert datapath.read_prefixes() == before
        assert datapath.lookup(0, 4, 119 << 16) == 1
        assert datapath.lookup(0, 4, 1 << 30) == 0


def test_more_than_32_v6_lengths_are_refused(datapath: Datapath) -> None:
    many = [PrefixEntry(0, 6, 0, length, 1) for length in range(96, 128)]
    datapath.change_prefixes(many)
    with pytest.raises(Unavailable, match="32 different IPv6 prefix lengths"):
        datapath.change_prefixes([PrefixEntry(0, 6, 0, 64, 2)])
    assert len(datapath.read_prefixes()) == 32
    assert datapath.lookup(0, 6, 0) == 1


@pytest.mark.parametrize(
    "entry",
    [
        (0, 5, 0, 8, 1),
        (0, 4, 1, 8, 1),
        (0, 4, 0, 33, 1),
        (0, 4, 0, 8, 0),
        (0, 4, 0, 8, 4096),
        (4, 4, 0, 8, 1),
    ],
)
def test_what_makes_no_sense_is_refused(datapath: Datapath, entry: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(Invalid):
        datapath.change_prefixes([(0, 4, 0, 8, 3), entry])
    assert datapath.read_prefixes() == {}


def test_removing_what_is_not_there_is_refused(datapath: Datapath) -> None:
    with pytest.raises(NotFound):
        datapath.change_prefixes([(0, 4, 0, 8, 3)], [(0, 4, 0, 9)])
    assert datapath.read_prefixes() == {}


def test_domains_keep_equal_addresses_apart(own_namespace: None) -> None:
    with Datapath.open(None, capacity=256, domains=3) as datapath:
        for domain in range(3):
            datapath.change_prefixes([(domain, 4, 10 << 24, 8, domain + 1), (domain, 6, 0, 0, domain + 10)])
        assert [datapath.lookup(domain, 4, 10 << 24) for domain in range(3)] == [1, 2, 3]
        assert [datapath.lookup(domain, 6, 5) for domain in range(3)] == [10, 11, 12]


def test_lookups_hold_while_everything_around_them_changes(loaded: Loaded) -> None:
    """One address of each family keeps its prefix; thousands of others come and go in the same nodes."""
    loaded.mode("edt")
    kept4, kept6 = p.value4("10.64.1.7"), p.value6("2001:db8:64:7::")
    loaded.datapath.change_prefixes([(0, 4, kept4, 32, 77), (0, 6, kept6, 64, 78)])
    frames = {77: p.frame4("10.64.1.7", "192.0.2.1"), 78: p.frame6("2001:db8:64:7::1", "2001:db8::")}
    done = threading.Event()
    wrong: list[tuple[int, int]] = []

    def look() -> None:
        while not done.is_set():
            for slot, frame in frames.items():
                found = loaded.ingress(frame, repeat=200).mark >> 8
                if found != slot:
                    wrong.append((slot, found))

    reader = threading.Thread(target=look)
    reader.start()
    chosen = random.Random(9)
    try:
        for _ in range(150):
            others = {key(4, kept4 ^ chosen.getrandbits(12), chosen.randint(8, 32)): 5 for _ in range(200)}
            others |= {
                key(6, kept6 ^ chosen.getrandbits(76), 128 - chosen.randint(0, 9)): 6 for _ in range(50)
            }
            others.pop(key(4, kept4, 32), None)
            loaded.datapath.change_prefixes([PrefixEntry(*other, slot) for other, slot in others.items()])
            loaded.datapath.change_prefixes(remove=list(others))
    finally:
        done.set()
        reader.join()
    assert wrong == []


def test_a_change_that_was_cut_off_is_completed_on_open(pin_dir: Path) -> None:
    """`updating` set and a tree that knows nothing of the prefixes: what a kill in between may leave."""
    with Datapath.open(pin_dir, capacity=256) as datapath:
        datapath.change_prefixes([(0, 4, 10 << 24, 8, 3), (0, 4, 10 << 24 | 9, 32, 4)])
        fd = datapath.map_fd("weir_v4")
        with mmap.mmap(fd, 4096 * 64) as roots:
            struct.pack_into("<I", roots, (10 << 8) * 4, 0)
        os.close(fd)
        fd = datapath.map_fd("weir_meta")
        with mmap.mmap(fd, 4096) as meta:
            struct.pack_into("<I", meta, 28 + 2 * 36, 1)
        os.close(fd)
        assert datapath.lookup(0, 4, 10 << 24) == 0
    with Datapath.open(pin_dir) as datapath:
        assert datapath.lookup(0, 4, 10 << 24) == 3
        assert datapath.lookup(0, 4, 10 << 24 | 9) == 4
        datapath.destroy()


def test_tables_stay_short_under_endless_change(own_namespace: None) -> None:
    """Eight times the table in other prefixes has come and gone; those that stayed are always found."""
    chosen = random.Random(3)
    kept = {key(6, chosen.getrandbits(64) << 64, 64): index + 1 for index in range(60)}
    with Datapath.open(None, capacity=512) as datapath:
        datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in kept.items()])
        for _ in range(20):
            others = [key(6, chosen.getrandbits(64) << 64, 64) for _ in range(400)]
            datapath.change_prefixes([PrefixEntry(*other, 7) for other in others])
            datapath.change_prefixes(remove=others)
            assert all(datapath.lookup(0, 6, prefix.value) == slot for prefix, slot in kept.items())
        assert datapath.read_prefixes() == kept
        fd = datapath.map_fd("weir_prefix6")
        with mmap.mmap(fd, 1024 * 32) as table:
            tags = [struct.unpack_from("<I", table, index * 32 + 20)[0] for index in range(1024)]
        os.close(fd)
        assert sum(tag == 1 for tag in tags) <= 256 + 400, "a quarter of the table, and the last change"
