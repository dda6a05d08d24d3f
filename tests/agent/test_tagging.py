# SPDX-License-Identifier: Apache-2.0
"""Which ports with VLAN tags take the fast path, and what says why the others do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from weir.adapters.datapath_records import NO_TAG, Role, Tag
from weir.adapters.netlink import Link
from weir.adapters.reverse_path import checks_strictly
from weir.adapters.xdp_features import ALL, XdpFeature
from weir.backends.fast import Around, FastPaths, Sight
from weir.backends.modes import Decision
from weir.compiler.types import PortSpec

UNSEEN = Sight(filtered=False, foreign="")
EDT = Decision("edt", "asked for")


def link(name: str, index: int, kind: str = "physical", lower: int = 0, vid: int = 0) -> Link:
    vlan = (vid, 0x8100) if vid else (0, 0)
    return Link(name, index, kind, "", 1500, True, True, True, 1, "", 0, lower, {}, vlan=vlan)


LINKS = {
    item.name: item
    for item in (
        link("eth0", 2),
        link("eth1", 3),
        link("eth0.100", 4, "vlan", 2, 100),
        link("eth0.100.7", 5, "vlan", 4, 7),
    )
}


def port(
    name: str, fast_path: Literal["auto", "off"] = "auto", shaper: Literal["auto", "htb"] = "auto"
) -> PortSpec:
    return PortSpec(name, "lan", shaper, 0, 0, fast_path=fast_path)


PORTS = {name: port(name) for name in LINKS}


def decided(
    name: str,
    around: Around,
    *,
    features: XdpFeature | None = ALL,
    takes_tags_off: bool = False,
    strict: str = "",
) -> Decision:
    paths = FastPaths(
        "", lambda _: features, lambda _: takes_tags_off, checks_strictly=lambda name: name == strict
    )
    mode = Decision("htb", "") if around.ports[name].shaper == "htb" else EDT
    return paths.decide(around.ports[name], mode, around)


def around(**ports: PortSpec) -> Around:
    return Around(LINKS, {**PORTS, **{spec.ifname: spec for spec in ports.values()}}, UNSEEN)


def test_a_vlan_interface_is_fast_by_the_port_below_and_says_its_tag() -> None:
    found = decided("eth0.100", around())
    assert (found.fast, found.stacking, found.tag) == (
        Role.FAST,
        Role.TAGGED | Role.TRUNK,
        Tag(2, 100, 0x8100),
    )
    below = decided("eth0", around())
    assert (below.fast, below.stacking, below.tag) == (Role.FAST, Role.TRUNK, NO_TAG)
    assert decided("eth1", around()).stacking == Role.NOTHING


def test_a_tag_below_a_tag_is_the_stacks() -> None:
    found = decided("eth0.100.7", around())
    assert (found.fast, found.stacking) == (Role.NOTHING, Role.CARRIED | Role.TRUNK)
    assert "tagged as well" in found.fast_reason


@pytest.mark.parametrize(
    ("below", "says"),
    [(port("eth0", fast_path="off"), "turned off"), (port("eth0", shaper="htb"), "HTB shapes in the stack")],
)
def test_what_keeps_the_port_below_in_the_stack_keeps_its_tags_there(below: PortSpec, says: str) -> None:
    found = decided("eth0.100", around(below=below))
    assert (found.fast, found.stacking) == (Role.NOTHING, Role.TAGGED | Role.TRUNK)
    assert found.fast_reason == f"eth0 has no fast path: {says}"


def test_a_vlan_interface_may_be_turned_off_alone() -> None:
    here = around(vlan=port("eth0.100", fast_path="off"))
    assert decided("eth0.100", here).fast_reason == "turned off"
    assert decided("eth0", here).fast == Role.FAST


def test_filters_keep_tags_in_the_stack_and_leave_the_port_its_connections() -> None:
    here = replace(around(), sight=Sight(filtered=True, foreign=""))
    assert "the flow table" in decided("eth0.100", here).fast_reason
    assert decided("eth0", here).fast == Role.FAST | Role.FLOW


def test_filters_keep_a_vrf_in_the_stack() -> None:
    vrf = replace(LINKS["eth1"], name="blue", index=99, kind="vrf")
    inside = replace(LINKS["eth1"], master=99)
    here = replace(around(), links={**LINKS, "eth1": inside, "blue": vrf})
    assert decided("eth1", here).fast == Role.FAST
    filtered = replace(here, sight=Sight(filtered=True, foreign=""))
    assert "does not know VRFs" in decided("eth1", filtered).fast_reason


def test_a_card_that_takes_tags_off_hides_whose_frames_are_whose() -> None:
    for name in ("eth0", "eth0.100"):
        found = decided(name, around(), takes_tags_off=True)
        assert not found.fast
        assert "ethtool -K eth0 rxvlan off" in found.fast_reason
    assert decided("eth1", around(), takes_tags_off=True).fast == Role.FAST


@pytest.mark.parametrize(
    ("interface", "everywhere", "strictly"),
    [("0", "0", False), ("1", "0", True), ("0", "1", True), ("2", "1", False), (None, "0", False)],
)
def test_the_larger_value_says_how_the_kernel_checks_sources(
    tmp_path: Path, interface: str | None, everywhere: str, strictly: bool
) -> None:
    for name, value in (("all", everywhere), ("eth0.100", interface)):
        if value is not None:
            (tmp_path / name).mkdir()
            (tmp_path / name / "rp_filter").write_text(f"{value}\n")
    assert checks_strictly("eth0.100", tmp_path) is strictly


def test_a_port_whose_sources_the_kernel_checks_leaves_its_packets_to_it() -> None:
    """XDP forwarded what the stack drops."""
    found = decided("eth1", around(), strict="eth1")
    assert not found.fast
    assert "rp_filter of eth1" in found.fast_reason
    assert "rp_filter of eth0.100" in decided("eth0.100", around(), strict="eth0.100").fast_reason
    assert decided("eth0", around(), strict="eth1").fast == Role.FAST


def test_tags_pass_a_veth_unseen() -> None:
    links = {**LINKS, "eth0": replace(LINKS["eth0"], kind="veth")}
    found = decided("eth0.100", replace(around(), links=links))
    assert found.fast_reason == "eth0 has no fast path: XDP does not see the tags of eth0.100 on a veth"


def test_a_vlan_interface_on_what_is_not_configured_takes_no_part() -> None:
    ports = {name: spec for name, spec in PORTS.items() if name != "eth0"}
    found = decided("eth0.100", replace(around(), ports=ports))
    assert (found.fast, found.stacking) == (Role.NOTHING, Role.CARRIED | Role.TRUNK)
    assert "not configured" in found.fast_reason


def test_a_kernel_that_does_not_tell_its_devices_features_keeps_tags_in_the_stack() -> None:
    assert "does not tell" in decided("eth0.100", around(), features=None).fast_reason
