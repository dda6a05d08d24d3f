# SPDX-License-Identifier: Apache-2.0
"""Bridges that the router makes: who belongs to them, what is learnt, what changes cost, queues on them.

The client is behind lan0, its neighbour behind lan1; a third port comes and goes. VLAN filtering, which this
kernel may not have: tests/vm/test_links.py, and what is done for it below.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from lab import netns
from tests.agent import traffic
from tests.agent.rig import Rig, client_queue, running, wan
from tests.agent.test_effects import foreseen
from tests.agent.test_packet_proof import proved
from tests.polling import until
from weir.adapters.bridges import HeldBridge, HeldLink, HeldVlans
from weir.backends.bridges import NEW_PORT, BridgesBackend, BridgesDifference, BridgesState
from weir.http.context import Context
from weir.kinds.firewall import Firewall
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject, Pair, Queue
from weir.parts.bridges import BRIDGES

LIMIT_BPS = 4_000_000
NEIGHBOUR = "10.64.0.3"


def bridge(*ports: str | BridgePort, **more: Any) -> Interface:
    given = tuple(BridgePort(port) if isinstance(port, str) else port for port in ports)
    outer = {name: more.pop(name) for name in ("addresses", "role", "mtu", "disabled") if name in more}
    return Interface(
        "br0", **{"role": "lan", "addresses": ("10.64.0.1/24",), **outer, "bridge": Bridge(given, **more)}
    )


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        neighbour = f"{made.name}-s"
        netns.create(neighbour)
        made.cable("lan1", neighbour, "c1")
        netns.ip(
            neighbour,
            ["link set lo up", f"addr add {NEIGHBOUR}/24 dev c1", "route add default via 10.64.0.1"],
        )
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        netns.ip(made.router, ["link add spare0 type veth peer name spare1", "link set spare1 up"])
        made.commit(wan(), bridge("lan0", "lan1"), Firewall(drop_new_from_wan=False, masquerade=False))
        yield made


def ports_of(rig: Rig, name: str = "br0") -> set[str]:
    return {link["ifname"] for link in rig.json("ip", "-j", "link", "show", "master", name)}


def mac_of(rig: Rig, name: str) -> str:
    (link,) = rig.json("ip", "-j", "link", "show", name)
    return str(link["address"])


def state(rig: Rig) -> dict[str, Any]:
    found = rig.agent.call("state", {"kind": "interface", "ids": ["br0"]})["objects"]["br0"]
    return cast(dict[str, Any], found)


def ping(rig: Rig, address: str, packets: int = 3) -> subprocess.Popen[str]:
    command = ["ping", "-q", "-i", "0.01", "-c", str(packets), "-W", "2", address]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=netns.entering(rig.client_ns)
    )


def lost(pinging: subprocess.Popen[str]) -> str:
    output, _ = pinging.communicate(timeout=60)
    return next(part for part in output.split(", ") if "packet loss" in part)


def test_its_ports_reach_each_other_and_the_router_and_are_learnt(rig: Rig) -> None:
    assert ports_of(rig) == {"lan0", "lan1"}
    until("the neighbour answers", lambda: lost(ping(rig, NEIGHBOUR)).startswith("0%"))
    assert lost(ping(rig, "10.64.0.1")).startswith("0%")
    found = state(rig)
    assert found["ports"] == [{"interface": name, "state": "forwarding"} for name in ("lan0", "lan1")]
    assert found["root"] is None
    learnt = {(row["mac"], row["port"]) for row in found["stations"]}
    client = json.loads(rig.run("ip", "-j", "link", "show", "c0", namespace=rig.client_ns))[0]["address"]
    assert (client, "lan0") in learnt and found["station_count"] == len(found["stations"]) == 2
    assert rig.explain("br0", "interface")["agrees"]


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_a_queue_behind_it_limits_exactly_and_counts_once(rig: Rig, direction: str) -> None:
    rig.commit(Queue("client", "client", ("10.64.0.2/32",), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS)))
    before = rig.counters("client", direction)
    arrived = traffic.measured(rig.client_ns, rig.internet, direction, 2 * LIMIT_BPS)
    assert 0.7 * LIMIT_BPS < arrived.rate_bps < 1.1 * LIMIT_BPS
    counted = rig.counters("client", direction)["bytes"] - before["bytes"]
    assert counted == pytest.approx(arrived.every_bytes, rel=0.5)
    reasons = {item["name"]: item["shaper"] for item in rig.agent.call("interfaces")["value"]}
    assert reasons["br0"]["fast_path"] == "off" and reasons["br0"]["fast_path_reason"]
    rig.commit(delete=[("queue", "client")])


def test_a_queue_on_a_port_limits_that_port_alone(rig: Rig) -> None:
    rig.commit(Interface("lan0"), Queue("port", "port", ("lan0",), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS)))
    arrived = traffic.measured(rig.client_ns, rig.internet, "upload", 2 * LIMIT_BPS)
    assert 0.7 * LIMIT_BPS < arrived.rate_bps < 1.1 * LIMIT_BPS
    other = traffic.measured(f"{rig.name}-s", rig.internet, "upload", 2 * LIMIT_BPS, near_address=NEIGHBOUR)
    assert other.rate_bps > 1.5 * LIMIT_BPS
    rig.commit(delete=[("queue", "port"), ("interface", "lan0")])


@pytest.mark.parametrize(
    ("configured", "direction", "is_limited"),
    [
        ((), "upload", False),
        (("lan0",), "upload", False),
        (("lan0",), "download", True),
        (("lan0", "lan1"), "upload", True),
    ],
    ids=["no port is", "not where it leaves", "where it leaves", "both are"],
)
def test_what_is_switched_is_limited_between_configured_ports(
    rig: Rig, configured: tuple[str, ...], direction: str, is_limited: bool
) -> None:
    """As docs/guide/interfaces.md says it. `download` is what the neighbour sends to the client."""
    client = Queue("client", "client", ("10.64.0.2/32",), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS))
    rig.commit(client, *map(Interface, configured))
    before = rig.counters("client", direction)["bytes"]
    arrived = traffic.measured(
        rig.client_ns, f"{rig.name}-s", direction, 2 * LIMIT_BPS, far_address=NEIGHBOUR
    )
    counted = rig.counters("client", direction)["bytes"] - before
    if is_limited:
        assert 0.7 * LIMIT_BPS < arrived.rate_bps < 1.1 * LIMIT_BPS
        assert counted == pytest.approx(arrived.every_bytes, rel=0.5)
    else:
        assert arrived.rate_bps > 1.5 * LIMIT_BPS and counted == 0
    rig.commit(delete=[("queue", "client"), *(("interface", name) for name in configured)])


def test_a_port_that_comes_or_goes_costs_the_others_no_packet(rig: Rig) -> None:
    """Nor does the bridge take the new one's address, which may be lower."""
    rig.run("ip", "link", "set", "spare0", "address", "02:00:00:00:00:01")
    mac = mac_of(rig, "br0")
    for ports in (("lan0", "lan1", "spare0"), ("lan0", "lan1")):
        wanted = bridge(*ports)
        between, to_router = ping(rig, NEIGHBOUR, 150), ping(rig, "10.64.0.1", 150)
        effects = foreseen(rig, wanted)
        rig.commit(wanted)
        assert ports_of(rig) == set(ports) and mac_of(rig, "br0") == mac
        assert lost(between).startswith("0%") and lost(to_router).startswith("0%")
        said = effects.get(("interface", "br0"))
        assert said is None if "spare0" in ports else said["effect"] == "drops-sessions"
    assert "spare0 leaves br0" in said["text"]


