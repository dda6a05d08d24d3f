# SPDX-License-Identifier: Apache-2.0
"""Somebody else writes into what lookups read: the guard sees it, and all is found again."""

from __future__ import annotations

import mmap
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.datapath.bpf_run import map_delete, map_put
from tests.datapath.test_prefixes import best_slot, edges, key
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, FarEntry, LineRecord, PrefixEntry, PrefixKey
from weir.adapters.subqueue_records import SubqueuesRecord

Prefixes = dict[PrefixKey, int]
CAPACITY = 256
LOOKS = 3
SIZES = {"weir_v4": (4096 + 2 * CAPACITY + 1024) * 64, "weir_prefix4": 512 * 32, "weir_prefix6": 512 * 32}
SOURCES_BYTES = 65_536 // 8
ROW_BYTES, CONFIGURED_AT, CONFIGURED_BYTES = 80, 8, 40
"""Of struct weir_subqueues: what is configured of it lies between its cost and what packets change."""
LENGTHS_AT, LENGTHS_BYTES = 24, 4 + 2 * 36
"""Of struct weir_meta: which list of lengths packets use, and both lists."""


def poke(datapath: Datapath, name: str, place: int, data: bytes) -> None:
    fd = datapath.map_fd(name)
    with mmap.mmap(fd, place + len(data)) as table:
        table[place : place + len(data)] = data
    os.close(fd)


