# SPDX-License-Identifier: Apache-2.0
"""The table of listening sockets (E4): sized by our patch, and what that does to the lookup of a SYN.

The guest's clock counts instructions, so a nanosecond is an instruction of the kernel and runs repeat. Cache
misses do not count, which flatters long chains: on real processors they cost more.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.kernel.product import ask, needs_kernel, printed

pytestmark = needs_kernel
COUNTED = ("--count-instructions", "--silence", "400")
MANY = 16_384
BUCKETS = 65_536
"""What the product's configuration asks for: a quarter of it made chains of four, 1.29 times as long."""
TABLE = "/proc/sys/net/ipv4/tcp_listen_hash_entries"


def lookups(*counts: int, buckets: int | None = None) -> tuple[int, dict[int, Any]]:
    options = COUNTED if buckets is None else (*COUNTED, "--append", f"lhash_entries={buckets}")
    told = ask("listeners", *map(str, counts), options=options)
    return told["buckets"], {row["listeners"]: row for row in told["rows"]}


def table_size(asked: int) -> int:
    """Buckets of a kernel that was started with `lhash_entries=`; nothing is measured."""
    return int(printed("cat", TABLE, options=("--append", f"lhash_entries={asked}")))


@pytest.fixture(scope="module")
def default() -> tuple[int, dict[int, Any]]:
    return lookups(16, 1024, MANY, 4 * MANY)


def test_the_table_has_the_size_that_the_product_asks_for(default: tuple[int, dict[int, Any]]) -> None:
    assert default[0] == BUCKETS


@pytest.mark.parametrize("which", ["open_ns", "closed_ns"])
def test_a_lookup_takes_as_long_with_65536_listeners_as_with_16(
    default: tuple[int, dict[int, Any]], which: str
) -> None:
    medians = {count: row[which]["median"] for count, row in default[1].items()}
    assert max(medians.values()) <= 1.2 * medians[16], medians


def test_with_one_bucket_it_takes_a_hundred_times_longer(default: tuple[int, dict[int, Any]]) -> None:
    """One bucket is what a table keyed by port made of 16,384 listeners on it."""
    buckets, one = lookups(MANY, buckets=1)
    assert buckets == 1
    for which in ("open_ns", "closed_ns"):
        assert one[MANY][which]["median"] >= 100 * default[1][MANY][which]["median"], (one, default)


@pytest.mark.parametrize(("asked", "given"), [(1000, 1024), (1 << 20, 1 << 20), (1 << 24, 1 << 20)])
def test_the_boot_parameter_is_rounded_up_and_bounded(asked: int, given: int) -> None:
    assert table_size(asked) == given


def test_zero_sizes_it_by_memory_as_before_the_patch() -> None:
    """One bucket for each 2 MB of 3 GB, rounded up to a power of two."""
    assert table_size(0) in (1024, 2048)
