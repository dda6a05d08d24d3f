# SPDX-License-Identifier: Apache-2.0
"""Two customers with the same addresses behind ports of two domains: packets, clocks and counters apart."""

from __future__ import annotations

import pytest

from tests.datapath import packets as p
from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from weir.adapters.datapath_records import PrefixEntry

MAIN, OTHER = 3, 5
"""Classes of the same prefixes in domain 0 and in domain 2."""
HOST, HOST6, FAR, FAR6 = "10.0.0.5", "2001:db8::5", "192.0.2.9", "2001:db8:99::9"
FRAMES = {
    4: (p.frame4(FAR, HOST, 1000), p.frame4(HOST, FAR, 1000)),
    6: (p.frame6(FAR6, HOST6, 1000), p.frame6(HOST6, FAR6, 1000)),
}


@pytest.fixture(autouse=True)
def the_same_prefixes_twice(loaded: Loaded) -> None:
    for domain, slot in ((0, MAIN), (2, OTHER)):
        loaded.limit(slot, 8_000_000 * slot, burst_bytes=20_000)
        loaded.datapath.change_prefixes(
            [
                PrefixEntry(domain, 4, p.value4("10.0.0.0"), 24, slot),
                PrefixEntry(domain, 6, p.value6("2001:db8::"), 64, slot),
            ]
        )


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(("domain", "mine", "theirs"), [(0, MAIN, OTHER), (2, OTHER, MAIN)])
def test_a_download_is_its_ports_customers(
    loaded: Loaded, family: int, domain: int, mine: int, theirs: int
) -> None:
    loaded.mode("edt", domain=domain)
    loaded.egress(FRAMES[family][0])
    assert loaded.counters(mine, DOWNLOAD)["bytes"] == 1000
    assert loaded.counters(theirs, DOWNLOAD)["bytes"] == 0
    assert loaded.clock_tk(mine, DOWNLOAD) > 0
    assert loaded.clock_tk(theirs, DOWNLOAD) == 0


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(("domain", "mine", "theirs"), [(0, MAIN, OTHER), (2, OTHER, MAIN)])
def test_an_upload_is_marked_where_it_came_in_and_charged_behind_a_port_of_domain_0(
    loaded: Loaded, family: int, domain: int, mine: int, theirs: int
) -> None:
    loaded.mode("edt", domain=domain)
    marked = loaded.ingress(FRAMES[family][1])
    loaded.mode("edt", domain=0)
    loaded.egress(FRAMES[family][1], mark=marked.mark)
    assert loaded.counters(mine, UPLOAD)["bytes"] == 1000
    assert loaded.counters(theirs, UPLOAD)["bytes"] == 0


def test_behind_a_port_of_another_domain_the_address_is_nobodys(loaded: Loaded) -> None:
    loaded.mode("edt", domain=1)
    loaded.egress(FRAMES[4][0])
    assert loaded.unshaped()["no-class"] == 1
    assert loaded.ingress(FRAMES[4][1]).mark == 0
