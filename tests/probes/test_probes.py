# SPDX-License-Identifier: Apache-2.0
"""Parts of probes by themselves: when they stop waiting, and whom they ask next."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from weir.probes import lookup, output
from weir.probes.output import Output


class Heard(Output):
    """What a probe says, kept."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []

    def tell(self, event: str, **values: object) -> None:
        self.told.append((event, values))


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def test_where_packets_never_stop_the_time_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipe() as (reads, writes), pipe() as (_, stdout):
        monkeypatch.setattr(output, "STDOUT", stdout)
        os.write(writes, b"always something to read")
        assert Heard().wait(reads, time.monotonic() + 5)
        assert not Heard().wait(reads, time.monotonic() - 1)


@pytest.mark.parametrize("server", ["fe80::1", "fe80::1%nowhere", "255.255.255.255"])
def test_a_server_that_there_is_no_way_to_does_not_end_the_lookup(server: str) -> None:
    """A link-local address without a link, one of a link that is not there, and a forbidden one."""
    assert lookup._ask(Heard(), server, "example.net", "A").startswith("not asked: ")


def test_a_name_that_is_none_is_said_at_once() -> None:
    with pytest.raises(OSError, match="more than 63 characters"):
        lookup._ask(Heard(), "fe80::1", "x" * 64, "A")
