# SPDX-License-Identifier: Apache-2.0
"""Queues on members of a bridge that is configured as well, and the bridge's own queue for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from lab import netns
from tests.agent import traffic
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_stacking import link
from tests.polling import until
from weir.adapters.datapath_records import Above, Role
from weir.adapters.xdp_features import ALL
from weir.backends.fast import Around, FastPaths, Sight
from weir.backends.modes import Decision
from weir.compiler.types import PortSpec
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair, Queue

MEMBER_BPS, BRIDGE_BPS, OFFERED_BPS = 4_000_000, 6_000_000, 9_000_000
NEIGHBOUR = "10.64.0.3"
A_FEW_BYTES = 5_000
"""An ICMP error, a first packet."""
WAYS = ("upload", "download")
ON_MEMBER = Queue("port", "port", ("lan0",), max_limit_bps=Pair(MEMBER_BPS, MEMBER_BPS))
ON_BRIDGE = Queue("all", "all", ("br0",), max_limit_bps=Pair(BRIDGE_BPS, BRIDGE_BPS))

LINKS = {
    item.name: item
    for item in (
        link("eth0", 1, master=9),
        link("eth1", 2, master=9),
        link("bond0", 3, "bond", master=9),
        link("eth2", 4, master=3),
        link("eth4", 5, master=11),
        link("br0", 9, "bridge"),
        link("br0.7", 10, "vlan", lower=9),
        link("red", 11, "vrf"),
    )
}


def around(slots: Mapping[str, int]) -> Around:
    """Ports with these classes; br0 polices and is in domain 3."""
    ports = {name: PortSpec(name, "lan", "auto", 0, slot) for name, slot in slots.items()}
    if "br0" in ports:
        ports["br0"] = replace(ports["br0"], shaper="police", domain=3)
    return Around.of(LINKS, ports, Sight(filtered=False, foreign=""))


@pytest.mark.parametrize(
    ("slots", "above"),
    [
        ({"br0": 7, "eth0": 0}, {}),
        ({"eth0": 5, "eth2": 6}, {}),
        ({"br0": 7, "eth0": 5}, {"eth0": (9, 7), "eth1": (9, 7), "bond0": (9, 7)}),
        ({"br0": 0, "eth2": 5}, {"eth0": (9, 0), "eth1": (9, 0), "bond0": (9, 0), "eth2": (9, 0)}),
        (
            {"br0": 7, "bond0": 8, "eth2": 5},
            {"eth0": (9, 7), "eth1": (9, 7), "bond0": (9, 7), "eth2": (9, 8)},
        ),
        ({"red": 7, "eth4": 5}, {}),
    ],
    ids=["no queue on a member", "no bridge", "a member", "below a bond", "a bond with a queue", "VRF"],
)
def test_what_yields_to_whom(slots: Mapping[str, int], above: Mapping[str, tuple[int, int]]) -> None:
    yielding = around(slots).yielding
    assert yielding.above == {name: Above(*pair) for name, pair in above.items()}
    assert yielding.ports.keys() == slots.keys() | above.keys()
    for name in above:
        assert (yielding.ports[name].domain, yielding.ports[name].shaper) == (3, "police")


def test_what_is_upon_what_yields_leaves_by_the_members() -> None:
    here = around({"br0": 7, "br0.7": 0, "eth0": 5})
    paths = FastPaths("", lambda _: ALL, lambda _: False)
    decisions = {
        name: paths.decide(spec, here.yielding.decision(name) or Decision("police", ""), here)
        for name, spec in here.ports.items()
    }
    assert {name: (found.mode, found.stacking) for name, found in decisions.items()} == {
        "eth0": ("police", Role.TRUNK),
        "eth1": ("police", Role.TRUNK),
        "bond0": ("police", Role.CARRIED | Role.TRUNK),
        "br0.7": ("police", Role.CARRIED | Role.TRUNK),
        "br0": ("none", Role.YIELDS),
    }
    assert list(decisions)[-1] == "br0"
    assert decisions["br0.7"].fast_reason == "it is on br0, whose members shape"


BRIDGE = ("link add br0 type bridge", "link set lan0 master br0 up", "link set lan1 master br0 up")


@contextmanager
def stacked(*configured: ConfigObject, links: Sequence[str] = BRIDGE) -> Iterator[Rig]:
    """The client is behind lan0 and its neighbour behind lan1; br0 is above one of them or both."""
    with running() as rig:
        neighbour = f"{rig.name}-s"
        netns.create(neighbour)
        rig.cable("lan1", neighbour, "c1")
        netns.ip(
            neighbour,
            ["link set lo up", f"addr add {NEIGHBOUR}/24 dev c1", "route add default via 10.64.0.1"],
        )
        netns.ip(rig.router, links)
        netns.ip(rig.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        rig.commit(
            lan(addresses=()),
            Interface("br0", "lan", ("10.64.0.1/24",)),
            wan(),
            Firewall(drop_new_from_wan=False, masquerade=False),
            *configured,
        )
        yield rig


@pytest.fixture(scope="module", params=[True, False], ids=["all members configured", "one member configured"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with stacked(*([Interface("lan1", "lan")] if request.param else [])) as made:
        yield made


def of_client(rig: Rig, direction: str) -> traffic.Arrived:
    return traffic.measured(rig.client_ns, rig.internet, direction, OFFERED_BPS)


def of_neighbour(rig: Rig, direction: str) -> traffic.Arrived:
    return traffic.measured(f"{rig.name}-s", rig.internet, direction, OFFERED_BPS, near_address=NEIGHBOUR)


def unclassified(rig: Rig) -> dict[str, int]:
    """Packets by interface that its programs saw and had no class for."""
    items = rig.agent.call("interfaces")["value"]
    return {item["name"]: item["unshaped_packets"].get("no-class", 0) for item in items}


def shapers(rig: Rig) -> set[str]:
    return set(rig.status()["shapers"])


def newly_unclassified(rig: Rig, before: Mapping[str, int]) -> dict[str, int]:
    """But for the router's own few, such as neighbour discovery."""
    more = {name: packets - before[name] for name, packets in unclassified(rig).items()}
    return {name: packets for name, packets in more.items() if packets > 20}


