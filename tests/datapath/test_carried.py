# SPDX-License-Identifier: Apache-2.0
"""Packets that leave by two ports, a tunnel and its way out: the first charges, the second lets them pass."""

from __future__ import annotations

import pytest

from tests.datapath import packets as p
from tests.datapath.bpf_run import NEXT
from tests.datapath.loaded import DOWNLOAD, Loaded
from weir.adapters.datapath_records import Mode, Role
from weir.model.problem import Invalid

SLOT = 7
CUSTOMER, INTERNET = "10.64.1.7", "198.51.100.1"
DOWN = p.frame4(INTERNET, CUSTOMER, 1000)
CHARGED = 0x10000000
SHAPED = Role.CLASSIFY | Role.SHAPE


@pytest.fixture
def router(loaded: Loaded) -> Loaded:
    loaded.limit(SLOT, 8_000_000, burst_bytes=20_000)
    loaded.classify(4, p.value4(CUSTOMER), 32, SLOT)
    return loaded


def test_a_port_whose_packets_leave_by_another_marks_what_it_charged(router: Loaded) -> None:
    router.mode("edt", roles=SHAPED)
    assert router.egress(DOWN, mark=5).mark == 5
    router.mode("edt", roles=SHAPED | Role.TRUNK | Role.CARRIED)
    assert router.egress(DOWN, mark=5).mark == CHARGED | 5
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 2
    assert router.datapath.attached()["lo"].roles & Role.CARRIED


def test_what_is_carried_is_a_trunk_as_well(router: Loaded) -> None:
    with pytest.raises(Invalid, match="trunk"):
        router.mode("police", roles=SHAPED | Role.CARRIED)


@pytest.mark.parametrize("mode", ["edt", "police", "htb"])
def test_below_it_what_was_charged_passes(router: Loaded, mode: Mode) -> None:
    """In a tree by no class: `priority` was one of the tree above."""
    router.mode(mode, roles=SHAPED | Role.TRUNK)
    run = router.egress(DOWN, mark=CHARGED | 5, priority=0xFFFE8003)
    assert (run.verdict, run.mark, run.priority) == (NEXT, CHARGED | 5, 0 if mode == "htb" else 0xFFFE8003)
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 0
    assert router.unshaped() == {}
    router.egress(DOWN, mark=5)
    assert router.counters(SLOT, DOWNLOAD)["packets"] == 1


def test_a_packet_that_arrives_was_not_charged(router: Loaded) -> None:
    router.mode("edt", roles=SHAPED)
    assert router.ingress(p.frame4(CUSTOMER, INTERNET), mark=CHARGED | 5).mark == SLOT << 8 | 5
