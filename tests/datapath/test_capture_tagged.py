# SPDX-License-Identifier: Apache-2.0
"""A capture of a VLAN interface has what leaves by it without the tag; one of the interface below has it."""

from __future__ import annotations

import pytest

from tests.datapath import packets as p
from tests.datapath.test_capture import frames
from tests.datapath.test_tagged import C_TAG, Trunk, forwarded, tagged, topology, trunk
from tests.datapath.topology import CLIENT, SERVER, Topology
from tests.polling import until
from weir.probes.pcapng import OUTBOUND, Packet

__all__ = ["topology", "trunk"]  # fixtures
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("far0", 0))
for _ in range(20): s.send(bytes.fromhex(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "filtered", [{}, {"network": f"{CLIENT}/32", "protocol": "any"}], ids=["all", "filtered"]
)
def test_the_tag_of_a_vlan_interface_is_the_interfaces_own(
    trunk: Trunk, topology: Topology, filtered: dict[str, str]
) -> None:
    frame = p.frame4(SERVER, CLIENT, 200)
    datapath = trunk.loaded.datapath
    wanted = forwarded(frame)
    with frames(datapath, "lan0", **filtered) as vlan, frames(datapath, "wan0", **filtered) as below:
        assert topology.server.start(SEND, frame.hex()).wait(20) == 0
        found: list[Packet] = []
        until("all have come", lambda: found.extend(vlan.read()) or len(found) == 20)
        assert {packet[1:4] for packet in found} == {(wanted[:128], len(wanted), OUTBOUND)}
        outer = tagged(wanted, 100, C_TAG)[:128]
        assert {packet[1:4] for packet in below.read()} == {(outer, len(wanted) + 4, OUTBOUND)}
