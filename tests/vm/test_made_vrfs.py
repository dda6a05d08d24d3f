# SPDX-License-Identifier: Apache-2.0
"""VRFs that the router makes, with a kernel that has them: two customers who agree in every address.

Both are 10.0.0.2, and talk from one port to one port of a server of theirs that is 198.51.100.2. Each has a
LAN and a WAN in a VRF of his own; what the router does is what its compiler made of a document.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.bird import ROUTER, ROUTER_AS, Bird
from tests.agent.rig import running
from tests.datapath.loaded import DOWNLOAD, SECOND_NS, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.topology import Peer, run
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry, Role
from weir.adapters.netlink import Links
from weir.adapters.standing_routes import vrf_tables
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.backends.forwarding import ForwardingBackend
from weir.backends.network import NetworkBackend
from weir.backends.sets import SetsBackend
from weir.kinds.bgp import Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.prefix_list import PrefixList
from weir.kinds.prefix_list_entry import PrefixListEntry
from weir.kinds.route_map import RouteMap
from weir.kinds.route_map_entry import RouteMapEntry
from weir.kinds.sets import Set, SetEntry
from weir.kinds.static_route import StaticRoute
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.sets import SETS

pytestmark = [
    pytest.mark.on_ours,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

VRFS = {1: "blue", 2: "green"}
HOST, SERVER = "10.0.0.2", "198.51.100.2"
RATE_BPS = 8_000
BURSTS = {1: 20, 2: 60}
SENT, PAYLOAD = 100, 472
IP_BYTES = PAYLOAD + 28
SLOTS = {1: 3, 2: 5}
STACK = Role.CLASSIFY | Role.SHAPE
FAST = STACK | Role.FAST
KERNELS_RULE = "1000:\tfrom all lookup [l3mdev-table]\n"
"""It comes with the first VRF of a namespace and stays for good."""

ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5001)); print("ready", flush=True)
while True:
    data, sender = s.recvfrom(2000); s.sendto(f"{sys.argv[1]} sees {sender[0]}".encode(), sender)
"""
ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(float(sys.argv[2])); s.bind(("", 4000)); s.connect((sys.argv[1], 5001))
for _ in range(3):
    s.send(b"who")
    try:
        print(s.recv(2000).decode(), flush=True); break
    except OSError: pass
