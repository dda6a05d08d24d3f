# SPDX-License-Identifier: Apache-2.0
"""Domains in the fast path: each end of a packet is looked up behind its own port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.datapath import packets as p
from tests.datapath.fast_router import FAST, SLOT, XDP_REDIRECT, Fast, download
from tests.datapath.loaded import DOWNLOAD, UPLOAD
from tests.datapath.topology import CLIENT, SERVER
from weir.adapters.datapath_records import PrefixEntry

OTHER = 5
"""The class of the client's addresses in domain 2."""


@pytest.fixture
def two_domains(fast: Fast) -> Iterator[Fast]:
    """The client is behind a port of domain 2, and domain 0 has a class for its address as well."""
    fast.loaded.datapath.attach("lan0", FAST, "edt", domain=2)
    fast.loaded.limit(OTHER, 8_000_000, burst_bytes=20_000)
    fast.loaded.datapath.change_prefixes([PrefixEntry(2, 4, p.value4(CLIENT), 32, OTHER)])
    return fast


def fast_bytes(fast: Fast) -> dict[tuple[int, int], int]:
    """By slot and direction, without those that forwarded nothing."""
    lines = [(slot, direction) for slot in (SLOT, OTHER) for direction in (UPLOAD, DOWNLOAD)]
    counted = {line: fast.loaded.counters(*line)["fast_bytes"] for line in lines}
    return {line: count for line, count in counted.items() if count}


def test_a_download_into_another_domain_is_that_domains(two_domains: Fast) -> None:
    verdict, _ = two_domains.from_wan(download(1, 1000))
    assert verdict == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, DOWNLOAD): 1000}


def test_an_upload_out_of_another_domain_is_that_domains(two_domains: Fast) -> None:
    frame = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, p.udp(1, 5001, bytes(972))))
    verdict, _ = two_domains.from_lan(frame)
    assert verdict == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, UPLOAD): 1000}


def test_an_upload_is_its_own_domains_where_the_other_end_is_a_queue_there(two_domains: Fast) -> None:
    """In domain 2 the server's address is a customer's; behind the WAN, in domain 0, it is the internet's."""
    two_domains.loaded.datapath.change_prefixes([PrefixEntry(2, 4, p.value4(SERVER), 32, SLOT)])
    frame = p.ethernet(p.IPV4, p.ipv4(CLIENT, SERVER, p.udp(1, 5001, bytes(972))))
    assert two_domains.from_lan(frame)[0] == XDP_REDIRECT
    assert fast_bytes(two_domains) == {(OTHER, UPLOAD): 1000}