def counted_bytes(rig: Rig, queue: str) -> dict[str, int]:
    return {way: rig.counters(queue, way)["bytes"] for way in WAYS}


@pytest.mark.parametrize("direction", WAYS)
def test_a_queue_on_a_member_limits_the_member_alone(rig: Rig, direction: str) -> None:
    rig.commit(ON_MEMBER, delete=[("queue", "all")] if "all" in rig.agent.call("slots")["slots"] else [])
    bytes_before, unclassified_before = counted_bytes(rig, "port"), unclassified(rig)
    arrived = of_client(rig, direction)
    assert 0.8 * MEMBER_BPS < arrived.rate_bps < 1.1 * MEMBER_BPS
    counted = counted_bytes(rig, "port")[direction] - bytes_before[direction]
    assert counted == pytest.approx(arrived.every_bytes, rel=0.3)
    assert newly_unclassified(rig, unclassified_before) == {}
    assert of_neighbour(rig, direction).rate_bps > 0.9 * OFFERED_BPS
    way_out = "wan0" if direction == "upload" else "lan1"
    assert newly_unclassified(rig, unclassified_before).keys() == {way_out}


@pytest.mark.parametrize("direction", WAYS)
def test_the_bridges_queue_has_what_its_members_have_none_for(rig: Rig, direction: str) -> None:
    rig.commit(ON_MEMBER, ON_BRIDGE)
    before, unclassified_before = counted_bytes(rig, "all"), unclassified(rig)
    assert 0.8 * MEMBER_BPS < of_client(rig, direction).rate_bps < 1.1 * MEMBER_BPS
    between, members = counted_bytes(rig, "all"), counted_bytes(rig, "port")
    assert between[direction] - before[direction] < A_FEW_BYTES
    arrived = of_neighbour(rig, direction)
    assert 0.8 * BRIDGE_BPS < arrived.rate_bps < 1.1 * BRIDGE_BPS
    counted = counted_bytes(rig, "all")[direction] - between[direction]
    assert counted == pytest.approx(arrived.every_bytes, rel=0.3)
    assert counted_bytes(rig, "port")[direction] - members[direction] < A_FEW_BYTES
    assert newly_unclassified(rig, unclassified_before) == {}
    for queue in ("port", "all"):
        assert rig.explain(queue)["agrees"]


def test_members_come_and_go_and_the_bridge_shapes_again(rig: Rig) -> None:
    """A member that nobody configured is a port while the bridge yields, and no longer."""
    rig.commit(ON_MEMBER, ON_BRIDGE)
    netns.ip(rig.router, ["link add spare0 type veth peer name spare1", "link set spare0 master br0"])
    until("the new member is a port", lambda: "spare0" in shapers(rig))
    assert "br0" not in shapers(rig)
    rig.commit(delete=[("queue", "port")])
    until("the bridge shapes", lambda: "br0" in shapers(rig))
    assert "spare0" not in shapers(rig)
    netns.ip(rig.router, ["link del spare0"])
