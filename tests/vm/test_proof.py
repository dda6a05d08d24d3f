# SPDX-License-Identifier: Apache-2.0
"""A frame that proves a packet's way, on a kernel with fq and VLANs: it comes in and leaves by a VLAN
interface."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.agent.conftest import parts
from tests.agent.rig import Rig, lan, wan
from tests.agent.test_packet_proof import proved, step, what_stays
from weir.http.context import Context
from weir.kinds.static_route import StaticRoute
from weir.model.interface import Interface, Vlan
from weir.model.objects import Pair, Queue

__all__ = ["parts"]
pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")

CUSTOMER, TAGGED, GATEWAY = "10.64.0.2", "10.7.0.2", "203.0.113.1"


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Iterator[Rig]:
    bare_rig.commit(
        lan(),
        wan(),
        Interface("v7", "lan", ("10.7.0.1/24",), vlan=Vlan("lan0", 7)),
        StaticRoute("out", "0.0.0.0/0", gateway=GATEWAY),
        Queue("tagged", "tagged", (f"{TAGGED}/32",), max_limit_bps=Pair(1_000_000, 1_000_000)),
    )
    for device, address in (("wan0", GATEWAY), ("v7", TAGGED)):
        bare_rig.run("ip", "neigh", "replace", address, "lladdr", "02:00:00:00:00:09", "dev", device)
    yield bare_rig
    bare_rig.run("ip", "neigh", "delete", GATEWAY, "dev", "wan0")  # the other goes with its device


def test_a_vlan_interface_is_where_it_comes_in_and_leaves(rig: Rig, parts: Context) -> None:
    found = proved(parts, TAGGED, "8.8.8.8", in_interface="lan0", vlan=7)
    assert (found.fate, found.outcome) == ("forwarded", "same"), found
    assert step(found, "ingress").sentence == "It came in by v7."
    found = proved(parts, CUSTOMER, TAGGED, in_interface="lan0")
    assert (found.fate, found.outcome) == ("forwarded", "same"), found
    assert step(found, "egress").sentence == "It was caught behind the program of v7."
    assert what_stays(rig) == []
