# SPDX-License-Identifier: Apache-2.0
"""Queues on a member of a bridge or bond, and on what is upon it, with a kernel that has bonds, VLANs and fq.

Pings are counted: each has to be in one class once, both ways, and none in no class.
"""

from __future__ import annotations

import ctypes
import os
import statistics
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from lab import netns
from tests.datapath.loaded import Loaded
from tests.datapath.topology import CLIENT, SERVER, Topology, run
from tests.vm.test_wrapped import BURST, DATAGRAM_BYTES, IP_BYTES, PAYLOAD, PINGS, RATE_BPS, Rig, gaps
from weir.adapters.datapath import Datapath
from weir.adapters.netlink import Links
from weir.backends.fast import FastPaths
from weir.backends.modes import PortModes
from weir.backends.ports import PortsBackend, PortsWanted
from weir.compiler.types import PortSpec

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.counted,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MEMBER, ABOVE, UPON = 3, 5, 7
CLIENT_UPON = "10.65.0.2"
"""The client's address in VLAN 7, which is upon the bridge or bond."""
# A bridge that snoops reports a group of its own (224.0.0.106), which would be counted, too.
MAKE = {
    "bridge": "link add over0 type bridge mcast_snooping 0",
    "bond": "link add over0 type bond mode active-backup",
}
NOTHING, ALL = (0, 0), (PINGS, PINGS * IP_BYTES)


@pytest.fixture(scope="module", params=MAKE)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The client is behind lan0, which belongs to over0; with VLAN 7 upon that."""
    assert ctypes.CDLL(None, use_errno=True).unshare(netns.CLONE_NEWNET) == 0
    with ExitStack() as stack:
        topology = stack.enter_context(Topology())
        datapath = stack.enter_context(Datapath.open(None, capacity=256))
        made = Rig(topology, stack.enter_context(Loaded(datapath)))
        stack.callback(made.close)
        datapath.change_prefixes(remove=list(datapath.read_prefixes()))
        for which in ("all", "default"):  # what IPv6 sends of itself would be counted, too
            run("sysctl", "-qw", f"net.ipv6.conf.{which}.disable_ipv6=1")
        for words in (
            MAKE[request.param],
            "link set lan0 down",
            "link set lan0 master over0",
            "address flush dev lan0",
            "link set lan0 up",
            "link set over0 up",
            "address add 10.64.0.1/24 dev over0",
            "link add link over0 name over0.7 up type vlan id 7",
            "address add 10.65.0.1/24 dev over0.7",
        ):
            run("ip", *words.split())
        for words in (
            "link add link far0 name far0.7 up type vlan id 7",
            f"address add {CLIENT_UPON}/24 dev far0.7",
            f"rule add from {CLIENT_UPON} lookup 7",
            "route add default via 10.65.0.1 dev far0.7 table 7",
        ):
            topology.client.run("ip", *words.split())
        yield made


def shape(rig: Rig, targets: Mapping[str, int], rate_bps: int = 50_000_000) -> None:
    """As the agent does, with these ports and their classes; counters begin at 0."""
    for slot in (MEMBER, ABOVE, UPON):
        rig.datapath.clear_class(slot)
        rig.loaded.limit(slot, rate_bps)
    specs = {name: PortSpec(name, "lan", "auto", 0, slot, fast_path="off") for name, slot in targets.items()}
    links = Links()
    fast = FastPaths("", lambda _: None, lambda _: False)
    backend = PortsBackend(rig.datapath, links, PortModes({}), fast)
    found = backend.diff(
        backend.read(), PortsWanted({**specs, "wan0": PortSpec("wan0", "wan", "auto", 0, 0)}, ())
    )
    backend.apply(found)
    backend.verify(found)
    links.close()


def pinged(rig: Rig, source: str) -> dict[int, list[tuple[int, int]]]:
    """(packets, bytes) of both directions by class, of those that have any; 0 is for what is in no class."""
    rig.lan.peer.run("ping", "-q", "-c", "1", "-W", "5", "-I", source, SERVER)
    before = _counted(rig)
    ping = f"ping -q -c {PINGS} -i 0.02 -s {PAYLOAD} -W 5 -I {source} {SERVER}"
    assert " 0% packet loss" in rig.lan.peer.run(*ping.split())
    after = _counted(rig)
    found = {
        slot: [
            (packets - old[0], size - old[1]) for (packets, size), old in zip(ways, before[slot], strict=True)
        ]
        for slot, ways in after.items()
    }
    return {slot: ways for slot, ways in found.items() if any(ways) and set(ways) != {NOTHING}}


def _counted(rig: Rig) -> dict[int, list[tuple[int, int]]]:
    found = {slot: rig.packets(slot) for slot in (MEMBER, ABOVE, UPON)}
    unshaped = rig.datapath.port_counters().values()
    found[0] = [(sum(port.packets["no-class"] for port in unshaped), 0)]
    return found


def test_the_member_has_its_packets_and_the_bridge_the_rest(rig: Rig) -> None:
    shape(rig, {"over0": ABOVE, "lan0": 0})
    assert pinged(rig, CLIENT) == {ABOVE: [ALL, ALL]}
    shape(rig, {"over0": ABOVE, "lan0": MEMBER})
    assert pinged(rig, CLIENT) == {MEMBER: [ALL, ALL]}
    shape(rig, {"over0": 0, "lan0": MEMBER})
    assert pinged(rig, CLIENT) == {MEMBER: [ALL, ALL]}
    shape(rig, {"over0": ABOVE})
    assert pinged(rig, CLIENT) == {ABOVE: [ALL, ALL]}


@pytest.mark.parametrize("member", [0, MEMBER], ids=["the bridge shapes", "it yields"])
def test_a_vlan_upon_it_has_its_own(rig: Rig, member: int) -> None:
    shape(rig, {"over0": ABOVE, "lan0": member, "over0.7": UPON})
    assert pinged(rig, CLIENT_UPON) == {UPON: [ALL, ALL]}
    shape(rig, {"over0": ABOVE, "lan0": member, "over0.7": 0})
    assert pinged(rig, CLIENT_UPON) == {0: [(2 * PINGS, 0)]}


def test_a_member_paces(rig: Rig) -> None:
    shape(rig, {"over0": ABOVE, "lan0": MEMBER}, RATE_BPS)
    gaps_s = gaps(rig, CLIENT)
    packet_s = DATAGRAM_BYTES * 8 / RATE_BPS
    assert len(gaps_s) > BURST / 2
    assert statistics.median(gaps_s) == pytest.approx(packet_s, rel=0.1)
    assert sum(gap < packet_s / 2 for gap in gaps_s) < BURST / 10