else: print("nobody", flush=True)
"""


def interfaces(wan: str = "wan") -> list[Interface]:
    found = [Interface("blue", vrf_table=1001), Interface("green", vrf_table=0)]
    for number, vrf in VRFS.items():
        found.append(Interface(f"lan{number}", "lan", ("10.0.0.1/24", "fd00::1/64"), vrf=vrf, domain=number))
        found.append(Interface(f"wan{number}", wan, ("198.51.100.1/24",), vrf=vrf))  # type: ignore[arg-type]
    return found


class Router:
    """This namespace, brought to a document as the agent does it."""

    def __init__(self, folder: Path) -> None:
        self.links = Links()
        self.network = NetworkBackend(self.links, folder / "mtus")

    def bring(self, *objects: ConfigObject) -> list[str]:
        """The steps; and then nothing is left to do. Sets stay when nothing names them any more."""
        document = Document(objects)
        network = NETWORK.wanted(document)
        filled = SetsBackend().diff(SetsBackend().read(), SETS.wanted(document))
        if filled and not filled.gone:
            SetsBackend().apply(filled)
        FirewallBackend.apply(
            rules := FirewallBackend(),
            rules.diff(rules.read(), FirewallWanted(FIREWALL.wanted(document), ())),
        )
        difference = self.network.diff(self.network.read(), network)
        steps = [f"{step.action} {step.text}" for step in difference.steps() if step.what != "setting"]
        self.network.apply(difference)
        self.network.verify(difference)
        assert not self.network.diff(self.network.read(), network)
        forwarding = ForwardingBackend()
        forwarding.apply(forwarding.diff(forwarding.read(), bool(network)))
        return steps


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    found: dict[str, Peer] = {}
    try:
        for number in VRFS:
            found[f"lan{number}"] = Peer(f"lan{number}", [], [f"{HOST}/24"], ["10.0.0.1"])
            found[f"wan{number}"] = Peer(f"wan{number}", [], [f"{SERVER}/24"], ["198.51.100.1"])
        for peer in found.values():
            peer.run("ethtool", "-K", "far0", "tx", "off", "gro", "on")
        yield found
    finally:
        for peer in found.values():
            peer.close()


@pytest.fixture
def router(tmp_path: Path, peers: dict[str, Peer]) -> Iterator[Router]:
    """With everything undone at the end, which leaves the kernel as it was."""
    made = Router(tmp_path)
    before = rules()
    try:
        yield made
    finally:
        made.bring(*(Interface(name) for name in peers))
        made.links.close()
    assert rules() == before
    assert not json.loads(run("ip", "-j", "link", "show", "type", "vrf"))


def rules() -> list[str]:
    return [run("ip", family, "rule").replace(KERNELS_RULE, "") for family in ("-4", "-6")]


def shaped(loaded: Loaded, roles: Role) -> None:
    """Each may send a burst of his own at once, and then next to nothing."""
    for number, slot in SLOTS.items():
        loaded.datapath.clear_class(slot)
        burst_bytes = BURSTS[number] * IP_BYTES
        loaded.limit(slot, RATE_BPS, burst_bytes=burst_bytes, limit_ns=SECOND_NS // 1000)
        loaded.datapath.change_prefixes([PrefixEntry(number, 4, value4("10.0.0.0"), 24, slot)])
        loaded.datapath.attach(f"lan{number}", roles, "edt", domain=number)
        loaded.datapath.attach(f"wan{number}", roles, "edt")
    loaded.forget_what_went_up()


@pytest.mark.parametrize("roles", [STACK, FAST], ids=["stack", "XDP"])
def test_each_gets_his_own_limit_while_both_send(router: Router, peers: dict[str, Peer], roles: Role) -> None:
    router.bring(*interfaces("open"))
    for number in VRFS:  # neighbours are known then
        peers[f"lan{number}"].run("ping", "-q", "-c", "1", "-W", "5", SERVER)
    with Datapath.open(None, capacity=256, domains=3) as datapath, Loaded(datapath) as loaded:
        shaped(loaded, roles)
        words = ["ping", "-q", "-c", str(SENT), "-l", str(SENT), "-s", str(PAYLOAD), "-W", "2", SERVER]
        pings = [peers[f"lan{number}"].begin(*words) for number in VRFS]
        for ping in pings:
            ping.communicate(timeout=60)
        for number, slot in SLOTS.items():
            for direction in (UPLOAD, DOWNLOAD):
                counted = loaded.counters(slot, direction)
                passed = counted["packets"]
                assert BURSTS[number] - 2 <= passed <= BURSTS[number] * 1.3 + 2, (number, direction, counted)
                assert (counted["fast_bytes"] > passed * IP_BYTES / 2) == (roles == FAST), counted


def answers(peers: dict[str, Peer], near: str = "lan", far: str = "wan", to: str = SERVER) -> dict[int, str]:
    """What each customer hears when both ask at once from the same port; or the servers, of the customers."""
    programs = []
    try:
        for number, vrf in VRFS.items():
            programs.append(peers[f"{far}{number}"].start(ECHO, vrf))
            assert programs[-1].stdout is not None and programs[-1].stdout.readline() == "ready\n"
        asking = {number: peers[f"{near}{number}"].start(ASK, to, 2.0) for number in VRFS}
        return {number: program.communicate(timeout=60)[0].strip() for number, program in asking.items()}
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def test_nat_and_firewall_keep_them_apart(router: Router, peers: dict[str, Peer]) -> None:
    router.bring(*interfaces(), Firewall())
    expected = {1: "blue sees 198.51.100.1", 2: "green sees 198.51.100.1"}
    assert answers(peers) == expected
    assert answers(peers) == expected  # the connections are known now
    for number in VRFS:
        peers[f"wan{number}"].run("ip", "route", "replace", "10.0.0.0/24", "via", "198.51.100.1")
    assert answers(peers, "wan", "lan", HOST) == {1: "nobody", 2: "nobody"}
    for vrf in VRFS.values():
        assert " 0% packet loss" in run("ping", "-q", "-c", "1", "-W", "5", "-I", vrf, SERVER)
    router.bring(*interfaces(), Firewall(drop_new_from_wan=False, masquerade=False))
    assert answers(peers, "wan", "lan", HOST) == {1: "blue sees 198.51.100.2", 2: "green sees 198.51.100.2"}


def unanswered(peer: Peer, address: str) -> bool:
    with pytest.raises(AssertionError):
        peer.run("ping", "-q", "-c", "1", "-W", "1", address)
    return True


def test_nothing_of_the_router_outside_is_to_be_seen_from_within(
    router: Router, peers: dict[str, Peer]
) -> None:
    """Neither its addresses, nor its routes; and the router outside a VRF has no way into it."""
    run("ip", "address", "add", "192.0.2.1/32", "dev", "lo")
    run("ip", "route", "add", "203.0.113.0/24", "dev", "lo")
    try:
        router.bring(*interfaces("open"))
        client = peers["lan1"]
        assert " 0% packet loss" in client.run("ping", "-q", "-c", "1", "-W", "5", "10.0.0.1")
        assert unanswered(client, "192.0.2.1")
        assert unanswered(client, "203.0.113.9")
        assert subprocess.run(
            ["ping", "-q", "-c", "1", "-W", "1", HOST], check=False, capture_output=True
        ).returncode
    finally:
        run("ip", "route", "del", "203.0.113.0/24", "dev", "lo")
        run("ip", "address", "del", "192.0.2.1/32", "dev", "lo")


def test_a_change_of_one_touches_nobody_else(router: Router, peers: dict[str, Peer]) -> None:
    """The other customer's ping goes on without a loss, while this one's VRF comes, changes and goes."""
    router.bring(*interfaces("open"))
    assert vrf_tables()["blue"] == "1001" and vrf_tables().keys() == set(VRFS.values())
    everything = {item.id: item for item in interfaces("open")}
    other = [item for item in everything.values() if "green" in (item.id, item.vrf)]
    words = ["ping", "-q", "-i", "0.02", "-c", "200", SERVER]
    ping = peers["lan2"].begin(*words)
    for _ in range(3):
        router.bring(*other, Interface("lan1"), Interface("wan1"))
        changed = router.bring(*other, *(item for item in everything.values() if item not in other))
        assert "add blue: VRF with table 1001" in changed
        assert "add lan1 fd00::1/64" in changed
    assert " 0% packet loss" in ping.communicate(timeout=60)[0]
    assert "fd00::1/64" in run("ip", "-6", "address", "show", "lan1")
    assert " 0% packet loss" in peers["lan1"].run("ping", "-q", "-c", "1", "-W", "5", SERVER)


def test_a_table_that_somebody_else_has_stops_it(router: Router, peers: dict[str, Peer]) -> None:
    run("ip", "link", "add", "theirs", "type", "vrf", "table", "1001")
    try:
        with pytest.raises(
            ApplyFailed, match="table 1001 of VRF blue is that of VRF theirs, which Weir did not"
        ):
            router.bring(*interfaces())
    finally:
        run("ip", "link", "del", "theirs")


def test_the_agent_makes_it_with_its_routes_and_takes_it_back() -> None:
    """By the protocol of commits, with FRR; an agent that restarts finds nothing to do."""
    route = StaticRoute("r1", "0.0.0.0/0", "203.0.113.1", vrf="blue")
    wan = Interface("wan0", "wan", ("203.0.113.2/24",), vrf="blue")
    with running(frr=True) as rig:
        before = rig.run("ip", "rule")
        rig.commit(Interface("blue", vrf_table=0), wan, route)
        until("FRR has the route", lambda: "via 203.0.113.1" in rig.run("ip", "route", "show", "vrf", "blue"))
        assert "default" not in rig.run("ip", "route")
        assert rig.agent.call("resync")["faults"] == []
        rig.kill_agent()
        rig.start_agent()
        assert rig.status()["drift"] == []
        rig.commit(delete=[("static-route", "r1"), ("interface", "wan0"), ("interface", "blue")])
        assert "blue" not in rig.run("ip", "link")
        assert rig.run("ip", "rule").replace(KERNELS_RULE, "") == before
        assert rig.agent.call("resync")["faults"] == []


def test_bgp_in_a_vrf_learns_and_tells_there_alone() -> None:
    """The same prefix outside is told to nobody, and what is learned is in the VRF's table."""
    theirs, ours, outside = "10.9.0.0/16", "198.51.100.0/24", "198.51.101.0/24"
    inside = [
        Interface("blue", vrf_table=0),
        Interface("wan0", "wan", (f"{ROUTER}/24",), vrf="blue"),
        StaticRoute("ours", ours, blackhole=True, vrf="blue"),
        StaticRoute("outside", outside, blackhole=True),
        RouteMap("all"),
        RouteMapEntry("all-1", "all"),
        PrefixList("own"),
        PrefixListEntry("own-1", "own", "198.51.100.0/23", max_length=24),
        RouteMap("tell"),
        RouteMapEntry("tell-1", "tell", match_prefix_list="own"),  # FRR may send the neighbour's own back
        Bgp("blue", ROUTER_AS, vrf="blue", router_id=ROUTER, redistribute_static=True),
    ]
    with running("--scan-interval-s", "1", frr=True) as rig:
        bird = Bird(rig, "203.0.113.10", 65100, theirs)
        peer = BgpNeighbor(
            "peer", "blue", bird.address, bird.asn, import_route_map="all", export_route_map="tell"
        )
        rig.commit(*inside, peer)
        until("the session is up", lambda: bird.since, 60.0)
        until("it is told of the VRF's route", lambda: bird.learned() == {ours})
        until("theirs is in the VRF", lambda: theirs in rig.run("ip", "route", "show", "vrf", "blue"))
        assert theirs not in rig.run("ip", "route")
        state = rig.agent.call("state", {"kind": "bgp-neighbor"})["objects"]["peer"]
        assert (state["session"], state["prefixes_received"], state["prefixes_sent"]) == ("Established", 1, 1)
        assert rig.explain("blue", "bgp")["agrees"] is True
        assert rig.agent.call("resync")["faults"] == []
        rig.commit(delete=[("bgp-neighbor", "peer"), ("bgp", "blue")])
        until("what was learned is gone", lambda: theirs not in rig.run("ip", "route", "show", "vrf", "blue"))
        assert bird.since == 0.0


