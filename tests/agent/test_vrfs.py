# SPDX-License-Identifier: Apache-2.0
"""What is done to have the wanted VRFs, from what the kernel holds; tests/vm has kernels that do it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from weir.adapters.frr import Route, _with_vrfs, is_ours
from weir.adapters.netlink import Links, RoutingRule
from weir.backends.firewall import FirewallWanted, table_of
from weir.backends.network import LinkState, NetworkBackend, NetworkDifference, NetworkState
from weir.model.interface import Vlan
from weir.parts.network import NetworkSpec
from weir.parts.rule import PacketRule

NOTHING: frozenset[str] = frozenset()
FAMILIES = (4, 6)
BEFORE = frozenset(RoutingRule(family, 0, 255, ours=False) for family in FAMILIES)  # type: ignore[arg-type]
AFTER = frozenset(
    rule
    for family in FAMILIES
    for rule in (
        RoutingRule(family, 1000, 0, l3mdev=True, ours=False),  # type: ignore[arg-type]
        RoutingRule(family, 2000, 0, l3mdev=True, unreachable=True),  # type: ignore[arg-type]
        RoutingRule(family, 32765, 255),  # type: ignore[arg-type]
    )
)


def port(master: str = "", addresses: frozenset[str] = NOTHING) -> LinkState:
    return LinkState(True, 1500, addresses, NOTHING, master=master)


def vrf(table: int, *, ours: bool = True) -> LinkState:
    return LinkState(True, 65575, NOTHING, NOTHING, "vrf", None, ours, "", table)


def spec(name: str, inside: str | None = None, addresses: tuple[str, ...] = ()) -> NetworkSpec:
    return NetworkSpec(name, True, addresses, None, "", vrf=inside)


def blue(table: int = 1001, name: str = "blue") -> NetworkSpec:
    return NetworkSpec(name, True, (), None, "", vrf_table=table)


def compared(
    held: Mapping[str, LinkState], *wanted: NetworkSpec, rules: frozenset[RoutingRule] = AFTER
) -> NetworkDifference:
    backend = NetworkBackend(cast(Links, None), Path("unused"))
    return backend.diff(NetworkState(held, {}, {}, rules), {item.ifname: item for item in wanted})


def texts(found: NetworkDifference) -> list[str]:
    return [f"{step.action} {step.text}" for step in found.steps()]


def test_the_first_is_made_and_filled_and_kept_to_itself() -> None:
    assert texts(compared({"eth1": port()}, spec("eth1", "blue"), blue(), rules=BEFORE)) == [
        "add blue: VRF with table 1001",
        "change eth1 into VRF blue",
        "add IPv4 2000: VRFs unreachable",
        "add IPv4 32765: all lookup 255",
        "add IPv6 2000: VRFs unreachable",
        "add IPv6 32765: all lookup 255",
        "remove IPv4 0: all lookup 255",
        "remove IPv6 0: all lookup 255",
        "change blue up",
    ]


def test_what_is_as_wanted_is_left_alone() -> None:
    held = {"eth1": port("blue"), "blue": vrf(1001), "red": vrf(7, ours=False), "eth2": port("red")}
    assert not compared(held, spec("eth1", "blue"), blue(), spec("eth2"))


def test_the_last_one_takes_its_rules_along() -> None:
    found = compared({"eth1": port("blue"), "blue": vrf(1001)}, spec("eth1"))
    assert texts(found) == [
        "remove blue",
        "add IPv4 0: all lookup 255",
        "add IPv6 0: all lookup 255",
        "remove IPv4 2000: VRFs unreachable",
        "remove IPv4 32765: all lookup 255",
        "remove IPv6 2000: VRFs unreachable",
        "remove IPv6 32765: all lookup 255",
    ]


def test_another_table_recreates_it_and_fills_it_again() -> None:
    held = {"eth1": port("blue"), "blue": vrf(1001)}
    assert texts(compared(held, spec("eth1", "blue"), blue(1002))) == [
        "remove blue",
        "add blue: VRF with table 1002",
        "change eth1 into VRF blue",
        "change blue up",
    ]


def test_an_interface_moves_and_another_is_let_go() -> None:
    held = {"eth1": port("blue"), "eth2": port("blue"), "gone": port("blue"), "blue": vrf(1001)}
    found = compared(held, spec("eth1", "green"), spec("eth2"), blue(), blue(1002, "green"))
    assert found.vrfs.masters == [("eth1", "green"), ("eth2", ""), ("gone", "")]
    assert found.vrfs.make == [("green", 1002)]


def test_ipv6_addresses_come_back_that_the_kernel_takes_on_the_way() -> None:
    held = {
        "eth1": port(addresses=frozenset({"10.0.0.1/24", "2001:db8::1/64"})),
        "v": LinkState(True, 1500, frozenset({"2001:db8:1::1/64"}), NOTHING, "vlan", Vlan("eth1", 7), True),
        "blue": vrf(1001),
    }
    inside = spec("eth1", "blue", ("10.0.0.1/24", "2001:db8::1/64"))
    above = NetworkSpec("v", True, ("2001:db8:1::1/64",), None, "", Vlan("eth1", 7))
    found = compared(held, above, inside, blue())
    assert found.add == [("eth1", "2001:db8::1/64"), ("v", "2001:db8:1::1/64")]
    assert found.remove == []


def test_a_vlan_comes_with_its_vrf_and_waits_without_its_port() -> None:
    inside = NetworkSpec("v", True, (), None, "", Vlan("eth1", 7), vrf="blue")
    assert compared({"eth1": port()}, inside, spec("eth1"), blue()).vrfs.masters == [("v", "blue")]
    waiting = compared({}, inside, blue())
    assert (waiting.vrfs.masters, waiting.missing) == ([], ["v"])


def test_an_equal_one_of_somebody_else_is_used() -> None:
    held = {"eth1": port(), "blue": vrf(1001, ours=False)}
    assert texts(compared(held, spec("eth1", "blue"), blue())) == ["change eth1 into VRF blue"]
    assert texts(compared({**held, "eth1": port("blue")}, spec("eth1"))) == texts(compared(held))
    let_go = compared({**held, "eth1": port("blue")}, spec("eth1"), blue())
    assert texts(let_go) == ["change eth1 out of its VRF"]


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ({"blue": port()}, "blue is a physical that Weir did not make, not a VRF with table 1001"),
        (
            {"blue": vrf(7, ours=False)},
            "blue is a VRF with table 7 that Weir did not make, not a VRF with table 1001",
        ),
        (
            {"red": vrf(1001, ours=False)},
            "table 1001 of VRF blue is that of VRF red, which Weir did not make",
        ),
        (
            {
                "blue": vrf(1001),
                "br0": LinkState(True, 1500, NOTHING, NOTHING, "bridge"),
                "eth1": port("br0"),
            },
            "eth1 belongs to the bridge br0, so it cannot be in VRF blue",
        ),
    ],
)
def test_a_place_that_is_taken_is_a_fault(theirs: dict[str, LinkState], reason: str) -> None:
    found = compared({"eth1": port(), **theirs}, spec("eth1", "blue"), blue())
    assert found
    assert list(found.vrfs.blocked.values()) == [reason]


def test_frr_is_told_and_asked_of_a_vrfs_routes() -> None:
    route = Route("0.0.0.0/0", "10.0.0.9", None, False, 5, "blue")
    assert route.line == "ip route 0.0.0.0/0 10.0.0.9 tag 87 5 vrf blue"
    printed = [
        "ip route 0.0.0.0/0 192.0.2.1 tag 87",
        "!",
        "vrf blue",
        " ip route 0.0.0.0/0 10.0.0.9 tag 87 5",
        " ip route 10.9.0.0/16 blackhole",
        "exit-vrf",
        "!",
        "interface eth1",
        " ip route 10.8.0.0/16 blackhole tag 87",
        "exit",
    ]
    ours = [line for line in _with_vrfs(printed) if is_ours(line)]
    assert ours == ["ip route 0.0.0.0/0 192.0.2.1 tag 87", route.line]


def test_zones_are_set_before_connections_are_looked_up() -> None:
    rules = (
        PacketRule("entry", "zone", "in", in_interfaces=("eth1",), zone=1001),
        PacketRule("output", "zone", "out", out_interfaces=("eth1",), zone=1001),
        PacketRule("forward", "drop", "from a WAN", in_members=("eth1",)),
    )
    table = table_of(FirewallWanted(rules, ()))
    assert table is not None
    assert [(chain.name, chain.hook, chain.priority) for chain in table.chains.values()] == [
        ("entry", "prerouting", -300),
        ("output", "output", -300),
        ("forward", "forward", 0),
    ]
    assert '"sdifname"' in table.chains["forward"].rules[0][1][0]
    assert table.chains["entry"].rules[0][1][-1] == '{"mangle":{"key":{"ct":{"key":"zone"}},"value":1001}}'