def some_prefixes(chosen: random.Random, count: int = 120) -> Prefixes:
    """Hosts in turn, networks that nest, and lone ones: all forms of a node, and IPv6 of four lengths."""
    found = {key(4, 10 << 24 | n, 32): n + 1 for n in range(count // 2)}
    for n in range(count // 4):
        found[key(4, chosen.getrandbits(32), chosen.choice((8, 16, 20, 24, 32)))] = 1 + n % 200
        found[key(6, chosen.getrandbits(128), chosen.choice((32, 48, 64, 128)))] = 1 + n % 200
    return found


def put(datapath: Datapath, prefixes: Prefixes) -> None:
    datapath.change_prefixes([PrefixEntry(*prefix, slot) for prefix, slot in prefixes.items()])


def looked(datapath: Datapath) -> str:
    """What some looks of the guard found."""
    return "; ".join(words for words, fault in (datapath.guard() for _ in range(LOOKS)) if words or fault)


def brought_back(datapath: Datapath, wanted: Prefixes) -> None:
    """As the agent does when it is told: what is there is compared with what should be."""
    held = datapath.read_prefixes()
    datapath.change_prefixes(
        [PrefixEntry(*prefix, slot) for prefix, slot in wanted.items() if held.get(prefix) != slot],
        [prefix for prefix in held if prefix not in wanted],
    )


def wrong(datapath: Datapath, wanted: Prefixes) -> list[tuple[int, int]]:
    return [
        (family, address)
        for family, address in edges(wanted)
        if datapath.lookup(0, family, address) != best_slot(wanted, family, address)
    ]


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("is_resting", [False, True], ids=["mapped", "resting"])
def test_an_emptied_table_is_seen_and_all_is_found_again(
    own_namespace: None, name: str, is_resting: bool
) -> None:
    wanted = some_prefixes(random.Random(1))
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        put(datapath, wanted)
        assert looked(datapath) == ""
        for _ in range(2 if is_resting else 0):
            datapath.rest()
        poke(datapath, name, 0, bytes(SIZES[name]))
        assert "was changed" in looked(datapath)
        brought_back(datapath, wanted)
        assert datapath.read_prefixes() == wanted
        assert wrong(datapath, wanted) == []
        assert looked(datapath) == ""


def test_one_unit_of_the_tree_that_was_emptied_comes_back_without_anybody_else(own_namespace: None) -> None:
    wanted = some_prefixes(random.Random(2))
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        put(datapath, wanted)
        poke(datapath, "weir_v4", (10 << 24 >> 20) * 64, bytes(64))
        assert datapath.lookup(0, 4, 10 << 24) == 0
        assert "IPv4 lookups" in looked(datapath)
        assert wrong(datapath, wanted) == []


@pytest.mark.parametrize("seed", range(12))
def test_any_bytes_anywhere_lose_nothing_and_lead_nowhere(own_namespace: None, seed: int) -> None:
    """Between the damage and the look, lookups and changes go on: they crash nowhere."""
    chosen = random.Random(seed)
    wanted = some_prefixes(chosen)
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        put(datapath, wanted)
        for _ in range(6):
            name = chosen.choice(sorted(SIZES))
            used = min(SIZES[name], 4096 * 64 + 256 * 64)
            times = chosen.choice((1, 20, 400))
            for _ in range(times):
                size = chosen.choice((1, 4, 64))
                poke(datapath, name, chosen.randrange(0, used - 64, 4), chosen.randbytes(size))
            wrong(datapath, wanted)
            more = key(4, chosen.getrandbits(32), 32)
            wanted[more] = 7
            datapath.change_prefixes([PrefixEntry(*more, 7)])
            assert looked(datapath) or times == 1, "one may hit what packets do not read"
            brought_back(datapath, wanted)
            looked(datapath)
            assert datapath.read_prefixes() == wanted
            assert wrong(datapath, wanted) == []


def test_emptied_lengths_and_sizes_are_put_back(own_namespace: None) -> None:
    wanted = some_prefixes(random.Random(3))
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        put(datapath, wanted)
        poke(datapath, "weir_meta", LENGTHS_AT, bytes(LENGTHS_BYTES))
        assert wrong(datapath, {p: s for p, s in wanted.items() if p.family == 6}) != []
        assert "lengths were changed" in looked(datapath)
        assert wrong(datapath, wanted) == []
        assert looked(datapath) == ""


def held(datapath: Datapath, name: str, size: int) -> bytes:
    fd = datapath.map_fd(name)
    with mmap.mmap(fd, size) as table:
        found = table[:size]
    os.close(fd)
    return found


def test_the_routers_own_addresses_are_put_back(own_namespace: None) -> None:
    """Emptied, the fast path would forward what the stack refuses; full, it would ask for every packet."""
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        assert looked(datapath) == ""
        datapath.refuse_sources([0xC6336401, 0xC63364FF])
        before = held(datapath, "weir_sources", SOURCES_BYTES)
        assert 0 < sum(word.bit_count() for word in before) <= 2
        for damage in (bytes(SOURCES_BYTES), b"\xff" * SOURCES_BYTES):
            poke(datapath, "weir_sources", 0, damage)
            assert "router's own addresses were changed" in looked(datapath)
            assert held(datapath, "weir_sources", SOURCES_BYTES) == before
        datapath.refuse_sources(None)
        assert looked(datapath) == ""


def test_rows_of_sub_queues_are_put_back(own_namespace: None) -> None:
    """An emptied row divides its class among nobody; one written for a class that has none is taken away."""
    line = LineRecord.of(10**6, 10**4, 10**9)
    by_host = SubqueuesRecord("destination", rate_bps=64_000, limit_bytes=20_000)
    record = ClassRecord(9, 0, line, replace(line, subqueues=by_host))
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        datapath.write_classes([(9, record)])
        before = datapath.read_classes()
        assert looked(datapath) == ""
        for row in (1, 2):
            poke(datapath, "weir_subqueues", row * ROW_BYTES + CONFIGURED_AT, b"\x01" * CONFIGURED_BYTES)
            assert "1 rows of sub-queues were changed" in looked(datapath)
            assert datapath.read_classes() == before
        poke(datapath, "weir_subqueues", 0, bytes(3 * ROW_BYTES))
        assert "rows of sub-queues were changed" in looked(datapath)
        assert datapath.read_classes() == before
        datapath.write_classes([(9, ClassRecord(9, 0, line, line))])
        assert looked(datapath) == ""


def test_own_changes_never_look_like_anothers(own_namespace: None) -> None:
    chosen = random.Random(4)
    wanted: Prefixes = {}
    line = LineRecord.of(10**6, 10**4, 10**9)
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        for step in range(60):
            put(datapath, more := some_prefixes(chosen, chosen.choice((4, 60))))
            wanted |= more
            gone = chosen.sample(sorted(wanted), len(wanted) * step % 7 // 7)
            if len(wanted) > CAPACITY // 2:
                gone = sorted(wanted)[: len(wanted) - 40]
            datapath.change_prefixes(remove=gone)
            for prefix in gone:
                del wanted[prefix]
            datapath.write_classes([(9, ClassRecord(9, 0, line, line, 8 if step % 2 else 0))])
            datapath.change_far([FarEntry(9, 4, bytes(16), 8 + step % 20, 3, 1)])
            datapath.rest() if step % 5 < 2 else None
            assert looked(datapath) == "", f"step {step}"
        assert wrong(datapath, wanted) == []


def test_far_ends_that_were_removed_added_or_changed_are_told(own_namespace: None) -> None:
    near, other = (FarEntry(9, 4, bytes([end] * 4).ljust(16, b"\0"), 32, 3, 1) for end in (1, 2))
    with Datapath.open(None, capacity=CAPACITY) as datapath:
        fd = datapath.map_fd("weir_far")
        datapath.change_far([near])
        assert looked(datapath) == ""
        for change in ("removed", "added", "changed"):
            _far_by_another(fd, near, other, change)
            until(f"{change} is told", lambda: "far ends was changed" in datapath.guard()[0])
            datapath.change_far([near], [other])
            assert datapath.read_far() == [near]
            assert looked(datapath) == ""
        os.close(fd)


def _far_by_another(fd: int, near: FarEntry, other: FarEntry, change: str) -> None:
    def key_of(entry: FarEntry) -> bytes:
        words = (64 + entry.length, entry.fork, entry.family)
        return b"".join(word.to_bytes(4, "little") for word in words) + entry.end

    if change == "removed":
        map_delete(fd, key_of(near))
    elif change == "added":
        map_put(fd, key_of(other), (3).to_bytes(4, "little") + bytes(4))
    else:
        map_put(fd, key_of(near), (4).to_bytes(4, "little") + bytes(4))


@pytest.mark.parametrize("name", SIZES)
def test_what_was_damaged_while_no_agent_ran_is_seen_on_open(pin_dir: Path, name: str) -> None:
    wanted = some_prefixes(random.Random(5))
    with Datapath.open(pin_dir, capacity=CAPACITY) as datapath:
        put(datapath, wanted)
        fd = datapath.map_fd(name)
    with mmap.mmap(fd, SIZES[name]) as table:
        table[: SIZES[name]] = random.Random(6).randbytes(SIZES[name])
    os.close(fd)
    with Datapath.open(pin_dir) as datapath:
        brought_back(datapath, wanted)
        assert datapath.read_prefixes() == wanted
        assert wrong(datapath, wanted) == []
        datapath.destroy()