def test_rules_before_tracking_meet_a_packet_of_a_vrf_once(router: Router, peers: dict[str, Peer]) -> None:
    """It comes in twice: by the port, and by the master."""
    rule = FirewallRule("all", "raw/prerouting", "accept", source=("10.0.0.0/24",))
    router.bring(*interfaces("open"), rule)
    for number in VRFS:
        peers[f"lan{number}"].run("ping", "-q", "-c", "3", "-W", "5", SERVER)
    assert FirewallBackend().counted(["all"])["all"]["packets"] == 3 * len(VRFS)


def test_a_chain_to_which_raw_leads_tells_the_members_of_a_vrf(
    router: Router, peers: dict[str, Peer]
) -> None:
    """Also where another, to which forward leads, tells them by the name that they have there."""
    rules = [
        FirewallRule("to-early", "raw/prerouting", "jump", jump_to="early"),
        FirewallRule("in-early", "early", "drop", in_interface="lan1", protocol="udp"),
        FirewallRule("to-late", "forward", "jump", jump_to="late"),
        FirewallRule("in-late", "late", "drop", in_interface="lan2", protocol="udp"),
    ]
    router.bring(*interfaces(), Firewall(), *rules)
    assert answers(peers) == dict.fromkeys(VRFS, "nobody")
    counted = FirewallBackend().counted(["in-early", "in-late"])
    assert {name: found["packets"] for name, found in counted.items()} == {"in-early": 3, "in-late": 3}


def test_a_set_and_a_zone_hold_for_the_members_of_a_vrf(router: Router, peers: dict[str, Peer]) -> None:
    rules = [
        FirewallRule("by-set", "forward", "drop", source_set="sides", protocol="udp"),
        FirewallRule("by-zone", "forward", "drop", from_zone="lan", to_zone="wan", protocol="udp"),
    ]
    sides = (Set("sides", "interface"), SetEntry("s1", "sides", "lan1"))
    router.bring(*interfaces(), Firewall(), *sides, *rules)
    assert answers(peers) == dict.fromkeys(VRFS, "nobody")
    counted = FirewallBackend().counted(["by-set", "by-zone"])
    assert {name: found["packets"] for name, found in counted.items()} == {"by-set": 3, "by-zone": 3}


def test_what_is_not_tracked_stays_so_in_a_vrf(router: Router, peers: dict[str, Peer]) -> None:
    rule = FirewallRule("blue", "raw/prerouting", "notrack", in_interface="lan1", protocol="udp")
    router.bring(*interfaces(), Firewall(), rule)
    assert answers(peers) == {1: "nobody", 2: "green sees 198.51.100.1"}, "no NAT, so no answer"