def test_what_somebody_else_did_is_put_right(rig: Rig) -> None:
    rig.run("ip", "link", "set", "lan1", "nomaster")
    until("it is back", lambda: ports_of(rig) == {"lan0", "lan1"})
    rig.run("ip", "link", "set", "spare0", "master", "br0")
    until("a stranger is out", lambda: ports_of(rig) == {"lan0", "lan1"})
    rig.run("ip", "link", "set", "dev", "lan1", "type", "bridge_slave", "isolated", "on")
    isolated = ("bridge", "-j", "-d", "link", "show", "dev", "lan1")
    until("it is not isolated", lambda: rig.json(*isolated)[0]["isolated"] is False)
    until("it is told", lambda: any("lan1 of br0" in item["text"] for item in rig.status()["drift"]))
    until("all is well", lambda: rig.status()["state"] == "ok")


def test_it_is_the_same_after_the_agent_was_killed_in_the_middle(rig: Rig) -> None:
    rig.kill_agent()
    rig.run("ip", "link", "set", "lan0", "nomaster")
    rig.run("ip", "link", "set", "dev", "br0", "type", "bridge", "ageing_time", "1000")
    mac = mac_of(rig, "br0")
    rig.start_agent()
    until("the port is back", lambda: ports_of(rig) == {"lan0", "lan1"})
    (link,) = rig.json("ip", "-j", "-d", "link", "show", "br0")
    assert link["linkinfo"]["info_data"]["ageing_time"] == 30000 and mac_of(rig, "br0") == mac


