# SPDX-License-Identifier: Apache-2.0
"""Delays and shares in `edt` mode, in the virtual machine that counts instructions: there a time is the same
on a busy machine as on an idle one (lab/vm/run --count-instructions pytest tests/latency)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

import pytest

from tests.datapath.topology import CLIENT
from tests.latency.rig import MEGABIT, Rig
from weir.adapters.subqueue_records import SubqueuesRecord

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")

PAYLOAD_SHARE = 1448 / 1500
SIZE = 1400
_CLONE_NEWNET = 0x40000000


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    assert ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) == 0
    with Rig() as rig:
        yield rig


def packets_ps(rate_bps: float) -> float:
    return rate_bps / 8 / (SIZE + 28)


def test_a_call_beside_sixteen_downloads_does_not_wait(rig: Rig) -> None:
    rig.limit(20 * MEGABIT)
    call, goodput_bps = rig.call_beside_downloads(16, 5)
    assert call.lost == 0
    assert call.added_delay_ms(0.99) < 5
    assert goodput_bps > 0.95 * 20 * MEGABIT * PAYLOAD_SHARE


def test_bulk_itself_waits_about_the_target(rig: Rig) -> None:
    """A flow that may not pass the others sees what they see: 15 ms, not the limit of 50."""
    rig.limit(20 * MEGABIT, sparse=False)
    call, goodput_bps = rig.call_beside_downloads(4, 4)
    assert 2 < call.added_delay_ms(0.5) < 25
    assert goodput_bps > 0.95 * 20 * MEGABIT * PAYLOAD_SHARE


def test_a_flood_does_not_hurt_a_call_in_the_same_queue(rig: Rig) -> None:
    """A sender who does not care for losses at three times the limit; the limit holds for both together."""
    rig.limit(4 * MEGABIT)
    flood, call = rig.streams([(CLIENT, packets_ps(12 * MEGABIT), 5, SIZE), (CLIENT, 50, 5, 160)])
    assert call.lost == 0
    assert call.added_delay_ms(0.99) < 5
    total_bps = flood.rate_bps(1, 4.5) + call.rate_bps(1, 4.5)
    assert total_bps == pytest.approx(4 * MEGABIT, rel=0.02)


def test_hosts_share_equally_what_they_offer_very_unequally(rig: Rig) -> None:
    count = 10
    rig.limit(10 * MEGABIT, SubqueuesRecord("destination"))
    addresses = rig.add_hosts(count)
    offered_bps = [(1.5 + number % 3) * 10 * MEGABIT / count for number in range(count)]
    flows = [
        (address, packets_ps(bps), 4.0, SIZE) for address, bps in zip(addresses, offered_bps, strict=True)
    ]
    rates_bps = [stream.rate_bps(1, 3.5) for stream in rig.streams(flows)]
    assert rates_bps == pytest.approx([10 * MEGABIT / count] * count, rel=0.1)


def test_a_host_that_falls_silent_leaves_its_share_within_a_second(rig: Rig) -> None:
    rig.limit(6 * MEGABIT, SubqueuesRecord("destination"))
    steady, short = rig.add_hosts(2)
    first, second = rig.streams(
        [(steady, packets_ps(8 * MEGABIT), 5.0, SIZE), (short, packets_ps(8 * MEGABIT), 2.0, SIZE)]
    )
    assert second.rate_bps(1, 2) == pytest.approx(3 * MEGABIT, rel=0.1)
    assert first.rate_bps(1, 2) == pytest.approx(3 * MEGABIT, rel=0.1)
    assert first.rate_bps(3, 4.5) == pytest.approx(6 * MEGABIT, rel=0.1)


def test_no_packet_overtakes_another_of_its_flow(rig: Rig) -> None:
    """The class is now idle and now behind, so some packets wait and the next need not. fq of the product's
    kernel sends those at once."""
    rig.limit(6 * MEGABIT)
    flows = [(CLIENT, packets_ps(2 * MEGABIT * share), 4.0, SIZE) for share in (0.9, 1.0, 1.1)]
    streams = rig.streams([*flows, (CLIENT, 333, 4.0, 100)])
    assert min(len(stream.arrived) for stream in streams) > 400, "most of them arrive"
    assert [stream.overtaken for stream in streams] == [0] * len(streams)
