# SPDX-License-Identifier: Apache-2.0
"""The limit of a customer behind a VLAN holds while the VLAN is made again, by a commit and after a hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.meter import IP_BYTES, MOST_PACKETS, RATE_BPS, metered
from tests.agent.rig import Rig, client_queue, lan, wan
from tests.polling import until
from weir.model.interface import Interface, Vlan

pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

OFFERED_BPS = 10_000_000
CUSTOMER = "10.66.0.2"
VLAN = "10.66.0.1/24"


def customers(vlan_id: int) -> Interface:
    return Interface("customers", role="lan", addresses=(VLAN,), vlan=Vlan("lan0", vlan_id))


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Iterator[Rig]:
    made = bare_rig
    made.commit(lan(), wan(), customers(7), replace(client_queue(RATE_BPS), target=(f"{CUSTOMER}/32",)))
    for vlan_id in (7, 8):
        netns.ip(made.client_ns, [f"link add link c0 name c0.{vlan_id} up type vlan id {vlan_id}"])
    netns.ip(made.internet, ["route add 10.66.0.0/24 via 203.0.113.2"])
    move(made, 7)
    yield made
    netns.ip(made.client_ns, [f"link delete c0.{vlan_id}" for vlan_id in (7, 8)])
    netns.ip(made.internet, ["route delete 10.66.0.0/24"])


def move(rig: Rig, vlan_id: int) -> None:
    """The customer is in this VLAN from now on."""
    for device in ("c0.7", "c0.8"):
        netns.ip(rig.client_ns, [f"address flush dev {device}"])
    device = f"c0.{vlan_id}"
    netns.ip(
        rig.client_ns,
        [
            f"address add {CUSTOMER}/24 dev {device}",
            f"route replace 203.0.113.0/24 via 10.66.0.1 dev {device} src {CUSTOMER}",
        ],
    )


def another_id(rig: Rig) -> None:
    rig.commit(customers(8))
    move(rig, 8)


def deleted_by_hand(rig: Rig) -> None:
    rig.run("ip", "link", "delete", "customers")


@pytest.mark.parametrize("change", [another_id, deleted_by_hand])
def test_a_vlan_that_is_made_again_lets_nothing_out_beyond_the_limit(
    rig: Rig, change: Callable[[Rig], None]
) -> None:
    with metered(rig, OFFERED_BPS, near=CUSTOMER) as meter:
        meter.watch(0.5)
        begun_s = time.time()
        change(rig)
        until("packets arrive again", lambda: meter.last_s > time.time() - 0.2 > begun_s + 0.5, 30.0)
        meter.watch(2.0)
        took_s = time.time() - begun_s
    most, arrived_bps = meter.most(begun_s), meter.arrived(begun_s) * IP_BYTES * 8 / took_s
    print(f"at most {most} packets in 50 ms, {arrived_bps / 1e6:.2f} Mbit/s in {took_s:.1f} s")
    assert most <= MOST_PACKETS
    assert 0 < arrived_bps <= 1.5 * RATE_BPS