def test_isolated_ports_reach_the_router_only(rig: Rig) -> None:
    rig.commit(bridge(BridgePort("lan0", isolated=True), BridgePort("lan1", isolated=True)))
    assert lost(ping(rig, "10.64.0.1")).startswith("0%")
    assert lost(ping(rig, NEIGHBOUR, 2)).startswith("100%")
    rig.commit(bridge("lan0", "lan1"))
    assert lost(ping(rig, NEIGHBOUR)).startswith("0%")


def test_spanning_tree_leaves_ports_open_and_listens_on_new_ones(rig: Rig) -> None:
    times = {"stp": "stp", "priority": 4096, "forward_delay_s": 4, "max_age_s": 6, "hello_s": 1}
    wanted = bridge("lan0", "lan1", **times)
    said = foreseen(rig, wanted)["interface", "br0"]
    assert (said["effect"], said["lasts_ms"]) == ("resets", None)
    between = ping(rig, NEIGHBOUR, 100)
    rig.commit(wanted)
    rig.commit(bridge("lan0", "lan1", "spare0", **times))
    found = state(rig)
    assert found["root"].startswith("1000.")
    assert [port["state"] for port in found["ports"]] == ["forwarding", "forwarding", "listening"]
    assert lost(between).startswith("0%") and rig.explain("br0", "interface")["agrees"]
    rig.commit(bridge("lan0", "lan1"))
    assert state(rig)["root"] is None


def test_a_port_that_is_not_there_joins_when_it_comes(rig: Rig) -> None:
    with pytest.raises(Exception, match="late0"):
        rig.commit(bridge("lan0", "lan1", "late0"))
    netns.ip(rig.router, ["link add late0 type veth peer name late1"])
    rig.commit(bridge("lan0", "lan1", "late0"))
    rig.run("ip", "link", "del", "late0")
    rig.commit(client_queue())
    assert state(rig)["ports"][2] == {"interface": "late0", "state": "not there"}
    netns.ip(rig.router, ["link add late0 type veth peer name late1"])
    until("it joins", lambda: "late0" in ports_of(rig))
    rig.commit(bridge("lan0", "lan1"), delete=[("queue", "client")])


def test_its_end_gives_the_ports_back(rig: Rig) -> None:
    rig.commit(Interface("lan0", "lan", ("10.64.0.1/24",)), delete=[("interface", "br0")])
    assert not [link for link in rig.json("ip", "-j", "link") if link["ifname"] == "br0"]
    assert lost(ping(rig, "10.64.0.1")).startswith("0%")
    rig.commit(Interface("lan0"), bridge("lan0", "lan1"))
    assert ports_of(rig) == {"lan0", "lan1"} and lost(ping(rig, "10.64.0.1")).startswith("0%")


# What is done for VLANs, from what the kernel holds.

FILTERS = {
    "forward_delay": 1500,
    "hello_time": 200,
    "max_age": 2000,
    "ageing_time": 30000,
    "stp_state": 0,
    "priority": 32768,
    "vlan_filtering": 1,
    "mcast_snooping": 0,
    "vlan_default_pvid": 0,
}
ONE = frozenset({1})


def held(
    vlans: Mapping[str, HeldVlans], settings: Mapping[str, int] = FILTERS, *, is_root: bool = True
) -> BridgesState:
    links = {
        name: HeldLink(number, "02:00:00:00:00:02", True, "br0", NEW_PORT, "forwarding")
        for number, name in enumerate(("lan0", "lan1"), 2)
    }
    return BridgesState({"br0": HeldBridge(1, "02:00:00:00:00:02", settings, is_root, "")}, links, vlans)


def compared(state: BridgesState, *wanted: ConfigObject) -> BridgesDifference:
    return BridgesBackend().diff(
        state, BRIDGES.wanted(Document([Interface("lan0"), Interface("lan1"), *wanted]))
    )


