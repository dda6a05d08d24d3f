# SPDX-License-Identifier: Apache-2.0
"""What is done to have the wanted VLANs, from what the kernel holds; tests/vm has kernels that do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from weir.adapters.netlink import Links
from weir.backends.backend import Look
from weir.backends.network import LinkState, NetworkBackend, NetworkDifference, NetworkState
from weir.model.interface import Vlan
from weir.model.problem import ApplyFailed
from weir.parts.effect import Sessions, by_object
from weir.parts.network import NetworkSpec

NOTHING: frozenset[str] = frozenset()
ACME, VOICE = Vlan("eth1", 100, "802.1ad"), Vlan("acme", 7)


def port(mtu: int = 1500, *, up: bool = True) -> LinkState:
    return LinkState(up, mtu, NOTHING, NOTHING)


def device(vlan: Vlan, mtu: int = 1500, *, ours: bool = True, up: bool = True) -> LinkState:
    return LinkState(up, mtu, NOTHING, NOTHING, "vlan", vlan, ours)


def spec(name: str, vlan: Vlan | None = None, mtu: int | None = None, *, up: bool = True) -> NetworkSpec:
    return NetworkSpec(name, up, (), mtu, "", vlan)


def compared(held: Mapping[str, LinkState], *wanted: NetworkSpec) -> NetworkDifference:
    backend = NetworkBackend(cast(Links, None), Path("unused"))
    return backend.diff(NetworkState(held, {}, {}), {item.ifname: item for item in wanted})


def texts(found: NetworkDifference) -> list[str]:
    return [f"{step.action} {step.text}" for step in found.steps()]


def test_a_tag_below_a_tag_is_made_after_it_and_both_come_up() -> None:
    found = compared({"eth1": port()}, spec("a", VOICE), spec("acme", ACME), spec("eth1"))
    assert texts(found) == [
        "add acme: VLAN 100 (802.1ad) of eth1",
        "add a: VLAN 7 (802.1Q) of acme",
        "change acme up",
        "change a up",
    ]


def test_what_is_as_wanted_is_left_alone() -> None:
    held = {"eth1": port(), "acme": device(ACME), "a": device(VOICE)}
    assert not compared(held, spec("eth1"), spec("acme", ACME), spec("a", VOICE))


def test_another_tag_recreates_it_with_all_that_is_on_it() -> None:
    held = {"eth1": port(), "acme": device(ACME), "a": device(VOICE)}
    found = compared(held, spec("eth1"), spec("acme", Vlan("eth1", 101)), spec("a", VOICE))
    assert texts(found)[:4] == [
        "remove a",
        "remove acme",
        "add acme: VLAN 101 (802.1Q) of eth1",
        "add a: VLAN 7 (802.1Q) of acme",
    ]


def test_a_tag_moves_to_another_name() -> None:
    found = compared({"eth1": port(), "old": device(ACME)}, spec("eth1"), spec("new", ACME))
    assert texts(found)[:2] == ["remove old", "add new: VLAN 100 (802.1ad) of eth1"]


def test_only_ours_go() -> None:
    held = {"eth1": port(), "mine": device(ACME), "theirs": device(Vlan("eth1", 5), ours=False)}
    assert texts(compared(held, spec("eth1"))) == ["remove mine"]


def test_an_equal_one_of_somebody_else_is_used() -> None:
    held = {"eth1": port(), "acme": device(ACME, ours=False, up=False)}
    assert texts(compared(held, spec("eth1"), spec("acme", ACME))) == ["change acme up"]


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ({"acme": port()}, "acme is a physical that Weir did not make, not VLAN 100 (802.1ad) of eth1"),
        ({"x": device(ACME, ours=False)}, "VLAN 100 (802.1ad) of eth1 is x, which Weir did not make"),
    ],
)
def test_a_place_that_is_taken_is_a_fault_and_touches_nothing(
    theirs: dict[str, LinkState], reason: str
) -> None:
    found = compared({"eth1": port(), **theirs}, spec("eth1"), spec("acme", ACME, 1400))
    assert found
    assert texts(found) == []
    assert list(found.vlans.blocked.values()) == [reason]
    assert found.missing == []


def test_without_its_port_it_waits() -> None:
    found = compared({}, spec("eth1"), spec("acme", ACME), spec("a", VOICE))
    assert not found
    assert found.missing == ["eth1", "acme", "a"]


def test_it_has_the_mtu_of_its_port_unless_it_says_another() -> None:
    held = {"eth1": port(), "acme": device(ACME), "a": device(VOICE, 1400)}
    wanted = spec("eth1", mtu=9000), spec("acme", ACME), spec("a", VOICE, 1400)
    assert compared(held, *wanted).mtus == [("eth1", 9000), ("acme", 9000)]
    made = compared({"eth1": port()}, *wanted)
    assert made.mtus == [("eth1", 9000), ("acme", 9000), ("a", 1400)]
    assert made.remembered_mtus == {"eth1": 1500}


def test_a_disabled_one_stays_down_when_its_port_comes_up() -> None:
    """The kernel takes every VLAN along when a port comes up."""
    held = {"eth1": port(up=False), "acme": device(ACME, up=False)}
    assert compared(held, spec("eth1"), spec("acme", ACME, up=False)).up == [("eth1", True), ("acme", False)]


def test_what_is_made_again_says_so_for_all_that_is_on_it() -> None:
    held = {"eth1": port(), "acme": device(ACME), "a": device(VOICE)}
    wanted = {item.ifname: item for item in (spec("eth1"), spec("acme", Vlan("eth1", 101)), spec("a", VOICE))}
    backend = NetworkBackend(cast(Links, None), Path("unused"))
    look = Look(backend, wanted, None, [("interface", "acme")], lambda _networks: Sessions(0, True))
    look.held = NetworkState(held, {}, {})
    found = by_object(backend.effects(look))
    assert found.keys() == {("interface", "acme")}, "the change of acme causes it"
    effect = found["interface", "acme"]
    assert (effect.severity, effect.lasts_ms) == ("resets", 1000)
    assert "a is made again" in effect.text and "acme is made again" in effect.text


@dataclass
class Forgetful:
    """A kernel that says yes and does nothing."""

    asked: list[str] = field(default_factory=list)

    def links(self) -> dict[str, object]:
        return {}

    def addresses(self) -> list[object]:
        return []

    def rules(self) -> frozenset[object]:
        return frozenset()

    def add_vlan(self, name: str, parent: str, tag: int, protocol: str) -> None:
        self.asked.append(f"{name} {parent} {tag} {protocol}")

    def set_up(self, name: str, up: bool) -> None:
        self.asked.append(f"{name} {up}")


def test_what_was_not_made_is_noticed(tmp_path: Path) -> None:
    kernel = Forgetful()
    backend = NetworkBackend(cast(Links, kernel), tmp_path / "mtus")
    found = compared({"eth1": port()}, spec("eth1"), spec("acme", ACME))
    found.sysctls = {}
    backend.apply(found)
    assert kernel.asked == ["acme eth1 100 802.1ad", "acme True"]
    with pytest.raises(ApplyFailed, match=r"acme is not VLAN 100 \(802\.1ad\) of eth1"):
        backend.verify(found)
