# SPDX-License-Identifier: Apache-2.0
"""From one customer to another the sender's upload limit holds, not only the receiver's download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab import netns
from tests.agent.raw_frames import arrived_bps, mac_of, udp4
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath import packets as p
from weir.kinds.firewall import Firewall
from weir.model.objects import Pair, Queue

MEGABIT = 1_000_000
IP_BYTES = 1228


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """The internet's end of the rig is the second customer: 1 Mbit/s up and 100 down each."""
    with running(xdp=True) as made:
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        made.commit(lan(), replace(wan(), role="lan"), Firewall(masquerade=False, drop_new_from_wan=False))
        yield made


def customers(*targets: str) -> list[Queue]:
    limits = Pair(1 * MEGABIT, 100 * MEGABIT)
    return [
        Queue(f"end{number}", f"end {number}", (target,), max_limit_bps=limits)
        for number, target in enumerate(targets)
    ]


@pytest.mark.parametrize("shaper", ["police", "htb"])
@pytest.mark.parametrize("fast_path", ["auto", "off"])
@pytest.mark.parametrize(
    "targets", [("10.64.0.2/32", "203.0.113.1/32"), ("lan0", "wan0"), ("10.64.0.2/32", "wan0")]
)
def test_customer_to_customer_keeps_the_senders_upload_limit(
    rig: Rig, targets: tuple[str, str], fast_path: str, shaper: str
) -> None:
    ports = {"fast_path": fast_path, "shaper": shaper}
    rig.commit(lan(**ports), replace(wan(**ports), role="lan"), *customers(*targets))
    packet = udp4("10.64.0.2", "203.0.113.1", IP_BYTES)
    inner = p.ethernet(p.IPV4, packet)[12:]
    before = {name: rig.counters(name, way) for name, way in (("end0", "upload"), ("end1", "download"))}
    found_bps = arrived_bps(
        (rig.client_ns, "c0"),
        mac_of(rig.router, "lan0"),
        inner,
        (rig.internet, "203.0.113.1"),
        8 * MEGABIT,
        IP_BYTES,
    )
    assert 0.4 * MEGABIT < found_bps < 1.15 * MEGABIT
    sent = rig.counters("end0", "upload")["bytes"] - before["end0"]["bytes"]
    received = rig.counters("end1", "download")["bytes"] - before["end1"]["bytes"]
    # A queue of an interface also has what the router itself sends there, such as neighbour discovery.
    assert received == sent or (targets[1] == "wan0" and sent < received < sent + IP_BYTES)