def texts(found: BridgesDifference) -> list[str]:
    return [f"{step.action} {step.text}" for step in found.steps()]


PLAIN = {name: HeldVlans(1, ONE, ONE) for name in ("br0", "lan0", "lan1")}


def test_vlans_that_differ_are_changed_and_no_others() -> None:
    trunk = BridgePort("lan0", pvid=0, tagged=("10-12", "20"))
    wanted = bridge(trunk, BridgePort("lan1", pvid=10), vlan_filtering=True, tagged=("20",))
    found = compared(held(PLAIN), wanted)
    assert texts(found) == [
        "change lan0 VLANs + 10-12, 20 - 1",
        "change lan1 VLANs + 10 - 1",
        "change br0 VLANs + 20",
    ]
    done = {
        "br0": HeldVlans(1, frozenset({1, 20}), ONE),
        "lan0": HeldVlans(0, frozenset({10, 11, 12, 20}), frozenset()),
        "lan1": HeldVlans(10, frozenset({10}), frozenset({10})),
    }
    assert not compared(held(done), wanted)


def test_a_vlan_may_lose_its_tag_or_stay_without_being_the_first() -> None:
    before = {**PLAIN, "lan0": HeldVlans(10, frozenset({10, 20}), frozenset({10}))}
    after = BridgePort("lan0", pvid=20, tagged=("10",))
    (change,) = compared(held(before), bridge(after, "lan1", vlan_filtering=True)).vlans
    assert (change.tagged, change.untagged, change.pvid) == ({10}, {20}, 20)
    after = BridgePort("lan0", pvid=0, untagged=("10",), tagged=("20",))
    (change,) = compared(held(before), bridge(after, "lan1", vlan_filtering=True)).vlans
    assert (change.tagged, change.untagged, change.pvid) == (frozenset(), {10}, 0)


def test_filtering_begins_when_each_port_has_its_vlans() -> None:
    found = compared(
        held({}, {**FILTERS, "vlan_filtering": 0, "vlan_default_pvid": 1}),
        bridge("lan0", "lan1", vlan_filtering=True),
    )
    assert found.settings == [("br0", {"vlan_default_pvid": 0})] and found.filtering == ["br0"]
    assert {change.ifname for change in found.vlans} == {"br0", "lan0", "lan1"}


def test_a_kernel_without_filtering_or_snooping_is_told() -> None:
    plain = {name: value for name, value in FILTERS.items() if not name.startswith(("vlan", "mcast"))}
    assert not compared(held({}, plain), bridge("lan0", "lan1"))
    found = compared(held({}, plain), bridge("lan0", "lan1", vlan_filtering=True))
    assert found.blocked == {"br0": "br0: this kernel has no vlan_filtering of bridges"}


def test_the_times_of_another_root_are_no_drift() -> None:
    others = {**FILTERS, "vlan_filtering": 0, "stp_state": 1, "forward_delay": 2000}
    wanted = bridge("lan0", "lan1", stp="stp")
    assert not compared(held({}, others, is_root=False), wanted)
    assert texts(compared(held({}, others), wanted)) == ["change br0 forward_delay 1500"]


def test_a_frame_proves_the_way_through_a_bridge(rig: Rig, parts: Context) -> None:
    rig.commit(Queue("proved", "proved", ("10.64.0.2/32",), max_limit_bps=Pair(LIMIT_BPS, LIMIT_BPS)))
    for device, address in (("br0", "10.64.0.2"), ("wan0", "203.0.113.1")):
        rig.run("ip", "neigh", "replace", address, "lladdr", "02:00:00:00:00:09", "dev", device)
    try:
        for ends, came in ((("10.64.0.2", "203.0.113.1"), "br0"), (("203.0.113.1", "10.64.0.2"), "wan0")):
            found = proved(parts, *ends, in_interface=came)
            assert (found.fate, found.outcome) == ("forwarded", "same"), found
            assert [item.outcome for item in found.steps if item.at == "queue-out"] == ["same"]
    finally:
        for device, address in (("br0", "10.64.0.2"), ("wan0", "203.0.113.1")):
            rig.run("ip", "neigh", "del", address, "dev", device)
        rig.commit(delete=[("queue", "proved")])
